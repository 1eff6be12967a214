//! Texts that are said in chats: blocks and spans, which each adapter writes in its platform's dialect.
//!
//! What agents say is Markdown, read by [`Text::from_markdown`]; what is not understood stays as it was written. Deceptive
//! characters are made visible, so that no adapter has to.

mod markdown;
mod split;

pub use split::split;

use countersign_core::visible::visible;
use serde::{Deserialize, Serialize};

/// A text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Text {
    /// Its blocks, one below the other.
    pub blocks: Vec<Block>,
}

/// A part of a text that stands on lines of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "block", rename_all = "snake_case")]
pub enum Block {
    /// Words; line breaks in them are meant.
    Paragraph {
        /// The words.
        spans: Vec<Span>,
    },
    /// A heading.
    Heading {
        /// The words.
        spans: Vec<Span>,
    },
    /// An item of a list, with what stands before it.
    Item {
        /// How deep it is, from zero.
        depth: u8,
        /// `•`, or a number with its point.
        marker: String,
        /// The words.
        spans: Vec<Span>,
    },
    /// Something that is quoted.
    Quote {
        /// The words.
        spans: Vec<Span>,
    },
    /// Text that is shown letter for letter.
    Code {
        /// The language, if it was said: letters, digits and signs without blanks.
        language: String,
        /// The text, without a line break at its end.
        text: String,
    },
}

/// A part of a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "span", content = "text", rename_all = "snake_case")]
pub enum Span {
    /// Words that mean nothing to the platform, whatever they look like.
    Plain(String),
    /// Words that stand out.
    Bold(String),
    /// Words that are stressed.
    Italic(String),
    /// Letter for letter.
    Code(String),
    /// An address with what stands for it; only `http` and `https`.
    Link {
        /// What is read.
        label: String,
        /// Where it leads.
        url: String,
    },
    /// A person, by the platform's id: the only way to ping anybody.
    Person(String),
}

impl Text {
    /// Reads what an agent says.
    pub fn from_markdown(text: &str) -> Self {
        markdown::read(&visible(text))
    }

    /// A paragraph of plain words.
    pub fn plain(text: &str) -> Self {
        Self {
            blocks: vec![Block::paragraph([Span::plain(text)])],
        }
    }

    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Adds a block.
    #[must_use]
    pub fn with(mut self, block: Block) -> Self {
        self.blocks.push(block);
        self
    }

    /// The people whom it means.
    pub fn people(&self) -> Vec<&str> {
        let spans = self.blocks.iter().flat_map(|block| match block {
            Block::Paragraph { spans }
            | Block::Heading { spans }
            | Block::Quote { spans }
            | Block::Item { spans, .. } => spans.as_slice(),
            Block::Code { .. } => &[],
        });
        let person = |span: &'_ Span| matches!(span, Span::Person(_));
        spans.filter(|span| person(span)).map(Span::words).collect()
    }

    /// The words alone, without any dialect: for logs, fallbacks and tests.
    pub fn words(&self) -> String {
        let lines: Vec<String> = self.blocks.iter().map(Block::words).collect();
        lines.join("\n")
    }
}

impl Block {
    /// A paragraph.
    pub fn paragraph(spans: impl IntoIterator<Item = Span>) -> Self {
        Self::Paragraph {
            spans: spans.into_iter().collect(),
        }
    }

    /// A block of code, letter for letter.
    pub fn code(language: &str, text: &str) -> Self {
        Self::Code {
            language: language.to_owned(),
            text: visible(text.trim_end_matches('\n')).into_owned(),
        }
    }

    /// The words alone.
    pub fn words(&self) -> String {
        match self {
            Self::Paragraph { spans } | Self::Heading { spans } | Self::Quote { spans } => {
                spans.iter().map(Span::words).collect()
            }
            Self::Item {
                depth,
                marker,
                spans,
            } => {
                let words: String = spans.iter().map(Span::words).collect();
                format!("{}{marker} {words}", "  ".repeat(usize::from(*depth)))
            }
            Self::Code { text, .. } => text.clone(),
        }
    }
}

impl Span {
    /// Plain words, with what deceives made visible.
    pub fn plain(text: &str) -> Self {
        Self::Plain(visible(text).into_owned())
    }

    /// Words that stand out.
    pub fn bold(text: &str) -> Self {
        Self::Bold(visible(text).into_owned())
    }

    /// Letter for letter.
    pub fn code(text: &str) -> Self {
        Self::Code(visible(text).into_owned())
    }

    /// The words alone.
    pub fn words(&self) -> &str {
        match self {
            Self::Plain(text)
            | Self::Bold(text)
            | Self::Italic(text)
            | Self::Code(text)
            | Self::Person(text) => text,
            Self::Link { label, .. } => label,
        }
    }
}

#[cfg(test)]
mod tests;
