//! The text form of label selectors.
//!
//! ```text
//! selector    = [ requirement { "," requirement } ]
//! requirement = [ "!" ] key | key ( "=" | "==" | "!=" | ">" | "<" ) [ value ] | key ( "in" | "notin" ) set
//! set         = "(" [ value ] { "," [ value ] } ")"
//! ```
//!
//! An absent value is the empty one. `in` and `notin` are words only behind a key. White space separates.
//!
//! Mirrors apimachinery `pkg/labels/selector.go`, `Lexer` and `Parser`.

use alloc::vec::Vec;
use core::fmt;

use super::error::{Fault, SelectorError};
use super::requirement::{Operator, Requirement};
use crate::object::validation::is_qualified_name;

/// One step of the text. A piece is the text itself; the end is the empty piece.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Token<'a> {
    End,
    Symbol(&'a str),
    Word(&'a str),
}

impl fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::End => Ok(()),
            Self::Symbol(text) | Self::Word(text) => f.write_str(text),
        }
    }
}

/// What is left to read.
struct Parser<'a> {
    rest: &'a str,
}

/// Reads all requirements, in the order of the text.
pub(super) fn parse(text: &str) -> Result<Vec<Requirement>, SelectorError> {
    let mut parser = Parser { rest: text };
    let mut requirements = Vec::new();
    if parser.peek() == Token::End {
        return Ok(requirements);
    }
    loop {
        match parser.peek() {
            Token::Word(_) | Token::Symbol("!") => requirements.push(parser.requirement()?),
            other if requirements.is_empty() => {
                return Err(syntax(format_args!("found '{other}', expected: !, identifier, or 'end of string'")));
            }
            other => return Err(syntax(format_args!("found '{other}', expected: identifier after ','"))),
        }
        match parser.next() {
            Token::End => return Ok(requirements),
            Token::Symbol(",") => {}
            other => return Err(syntax(format_args!("found '{other}', expected: ',' or 'end of string'"))),
        }
    }
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Token<'a> {
        Parser { rest: self.rest }.next()
    }

    fn next(&mut self) -> Token<'a> {
        let text = self.rest.trim_start_matches(is_space);
        let length = match text.as_bytes() {
            [] => 0,
            [b'=' | b'!', b'=', ..] => 2,
            [first, ..] if is_special(char::from(*first)) => 1,
            _ => text.find(|c| is_special(c) || is_space(c)).unwrap_or(text.len()),
        };
        let (token, rest) = text.split_at(length);
        self.rest = rest;
        match token.as_bytes().first() {
            None => Token::End,
            Some(&first) if is_special(char::from(first)) => Token::Symbol(token),
            Some(_) => Token::Word(token),
        }
    }

    fn requirement(&mut self) -> Result<Requirement, SelectorError> {
        let mut token = self.next();
        let negated = token == Token::Symbol("!");
        if negated {
            token = self.next();
        }
        let Token::Word(key) = token else {
            return Err(in_requirement(format_args!("found '{token}', expected: identifier")));
        };
        if !is_qualified_name(key) {
            return Err(Fault::InvalidKey(key.into()).into());
        }
        if negated {
            return Requirement::new(key, Operator::DoesNotExist, [""; 0]);
        }
        if matches!(self.peek(), Token::End | Token::Symbol(",")) {
            return Requirement::new(key, Operator::Exists, [""; 0]);
        }
        let operator = self.operator()?;
        match operator {
            Operator::In | Operator::NotIn => Requirement::new(key, operator, self.set()?),
            _ => Requirement::new(key, operator, [self.value()?]),
        }
    }

    fn operator(&mut self) -> Result<Operator, SelectorError> {
        Ok(match self.next() {
            Token::Symbol("=") => Operator::Equals,
            Token::Symbol("==") => Operator::DoubleEquals,
            Token::Symbol("!=") => Operator::NotEquals,
            Token::Symbol(">") => Operator::GreaterThan,
            Token::Symbol("<") => Operator::LessThan,
            Token::Word("in") => Operator::In,
            Token::Word("notin") => Operator::NotIn,
            other => {
                return Err(in_requirement(format_args!("found '{other}', expected: in, notin, =, ==, !=, gt, lt")));
            }
        })
    }

    fn value(&mut self) -> Result<&'a str, SelectorError> {
        if matches!(self.peek(), Token::End | Token::Symbol(",")) {
            return Ok("");
        }
        match self.next() {
            Token::Word(value) => Ok(value),
            other => Err(in_requirement(format_args!("found '{other}', expected: identifier"))),
        }
    }

    /// The values of a set, each once. Two commas in a row, or one at an end, have an empty value between them; but
    /// a pair of commas must not stand at the end.
    fn set(&mut self) -> Result<Vec<&'a str>, SelectorError> {
        let open = self.next();
        if open != Token::Symbol("(") {
            return Err(in_requirement(format_args!("found '{open}' expected: '('")));
        }
        let mut values = Vec::new();
        if self.peek() == Token::Symbol(")") {
            values.push("");
        }
        while values.is_empty() || self.peek() != Token::Symbol(")") {
            match self.next() {
                Token::Word(value) => {
                    values.push(value);
                    let after = self.peek();
                    if !matches!(after, Token::Symbol("," | ")")) {
                        return Err(in_requirement(format_args!("found '{after}', expected: ',' or ')'")));
                    }
                }
                Token::Symbol(",") => {
                    if values.is_empty() {
                        values.push("");
                    }
                    match self.peek() {
                        Token::Symbol(")") => values.push(""),
                        Token::Symbol(",") => {
                            self.next();
                            values.push("");
                            if self.peek() == Token::Symbol(")") {
                                return Err(in_requirement(format_args!("found ')', expected: ',', or identifier")));
                            }
                        }
                        _ => {}
                    }
                }
                other => return Err(in_requirement(format_args!("found '{other}', expected: ',', ')' or identifier"))),
            }
        }
        self.next();
        values.sort_unstable();
        values.dedup();
        Ok(values)
    }
}

fn is_special(c: char) -> bool {
    matches!(c, '=' | '!' | '(' | ')' | ',' | '>' | '<')
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

fn syntax(detail: fmt::Arguments<'_>) -> SelectorError {
    Fault::Syntax(alloc::format!("{detail}")).into()
}

fn in_requirement(detail: fmt::Arguments<'_>) -> SelectorError {
    syntax(format_args!("unable to parse requirement: {detail}"))
}
