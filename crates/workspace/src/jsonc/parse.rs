//! Makes a tree of a text, with the place of everything in it. What is wrong is collected as `jsonc-parser` does it.

use std::ops::Range;

use serde_json::{Map, Value, json};

use super::scan::{Fault, Scanned, Scanner, Token};
use crate::refusal::Refusal;

/// How deep values may lie in each other.
const DEPTH: usize = 200;

/// A value and where it is, in bytes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub(super) at: Range<usize>,
    pub(super) kind: NodeKind,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum NodeKind {
    Object(Vec<Property>),
    Array(Vec<Node>),
    Plain(Value),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Property {
    pub(super) key: String,
    pub(super) key_at: Range<usize>,
    pub(super) value: Node,
}

impl Node {
    pub(super) fn value(&self) -> Value {
        match &self.kind {
            NodeKind::Plain(value) => value.clone(),
            NodeKind::Array(items) => items.iter().map(Self::value).collect(),
            NodeKind::Object(properties) => {
                let pairs = properties
                    .iter()
                    .map(|property| (property.key.clone(), property.value.value()));
                Value::Object(pairs.collect::<Map<_, _>>())
            }
        }
    }

    /// The property that counts under `key`.
    pub(super) fn property(&self, key: &str) -> Option<&Property> {
        match &self.kind {
            NodeKind::Object(properties) => properties.iter().rfind(|it| it.key == key),
            NodeKind::Array(_) | NodeKind::Plain(_) => None,
        }
    }
}

/// Whether there is nothing in a text but space and comments.
pub(super) fn is_empty(text: &str) -> bool {
    let mut scanner = Scanner::new(text);
    loop {
        let scanned = scanner.next();
        if scanned.token == Token::End {
            return true;
        }
        if !scanned.token.is_filler() || scanned.fault.is_some() {
            return false;
        }
    }
}

pub(super) fn parse(text: &str) -> Result<Node, Refusal> {
    let mut parser = Parser {
        text,
        scanner: Scanner::new(text),
        now: Scanned {
            token: Token::End,
            at: 0..0,
            fault: None,
        },
        before: 0,
        depth: 0,
        faults: Vec::new(),
    };
    let node = parser.whole();
    match node {
        Some(node) if parser.faults.is_empty() => Ok(node),
        _ => Err(refusal(text, &parser.faults)),
    }
}

/// What is wrong, with its place in the units of JavaScript.
fn refusal(text: &str, faults: &[(Fault, Range<usize>)]) -> Refusal {
    let units = |range: Range<usize>| text[range].encode_utf16().count();
    let details = faults.iter().map(|(fault, at)| {
        json!({
            "code": fault.name(),
            "offset": units(0..at.start),
            "length": units(at.clone()),
        })
    });
    Refusal::unprocessable("invalid_jsonc", "Failed to parse JSONC").with_details(details.collect())
}

struct Parser<'t> {
    text: &'t str,
    scanner: Scanner<'t>,
    now: Scanned,
    /// Where the token before this one ended.
    before: usize,
    depth: usize,
    faults: Vec<(Fault, Range<usize>)>,
}

impl Parser<'_> {
    fn whole(&mut self) -> Option<Node> {
        self.advance();
        if self.now.token == Token::End {
            self.fault(Fault::ValueExpected);
            return None;
        }
        let Some(node) = self.value() else {
            self.fault(Fault::ValueExpected);
            return None;
        };
        if self.now.token != Token::End {
            self.fault(Fault::EndOfFileExpected);
        }
        Some(node)
    }

    fn value(&mut self) -> Option<Node> {
        let start = self.now.at.start;
        let kind = match self.now.token {
            Token::OpenBrace => self.nested(Self::object)?,
            Token::OpenBracket => self.nested(Self::array)?,
            Token::Text => NodeKind::Plain(Value::from(self.string())),
            Token::Number => NodeKind::Plain(self.number()),
            Token::Null => self.plain(Value::Null),
            Token::True => self.plain(Value::Bool(true)),
            Token::False => self.plain(Value::Bool(false)),
            Token::CloseBrace
            | Token::CloseBracket
            | Token::Comma
            | Token::Colon
            | Token::LineComment
            | Token::BlockComment
            | Token::LineBreak
            | Token::Space
            | Token::Unknown
            | Token::End => return None,
        };
        Some(Node {
            at: start..self.before,
            kind,
        })
    }

    fn nested(&mut self, parse: impl Fn(&mut Self) -> NodeKind) -> Option<NodeKind> {
        if self.depth == DEPTH {
            self.fault(Fault::TooDeep);
            return None;
        }
        self.depth += 1;
        let kind = parse(self);
        self.depth -= 1;
        Some(kind)
    }

    fn object(&mut self) -> NodeKind {
        let mut properties = Vec::new();
        self.members(Token::CloseBrace, Fault::CloseBraceExpected, |parser| {
            let parsed = parser.property();
            properties.extend(parsed);
        });
        NodeKind::Object(properties)
    }

    fn array(&mut self) -> NodeKind {
        let mut items = Vec::new();
        self.members(Token::CloseBracket, Fault::CloseBracketExpected, |parser| {
            let item = parser.value();
            if item.is_none() {
                parser.fault_until(Fault::ValueExpected, &[Token::CloseBracket, Token::Comma]);
            }
            items.extend(item);
        });
        NodeKind::Array(items)
    }

    /// Goes through what is between two brackets, with commas between.
    fn members(&mut self, close: Token, unclosed: Fault, mut member: impl FnMut(&mut Self)) {
        self.advance();
        let mut needs_comma = false;
        while self.now.token != close && self.now.token != Token::End {
            if self.now.token == Token::Comma {
                if !needs_comma {
                    self.fault(Fault::ValueExpected);
                }
                self.advance();
                if self.now.token == close {
                    break;
                }
            } else if needs_comma {
                self.fault(Fault::CommaExpected);
            }
            member(self);
            needs_comma = true;
        }
        if self.now.token == close {
            self.advance();
        } else {
            self.fault(unclosed);
        }
    }

    fn property(&mut self) -> Option<Property> {
        let ends = [Token::CloseBrace, Token::Comma];
        if self.now.token != Token::Text {
            self.fault_until(Fault::PropertyNameExpected, &ends);
            self.fault(Fault::ValueExpected);
            return None;
        }
        let key_at = self.now.at.clone();
        let key = self.string();
        if self.now.token != Token::Colon {
            self.fault_until(Fault::ColonExpected, &ends);
            return None;
        }
        self.advance();
        let Some(value) = self.value() else {
            self.fault_until(Fault::ValueExpected, &ends);
            return None;
        };
        Some(Property { key, key_at, value })
    }

    fn plain(&mut self, value: Value) -> NodeKind {
        self.advance();
        NodeKind::Plain(value)
    }

    fn number(&mut self) -> Value {
        let text = &self.text[self.now.at.clone()];
        let value = serde_json::from_str(text);
        if value.is_err() && self.now.fault.is_none() {
            self.fault(Fault::InvalidNumberFormat);
        }
        self.advance();
        value.unwrap_or(Value::Null)
    }

    fn string(&mut self) -> String {
        let text = &self.text[self.now.at.clone()];
        let string = serde_json::from_str(text).unwrap_or_else(|_| lenient(text));
        self.advance();
        string
    }

    /// Goes on to the next token that means something.
    fn advance(&mut self) {
        self.before = self.now.at.end;
        loop {
            self.now = self.scanner.next();
            if let Some(fault) = self.now.fault {
                self.fault(fault);
            }
            if self.now.token == Token::Unknown {
                self.fault(Fault::InvalidSymbol);
            } else if !self.now.token.is_filler() {
                return;
            }
        }
    }

    fn fault(&mut self, fault: Fault) {
        self.faults.push((fault, self.now.at.clone()));
    }

    fn fault_until(&mut self, fault: Fault, ends: &[Token]) {
        self.fault(fault);
        while self.now.token != Token::End && !ends.contains(&self.now.token) {
            self.advance();
        }
    }
}

/// What `JSON.parse` makes of halves of surrogate pairs cannot be said in UTF-8; each is said to be no character.
fn lenient(text: &str) -> String {
    let inside = text.strip_prefix('"').unwrap_or(text);
    let inside = inside.strip_suffix('"').unwrap_or(inside);
    let mut units: Vec<u16> = Vec::new();
    let mut characters = inside.chars();
    while let Some(character) = characters.next() {
        let unit = match character {
            '\\' => match characters.next() {
                Some('b') => 8,
                Some('f') => 12,
                Some('n') => 10,
                Some('r') => 13,
                Some('t') => 9,
                Some('u') => {
                    let digits: String = characters.by_ref().take(4).collect();
                    u16::from_str_radix(&digits, 16).unwrap_or(0xfffd)
                }
                Some(other) => {
                    units.extend(other.encode_utf16(&mut [0; 2]).iter());
                    continue;
                }
                None => continue,
            },
            other => {
                units.extend(other.encode_utf16(&mut [0; 2]).iter());
                continue;
            }
        };
        units.push(unit);
    }
    String::from_utf16_lossy(&units)
}
