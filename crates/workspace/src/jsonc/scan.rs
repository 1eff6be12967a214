//! Takes a text apart into tokens, and says what is wrong with each in the words of `jsonc-parser`.

use std::ops::Range;

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token {
    OpenBrace,
    CloseBrace,
    OpenBracket,
    CloseBracket,
    Comma,
    Colon,
    Null,
    True,
    False,
    Text,
    Number,
    LineComment,
    BlockComment,
    LineBreak,
    Space,
    Unknown,
    End,
}

impl Token {
    /// Whether it is space or a comment, which mean nothing.
    pub(super) const fn is_filler(self) -> bool {
        matches!(
            self,
            Self::Space | Self::LineBreak | Self::LineComment | Self::BlockComment
        )
    }
}

/// What is wrong with a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    InvalidSymbol,
    InvalidNumberFormat,
    PropertyNameExpected,
    ValueExpected,
    ColonExpected,
    CommaExpected,
    CloseBraceExpected,
    CloseBracketExpected,
    EndOfFileExpected,
    UnexpectedEndOfComment,
    UnexpectedEndOfString,
    UnexpectedEndOfNumber,
    InvalidUnicode,
    InvalidEscapeCharacter,
    InvalidCharacter,
    /// Ours: what lies deeper is not looked at.
    TooDeep,
}

impl Fault {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::InvalidSymbol => "InvalidSymbol",
            Self::InvalidNumberFormat => "InvalidNumberFormat",
            Self::PropertyNameExpected => "PropertyNameExpected",
            Self::ValueExpected => "ValueExpected",
            Self::ColonExpected => "ColonExpected",
            Self::CommaExpected => "CommaExpected",
            Self::CloseBraceExpected => "CloseBraceExpected",
            Self::CloseBracketExpected => "CloseBracketExpected",
            Self::EndOfFileExpected => "EndOfFileExpected",
            Self::UnexpectedEndOfComment => "UnexpectedEndOfComment",
            Self::UnexpectedEndOfString => "UnexpectedEndOfString",
            Self::UnexpectedEndOfNumber => "UnexpectedEndOfNumber",
            Self::InvalidUnicode => "InvalidUnicode",
            Self::InvalidEscapeCharacter => "InvalidEscapeCharacter",
            Self::InvalidCharacter => "InvalidCharacter",
            Self::TooDeep => "TooDeep",
        }
    }
}

/// A token and where it is, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Scanned {
    pub(super) token: Token,
    pub(super) at: Range<usize>,
    pub(super) fault: Option<Fault>,
}

/// Goes through a text.
#[derive(Debug)]
pub(super) struct Scanner<'t> {
    text: &'t str,
    position: usize,
}

impl<'t> Scanner<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        // A byte order mark says nothing.
        let position = if text.starts_with('\u{feff}') { 3 } else { 0 };
        Self { text, position }
    }

    pub(super) fn next(&mut self) -> Scanned {
        let start = self.position;
        let mut fault = None;
        let token = match self.peek() {
            None => Token::End,
            Some(b' ' | b'\t') => {
                self.skip(|byte| byte == b' ' || byte == b'\t');
                Token::Space
            }
            Some(b'\r' | b'\n') => {
                self.position += if self.rest().starts_with(b"\r\n") {
                    2
                } else {
                    1
                };
                Token::LineBreak
            }
            Some(b'{') => self.one(Token::OpenBrace),
            Some(b'}') => self.one(Token::CloseBrace),
            Some(b'[') => self.one(Token::OpenBracket),
            Some(b']') => self.one(Token::CloseBracket),
            Some(b':') => self.one(Token::Colon),
            Some(b',') => self.one(Token::Comma),
            Some(b'"') => {
                fault = self.string();
                Token::Text
            }
            Some(b'/') if self.rest().starts_with(b"//") => {
                self.skip(|byte| byte != b'\r' && byte != b'\n');
                Token::LineComment
            }
            Some(b'/') if self.rest().starts_with(b"/*") => {
                fault = self.block_comment();
                Token::BlockComment
            }
            Some(b'/') => self.one(Token::Unknown),
            Some(b'-') if !self.byte(1).is_some_and(|byte| byte.is_ascii_digit()) => {
                self.one(Token::Unknown)
            }
            Some(b'-' | b'0'..=b'9') => {
                fault = self.number();
                Token::Number
            }
            Some(_) => self.word(),
        };
        Scanned {
            token,
            at: start..self.position,
            fault,
        }
    }

    fn rest(&self) -> &'t [u8] {
        &self.text.as_bytes()[self.position..]
    }

    fn peek(&self) -> Option<u8> {
        self.byte(0)
    }

    fn byte(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.position + ahead).copied()
    }

    fn one(&mut self, token: Token) -> Token {
        self.position += 1;
        token
    }

    fn skip(&mut self, while_it_is: impl Fn(u8) -> bool) {
        while self.peek().is_some_and(&while_it_is) {
            self.position += 1;
        }
    }

    fn block_comment(&mut self) -> Option<Fault> {
        self.position += 2;
        let length = self.text[self.position..].find("*/");
        self.position = length.map_or(self.text.len(), |length| self.position + length + 2);
        length.is_none().then_some(Fault::UnexpectedEndOfComment)
    }

    fn number(&mut self) -> Option<Fault> {
        let digit = |byte: u8| byte.is_ascii_digit();
        if self.peek() == Some(b'-') {
            self.position += 1;
        }
        if self.peek() == Some(b'0') {
            self.position += 1;
        } else {
            self.skip(digit);
        }
        if self.peek() == Some(b'.') {
            self.position += 1;
            if !self.peek().is_some_and(digit) {
                return Some(Fault::UnexpectedEndOfNumber);
            }
            self.skip(digit);
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.position += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.position += 1;
            }
            if !self.peek().is_some_and(digit) {
                return Some(Fault::UnexpectedEndOfNumber);
            }
            self.skip(digit);
        }
        None
    }

    fn string(&mut self) -> Option<Fault> {
        self.position += 1;
        let mut fault = None;
        loop {
            match self.peek() {
                None | Some(b'\r' | b'\n') => return Some(Fault::UnexpectedEndOfString),
                Some(b'"') => {
                    self.position += 1;
                    return fault;
                }
                Some(b'\\') => {
                    self.position += 1;
                    match self.peek() {
                        None => return Some(Fault::UnexpectedEndOfString),
                        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                            self.position += 1;
                        }
                        Some(b'u') => {
                            self.position += 1;
                            let digits = self.rest().iter().take(4);
                            let digits = digits.take_while(|byte| byte.is_ascii_hexdigit()).count();
                            self.position += digits;
                            if digits < 4 {
                                fault = Some(Fault::InvalidUnicode);
                            }
                        }
                        Some(_) => {
                            fault = Some(Fault::InvalidEscapeCharacter);
                            self.character();
                        }
                    }
                }
                Some(0..=0x1f) => {
                    fault = Some(Fault::InvalidCharacter);
                    self.position += 1;
                }
                Some(_) => self.character(),
            }
        }
    }

    fn word(&mut self) -> Token {
        let start = self.position;
        while self
            .peek()
            .is_some_and(|byte| !b" \t\r\n}]{[\":,/".contains(&byte))
        {
            self.character();
        }
        match &self.text[start..self.position] {
            "true" => Token::True,
            "false" => Token::False,
            "null" => Token::Null,
            _ => Token::Unknown,
        }
    }

    /// Goes over one character, which may be several bytes.
    fn character(&mut self) {
        let length = self.text[self.position..]
            .chars()
            .next()
            .map_or(1, char::len_utf8);
        self.position += length;
    }
}
