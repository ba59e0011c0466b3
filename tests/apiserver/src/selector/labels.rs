//! The syntax of label selectors.

use super::{Operator, Requirement};
use crate::strategy::meta;

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Word(String),
    Symbol(&'static str),
    End,
}

impl Token {
    fn text(&self) -> &str {
        match self {
            Self::Word(w) => w,
            Self::Symbol(s) => s,
            Self::End => "",
        }
    }
}

struct Lexer<'a> {
    rest: &'a str,
}

const SYMBOLS: [&str; 9] = ["==", "!=", "=", "!", "(", ")", ",", ">", "<"];

impl Lexer<'_> {
    fn next(&mut self) -> Token {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\r', '\n']);
        if let Some(symbol) = SYMBOLS.iter().find(|s| self.rest.starts_with(**s)) {
            self.rest = &self.rest[symbol.len()..];
            return Token::Symbol(symbol);
        }
        let stop = |c: char| " \t\r\n=!(),><".contains(c);
        let end = self.rest.find(stop).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        if word.is_empty() { Token::End } else { Token::Word(word.to_owned()) }
    }

    fn peek(&self) -> Token {
        Self { rest: self.rest }.next()
    }

    /// A word where an operator is no operator.
    fn values(&mut self) -> Result<Vec<String>, String> {
        let open = self.next();
        if open != Token::Symbol("(") {
            return Err(format!("found '{}' expected: '('", open.text()));
        }
        if self.peek() == Token::Symbol(")") {
            self.next();
            return Ok(vec![String::new()]);
        }
        let mut values = Vec::new();
        loop {
            match self.next() {
                Token::Word(w) => {
                    values.push(w);
                    match self.peek() {
                        Token::Symbol(")") => break,
                        Token::Symbol(",") => {}
                        other => {
                            return Err(format!("found '{}', expected: ',' or ')'", other.text()));
                        }
                    }
                }
                // An empty value stands before a comma that comes first, and behind one that comes last or twice.
                Token::Symbol(",") => {
                    let next = self.peek();
                    if values.is_empty() || matches!(next, Token::Symbol(")" | ",")) {
                        values.push(String::new());
                    }
                    match next {
                        Token::Symbol(")") => break,
                        Token::Symbol(",") => drop(self.next()),
                        _ => {}
                    }
                }
                other if values.is_empty() => {
                    return Err(format!("found '{}', expected: ',', ')' or identifier", other.text()));
                }
                other => return Err(format!("found '{}', expected: ',', or identifier", other.text())),
            }
        }
        self.next();
        Ok(values)
    }
}

/// Parses the text of a label selector; the wording of what is wrong with it.
pub(super) fn parse_labels(text: &str) -> Result<Vec<Requirement>, String> {
    let mut lexer = Lexer { rest: text };
    let mut list = Vec::new();
    loop {
        match lexer.peek() {
            Token::Word(_) | Token::Symbol("!") => list.push(requirement(&mut lexer)?),
            Token::End => return Ok(list),
            other => {
                return Err(format!("found '{}', expected: !, identifier, or 'end of string'", other.text()));
            }
        }
        match lexer.next() {
            Token::End => return Ok(list),
            Token::Symbol(",") => match lexer.peek() {
                Token::Word(_) | Token::Symbol("!") => {}
                other => {
                    return Err(format!("found '{}', expected: identifier after ','", other.text()));
                }
            },
            other => {
                return Err(format!("found '{}', expected: ',' or 'end of string'", other.text()));
            }
        }
    }
}

fn requirement(lexer: &mut Lexer<'_>) -> Result<Requirement, String> {
    let mut token = lexer.next();
    let absent = token == Token::Symbol("!");
    if absent {
        token = lexer.next();
    }
    let Token::Word(key) = token else {
        return Err(format!("found '{}', expected: identifier", token.text()));
    };
    if let Some(fault) = meta::qualified_name_faults(&key).first() {
        return Err(format!("key: Invalid value: \"{key}\": {fault}"));
    }
    if absent {
        return Ok(Requirement { key, operator: Operator::Absent });
    }
    if matches!(lexer.peek(), Token::End | Token::Symbol(",")) {
        return Ok(Requirement { key, operator: Operator::Exists });
    }
    let token = lexer.next();
    let operator = match token.text() {
        "in" => Operator::In(lexer.values()?),
        "notin" => Operator::NotIn(lexer.values()?),
        op @ ("=" | "==" | "!=" | ">" | "<" | "gt" | "lt") => {
            let value = match lexer.peek() {
                Token::End | Token::Symbol(",") => String::new(),
                Token::Word(w) => {
                    lexer.next();
                    w
                }
                other => return Err(format!("found '{}', expected: identifier", other.text())),
            };
            match op {
                "=" | "==" => Operator::In(vec![value]),
                "!=" => Operator::NotIn(vec![value]),
                _ => {
                    let n = value.parse().map_err(|_| {
                        format!("values[0][{key}]: Invalid value: \"{value}\": for 'Gt', 'Lt' operators, the value must be an integer")
                    })?;
                    check_values(&key, &[value])?;
                    if op == ">" || op == "gt" { Operator::Greater(n) } else { Operator::Less(n) }
                }
            }
        }
        other => {
            return Err(format!("found '{other}', expected: in, notin, =, ==, !=, gt, lt"));
        }
    };
    if let Operator::In(values) | Operator::NotIn(values) = &operator {
        check_values(&key, values)?;
    }
    Ok(Requirement { key, operator })
}

fn check_values(key: &str, values: &[String]) -> Result<(), String> {
    for (i, v) in values.iter().enumerate() {
        if let Some(fault) = meta::label_value_faults(v).first() {
            return Err(format!("values[{i}][{key}]: Invalid value: \"{v}\": {fault}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Operator, parse_labels};

    #[test]
    fn values_that_are_left_out_are_empty() {
        for (text, wanted) in [
            ("a in ()", &[""][..]),
            ("a in (,)", &[""]),
            ("a in (x,)", &["x", ""]),
            ("a in (,x)", &["", "x"]),
            ("a in (x,,y)", &["x", "", "y"]),
            ("a in (x , y)", &["x", "y"]),
        ] {
            let read = parse_labels(text).unwrap();
            let wanted: Vec<String> = wanted.iter().map(|value| (*value).to_owned()).collect();
            assert_eq!(read[0].operator, Operator::In(wanted), "{text}");
        }
        for text in ["a in (x,,)", "a in (x", "a in (", "a in x", "a in (!)", "a in (x)y"] {
            assert!(parse_labels(text).is_err(), "{text}");
        }
    }
    #[test]
    fn a_number_to_compare_with_must_be_a_value_that_a_label_can_have() {
        assert_eq!(parse_labels("a<2").unwrap()[0].operator, Operator::Less(2));
        for text in ["a<+2", "a>-2", "a<", "a>x", "a>9223372036854775808"] {
            assert!(parse_labels(text).is_err(), "{text}");
        }
    }
}
