use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;

use super::*;

fn parse(text: &str) -> FieldSelector {
    FieldSelector::parse(text).unwrap()
}

#[test]
fn all_terms_must_hold_and_an_absent_field_is_empty() {
    let selector = parse("status.phase!=Failed,spec.nodeName=n1,metadata.namespace=");
    let pod = |node: &'static str, phase: &'static str| {
        move |field: &str| match field {
            "spec.nodeName" => node,
            "status.phase" => phase,
            _ => "",
        }
    };
    assert!(selector.matches(pod("n1", "Running")));
    assert!(selector.matches(pod("n1", "")));
    assert!(!selector.matches(pod("n1", "Failed")));
    assert!(!selector.matches(pod("n2", "Running")));
    assert_eq!(selector.requires_exact_match("spec.nodeName"), Some("n1"));
    assert_eq!(selector.requires_exact_match("status.phase"), None);
}

#[test]
fn escaped_characters_survive_reading_and_printing() {
    let selector = parse(r"a=x\,y\=z\\,b!=");
    assert_eq!(&*selector.requirements()[0].value, r"x,y=z\");
    assert_eq!(selector.to_string(), r"a=x\,y\=z\\,b!=");
    assert_eq!(parse(&selector.to_string()), selector);
}

#[test]
fn no_terms_select_everything() {
    for text in ["", ",", ",,"] {
        assert!(parse(text).is_empty());
        assert!(parse(text).matches(|_| ""));
    }
    assert_eq!(FieldSelector::equals("a", "b"), parse("a==b"));
}

#[test]
fn what_is_no_term_is_refused_in_the_words_of_go() {
    let message = FieldSelector::parse("x=1,metadata.name").unwrap_err().to_string();
    assert_eq!(message, "invalid selector: 'x=1,metadata.name'; can't understand 'metadata.name'");
    assert_eq!(FieldSelector::parse(r"a=\n"), Err(FieldSelectorError::InvalidEscape(Some('n'))));
    assert_eq!(FieldSelector::parse(r"a=\"), Err(FieldSelectorError::InvalidEscape(None)));
    assert_eq!(FieldSelector::parse("a=b=c"), Err(FieldSelectorError::UnescapedCharacter('=')));
}

#[test]
fn random_text_never_panics_and_what_parses_prints_as_itself() {
    let mut random = crate::testing::Random::new(7);
    let mut parsed = 0;
    for _ in 0..20_000 {
        let text = random.text(&["a", "=", "!=", ",", "\\", " ", "é", "\0", "b.c", "!"], 10);
        if let Ok(selector) = FieldSelector::parse(&text) {
            parsed += 1;
            // A field that ends in a backslash before an operator cannot be printed so that it reads back; Go's cannot either.
            if !selector.requirements().iter().any(|term| term.field.contains('\\')) {
                let printed = selector.to_string();
                let mut again: Vec<_> = parse(&printed).requirements().to_vec();
                let mut terms = selector.requirements().to_vec();
                again.sort_by_key(|term| format!("{term:?}"));
                terms.sort_by_key(|term| format!("{term:?}"));
                assert_eq!(again, terms, "{text:?} -> {printed:?}");
            }
        }
    }
    assert!(parsed > 1_000, "{parsed} texts were selectors");
}
