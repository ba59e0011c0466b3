use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::*;
use crate::testing::Random;

fn parse(text: &str) -> Selector {
    Selector::parse(text).unwrap()
}

fn labels(labels: &[(&str, &str)]) -> Labels {
    labels.iter().copied().collect()
}

fn from_json(json: &str) -> Result<Selector, SelectorError> {
    let selector: Option<LabelSelector> = serde_json::from_str(json).unwrap();
    Selector::try_from(selector.as_ref())
}

#[test]
fn absent_selects_nothing_and_empty_selects_everything() {
    assert_eq!(from_json("null"), Ok(Selector::nothing()));
    assert_eq!(from_json("{}"), Ok(Selector::everything()));
    assert_eq!(from_json(r#"{"matchLabels":null,"matchExpressions":null}"#), Ok(Selector::everything()));
    assert_eq!((parse(""), Selector::from_labels(&Labels::default())), (Selector::default(), Selector::everything()));
    assert!(!Selector::nothing().matches(&labels(&[])) && Selector::nothing().matches_nothing());
    assert!(Selector::everything().matches(&labels(&[("a", "b")])) && Selector::everything().matches_everything());
}

#[test]
fn a_label_selector_of_a_spec_becomes_the_selector_that_its_text_becomes() {
    let json = r#"{"matchLabels":{"z":"1"},"matchExpressions":[{"key":"m","operator":"In","values":["b","a"]},
        {"key":"a","operator":"DoesNotExist","values":null},{"key":"q","operator":"Exists"},
        {"key":"e","operator":"NotIn","values":[null]}]}"#;
    let selector = from_json(json).unwrap();
    assert_eq!(selector.to_string(), "!a,e notin (),m in (a,b),q,z=1");
    assert_eq!(selector, parse(&selector.to_string()));
    assert!(selector.matches(&labels(&[("m", "a"), ("q", ""), ("z", "1")])));
    assert!(!selector.matches(&labels(&[("a", ""), ("m", "a"), ("q", ""), ("z", "1")])));
}

#[test]
fn integers_are_compared_as_numbers() {
    let selector = parse("n>9,n<100");
    for (value, matches) in [("10", true), ("010", true), ("9", false), ("100", false), ("-50", false), ("ten", false)]
    {
        assert_eq!(selector.matches(&labels(&[("n", value)])), matches, "{value}");
    }
    assert!(!selector.matches(&labels(&[])));
}

#[test]
fn only_a_single_value_is_an_exact_match() {
    let selector = from_json(
        r#"{"matchExpressions":[{"key":"a","operator":"In","values":["x"]},{"key":"b","operator":"In","values":["x","x"]}]}"#,
    )
    .unwrap();
    assert_eq!(selector.requires_exact_match("a"), Some("x"));
    assert_eq!(selector.requires_exact_match("b"), None);
    assert_eq!(parse("a,a=x").requires_exact_match("a"), None);
}

#[test]
fn everything_wrong_with_a_requirement_is_told() {
    let e = Requirement::new("-a", Operator::LessThan, ["-x", "2"]).unwrap_err();
    assert_eq!(
        e.faults(),
        [
            Fault::InvalidKey("-a".into()),
            Fault::OneValueRequired,
            Fault::NotAnInteger("-x".into()),
            Fault::InvalidValue("-x".into())
        ]
    );
    assert_eq!(
        from_json(r#"{"matchExpressions":[null]}"#).unwrap_err().to_string(),
        r#""" is not a valid label selector operator"#
    );
}

#[test]
fn a_broken_text_is_refused_in_the_words_of_go() {
    for (text, message) in [
        ("=b", "found '=', expected: !, identifier, or 'end of string'"),
        ("a,", "found '', expected: identifier after ','"),
        ("!=b", "found '!=', expected: !, identifier, or 'end of string'"),
        ("a key", "unable to parse requirement: found 'key', expected: in, notin, =, ==, !=, gt, lt"),
        ("a in x", "unable to parse requirement: found 'x' expected: '('"),
        ("a in (x,,)", "unable to parse requirement: found ')', expected: ',', or identifier"),
        ("!a=b", "found '=', expected: ',' or 'end of string'"),
    ] {
        assert_eq!(Selector::parse(text).unwrap_err().to_string(), message, "{text}");
    }
}

#[test]
fn nothing_hides_behind_a_nul() {
    for text in ["\0", "a=b\0", "a=b,\0c=d", "a\0b"] {
        assert!(Selector::parse(text).is_err(), "{text:?}");
    }
}

#[test]
fn a_selector_is_two_words_and_shares_its_requirements() {
    assert_eq!(size_of::<Selector>(), 2 * size_of::<usize>());
    assert_eq!(size_of::<Requirement>(), 5 * size_of::<usize>());
    let selector = parse("a=b");
    assert!(core::ptr::eq(selector.requirements(), selector.clone().requirements()));
}

/// What a requirement means, said as plainly as possible.
fn naive_matches(key: &str, operator: Operator, values: &[&str], labels: &BTreeMap<&str, &str>) -> bool {
    let value = labels.get(key);
    let number = |text: &str| text.parse::<i64>();
    match operator {
        Operator::Equals | Operator::DoubleEquals | Operator::In => value.is_some_and(|v| values.contains(v)),
        Operator::NotEquals | Operator::NotIn => value.is_none() || !values.contains(value.unwrap()),
        Operator::Exists => value.is_some(),
        Operator::DoesNotExist => value.is_none(),
        Operator::GreaterThan | Operator::LessThan => {
            let (Some(Ok(have)), Ok(bound)) = (value.map(|v| number(v)), number(values[0])) else { return false };
            if operator == Operator::GreaterThan { have > bound } else { have < bound }
        }
    }
}

#[test]
fn a_random_selector_matches_as_its_requirements_say_one_by_one() {
    const KEYS: [&str; 4] = ["a", "b", "example.com/c", "in"];
    const VALUES: [&str; 6] = ["", "x", "y", "1", "2", "10"];
    const OPERATORS: [Operator; 9] = [
        Operator::DoesNotExist,
        Operator::DoubleEquals,
        Operator::Equals,
        Operator::Exists,
        Operator::GreaterThan,
        Operator::In,
        Operator::LessThan,
        Operator::NotEquals,
        Operator::NotIn,
    ];
    let mut random = Random::new(3);
    let mut matched = 0;
    for _ in 0..20_000 {
        let model: Vec<(&str, Operator, Vec<&str>)> = (0..random.below(4))
            .map(|_| {
                let operator = *random.pick(&OPERATORS);
                let values = match operator {
                    Operator::Exists | Operator::DoesNotExist => Vec::new(),
                    Operator::In | Operator::NotIn => (0..=random.below(3)).map(|_| *random.pick(&VALUES)).collect(),
                    Operator::GreaterThan | Operator::LessThan => Vec::from([*random.pick(&VALUES[3..])]),
                    _ => Vec::from([*random.pick(&VALUES)]),
                };
                (*random.pick(&KEYS), operator, values)
            })
            .collect();
        let selector = Selector::new(model.iter().map(|(k, o, v)| Requirement::new(k, *o, v).unwrap()));
        let map: BTreeMap<&str, &str> =
            (0..random.below(4)).map(|_| (*random.pick(&KEYS), *random.pick(&VALUES))).collect();
        let labels: Labels = map.iter().map(|(k, v)| (*k, *v)).collect();

        let want = model.iter().all(|(key, operator, values)| naive_matches(key, *operator, values, &map));
        assert_eq!(selector.matches(&labels), want, "{selector:?} {map:?}");
        // Three empty values in one set print as `(,,)`, which Go does not read either.
        let printed = selector.to_string();
        if !printed.contains(",,)") {
            assert_eq!(parse(&printed).matches(&labels), want, "{selector:?} printed and read");
        }
        matched += usize::from(want);
    }
    assert!((2_000..18_000).contains(&matched), "{matched} matched");
}

#[test]
fn random_text_never_panics_and_what_parses_prints_as_itself() {
    let pieces =
        ["a", "in", "notin", " ", "(", ")", ",", ",", "=", "==", "!=", "!", ">", "<", "1", "x/y", "\t", "é", "\0", "-"];
    let mut random = Random::new(11);
    let mut parsed = 0;
    for _ in 0..100_000 {
        let text = random.text(&pieces, 8);
        if let Ok(selector) = Selector::parse(&text) {
            parsed += 1;
            assert_eq!(parse(&selector.to_string()), selector, "{text:?}");
        }
    }
    assert!(parsed > 5_000, "{parsed} texts were selectors");
}

#[test]
fn random_bytes_never_panic() {
    let mut random = Random::new(5);
    for _ in 0..50_000 {
        let bytes: Vec<u8> = (0..random.below(24)).map(|_| random.next() as u8).collect();
        let text = String::from_utf8_lossy(&bytes);
        let _ = Selector::parse(&text).map(|selector| format!("{selector:?}"));
        let _ = serde_json::from_slice::<LabelSelector>(&bytes);
    }
}
