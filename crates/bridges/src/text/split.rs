//! Splits a text into messages that fit, without breaking a block of code: where code has to be cut, each part is a block
//! of its own. Nothing is lost and nothing is added.

use super::{Block, Span, Text};

/// Splits `text` into parts for each of which `fits` holds, as few as come of filling each. A single character that does
/// not fit is a part all the same: there is nothing smaller.
pub fn split(text: &Text, fits: impl Fn(&Text) -> bool) -> Vec<Text> {
    let mut parts = Vec::new();
    let mut part = Text::default();
    let mut waiting: Vec<Block> = text.blocks.iter().rev().cloned().collect();
    while let Some(block) = waiting.pop() {
        let mut longer = part.clone();
        longer.blocks.push(block.clone());
        if fits(&longer) {
            part = longer;
            continue;
        }
        if !part.blocks.is_empty() {
            parts.push(std::mem::take(&mut part));
            waiting.push(block);
            continue;
        }
        let (head, tail) = halve(&block, |head| {
            fits(&Text {
                blocks: vec![head.clone()],
            })
        });
        parts.push(Text { blocks: vec![head] });
        waiting.extend(tail);
    }
    if !part.blocks.is_empty() {
        parts.push(part);
    }
    parts
}

/// The longest head of `block` that fits, and what is left of it.
fn halve(block: &Block, fits: impl Fn(&Block) -> bool) -> (Block, Option<Block>) {
    let length = block.words_of_spans();
    let (mut least, mut most) = (1, length.max(1));
    while least < most {
        let middle = (least + most).div_ceil(2);
        if fits(&block.cut(middle).0) {
            least = middle;
        } else {
            most = middle - 1;
        }
    }
    // A whole line, or at least a whole word, reads better; not if it makes the part much shorter.
    let words: Vec<char> = block.characters().take(least).collect();
    let last = |sign: char| words.iter().rposition(|found| *found == sign);
    let nice = last('\n')
        .filter(|at| at * 2 >= least)
        .or_else(|| last(' ').filter(|at| at * 2 >= least));
    let at = if least >= length {
        least
    } else {
        nice.map_or(least, |at| at + 1)
    };
    block.cut(at)
}

impl Block {
    /// How many characters its spans or its code have.
    fn words_of_spans(&self) -> usize {
        self.characters().count()
    }

    fn characters(&self) -> Box<dyn Iterator<Item = char> + '_> {
        match self {
            Self::Paragraph { spans }
            | Self::Heading { spans }
            | Self::Quote { spans }
            | Self::Item { spans, .. } => {
                Box::new(spans.iter().flat_map(|span| span.words().chars()))
            }
            Self::Code { text, .. } => Box::new(text.chars()),
        }
    }

    /// The first `at` characters, and the rest if there is one.
    fn cut(&self, at: usize) -> (Self, Option<Self>) {
        match self {
            Self::Code { language, text } => {
                let (head, tail) = cut_text(text, at);
                let part = |text: &str| Self::Code {
                    language: language.clone(),
                    text: text.to_owned(),
                };
                // The line break between two parts is the end of the first.
                let head = head
                    .strip_suffix('\n')
                    .filter(|_| !tail.is_empty())
                    .unwrap_or(head);
                (part(head), (!tail.is_empty()).then(|| part(tail)))
            }
            Self::Paragraph { spans } => cut_into(spans, at, |spans| Self::Paragraph { spans }),
            Self::Heading { spans } => cut_into(spans, at, |spans| Self::Heading { spans }),
            Self::Quote { spans } => cut_into(spans, at, |spans| Self::Quote { spans }),
            Self::Item {
                depth,
                marker,
                spans,
            } => {
                let (head, tail) = cut_spans(spans, at);
                let head = Self::Item {
                    depth: *depth,
                    marker: marker.clone(),
                    spans: head,
                };
                (
                    head,
                    (!tail.is_empty()).then_some(Self::Paragraph { spans: tail }),
                )
            }
        }
    }
}

fn cut_into(spans: &[Span], at: usize, make: fn(Vec<Span>) -> Block) -> (Block, Option<Block>) {
    let (head, tail) = cut_spans(spans, at);
    (make(head), (!tail.is_empty()).then(|| make(tail)))
}

fn cut_spans(spans: &[Span], at: usize) -> (Vec<Span>, Vec<Span>) {
    let (mut head, mut tail) = (Vec::new(), Vec::new());
    let mut left = at;
    for span in spans {
        let length = span.words().chars().count();
        if left == 0 {
            tail.push(span.clone());
        } else if length <= left {
            left -= length;
            head.push(span.clone());
        } else {
            match span {
                Span::Plain(text) => divide(text, left, Span::Plain, &mut head, &mut tail),
                Span::Bold(text) => divide(text, left, Span::Bold, &mut head, &mut tail),
                Span::Italic(text) => divide(text, left, Span::Italic, &mut head, &mut tail),
                Span::Code(text) => divide(text, left, Span::Code, &mut head, &mut tail),
                Span::Link { label, .. } => divide(label, left, Span::Plain, &mut head, &mut tail),
                // Half a person is nobody.
                Span::Person(_) => tail.push(span.clone()),
            }
            left = 0;
        }
    }
    if head.is_empty() {
        // Something has to come first, or nothing ever would.
        head.extend((!tail.is_empty()).then(|| tail.remove(0)));
    }
    (head, tail)
}

fn divide(
    text: &str,
    at: usize,
    make: fn(String) -> Span,
    head: &mut Vec<Span>,
    tail: &mut Vec<Span>,
) {
    let (first, rest) = cut_text(text, at);
    head.push(make(first.to_owned()));
    tail.push(make(rest.to_owned()));
}

fn cut_text(text: &str, at: usize) -> (&str, &str) {
    let end = text
        .char_indices()
        .nth(at)
        .map_or(text.len(), |(end, _)| end);
    text.split_at(end)
}
