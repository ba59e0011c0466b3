//! Selectors.

use sanskube::object::Labels;
use sanskube::object::selector::Selector;

use crate::counting::peak_of;

#[test]
fn matching_labels_does_not_allocate() {
    let selector = Selector::parse("app=web,tier in (front,back),release!=canary,!debug,weight>5").unwrap();
    let labels: Labels = [("app", "web"), ("tier", "back"), ("weight", "7")].into_iter().collect();
    let mut matches = 0;
    let peak = peak_of(|| {
        matches = (0..1_000).filter(|_| selector.matches(&labels) && selector.clone().matches(&labels)).count();
    });
    assert_eq!((matches, peak), (1_000, 0));
}
