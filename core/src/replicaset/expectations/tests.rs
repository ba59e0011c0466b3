use super::*;

const START: Instant = Instant::from_millis(1_000_000);

fn at(version: &str) -> ResourceVersion {
    ResourceVersion::new(version)
}

fn satisfied(expectations: &Expectations, cache: &str) -> bool {
    expectations.are_satisfied(&"u".into(), &at(cache), START)
}

#[test]
fn a_cache_as_new_as_all_that_was_written_meets_an_expectation() {
    let owner = Uid::new("u");
    let mut expectations = Expectations::new();
    expectations.expect_creations(&owner, 2, START);
    assert!(!satisfied(&expectations, "900"), "nothing is known of what was written");
    expectations.wrote_at(&owner, &at("101"));
    expectations.wrote_at(&owner, &at("102"));
    expectations.wrote_at(&owner, &at("99"));
    for (cache, met) in [("", false), ("abc", false), ("101", false), ("102", true), ("1000", true)] {
        assert_eq!(satisfied(&expectations, cache), met, "{cache:?}");
    }
    // A new expectation knows nothing of the old one's writes.
    expectations.expect_creations(&owner, 1, START);
    assert!(!satisfied(&expectations, "1000"));
}

#[test]
fn a_write_without_a_version_leaves_it_to_the_events() {
    let owner = Uid::new("u");
    for versions in [["101", ""], ["", "101"], ["101", "odd"]] {
        let mut expectations = Expectations::new();
        expectations.expect_creations(&owner, 2, START);
        for version in versions {
            expectations.wrote_at(&owner, &at(version));
        }
        assert!(!satisfied(&expectations, "1000"), "{versions:?}");
        expectations.creation_observed(&owner);
        expectations.creation_observed(&owner);
        assert!(satisfied(&expectations, ""), "{versions:?}");
    }
}

#[test]
fn an_expectation_holds_a_set_back_for_five_minutes_at_most() {
    let owner = Uid::new("u");
    let mut expectations = Expectations::new();
    expectations.expect_deletions(&owner, [Key::new("shop", "a")], START);
    let after = |seconds| START + Duration::from_secs(seconds);
    assert!(!expectations.are_satisfied(&owner, &ResourceVersion::NONE, after(300)));
    assert!(expectations.are_satisfied(&owner, &ResourceVersion::NONE, after(300) + Duration::from_nanos(1)));
}

#[test]
fn a_pod_is_observed_once_and_only_if_it_is_awaited() {
    let owner = Uid::new("u");
    let (a, b) = (Key::new("shop", "a"), Key::new("shop", "b"));
    let mut expectations = Expectations::new();
    expectations.expect_deletions(&owner, [a.clone(), a.clone(), b.clone()], START);
    assert_eq!(expectations.get(&owner).unwrap().deletions, 2);
    for pod in [&a, &a, &Key::new("shop", "c")] {
        expectations.deletion_observed(&owner, pod);
    }
    assert_eq!(expectations.get(&owner).unwrap().deletions, 1);
    expectations.deletion_observed(&Uid::new("other"), &b);
    assert!(!satisfied(&expectations, ""));
    expectations.delete(&owner);
    assert!(satisfied(&expectations, "") && expectations.is_empty());
}

#[test]
fn counts_saturate() {
    let owner = Uid::new("u");
    let mut expectations = Expectations::new();
    expectations.set(&owner, i64::MAX, i64::MIN, START);
    expectations.raise(&owner, i64::MAX, i64::MIN);
    expectations.lower(&owner, i64::MIN, i64::MAX);
    let record = expectations.get(&owner).unwrap();
    assert_eq!((record.creations, record.deletions), (i64::MAX, i64::MIN));
}
