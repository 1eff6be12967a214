//! Reads the Markdown that agents write, as far as chats can show it. What is not understood stays as it was written:
//! nothing is lost, which a reader of the whole language would not promise.

use super::{Block, Span, Text};

/// Reads `text`.
pub(super) fn read(text: &str) -> Text {
    let mut blocks = Vec::new();
    let mut paragraph: Vec<&str> = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(fence) = Fence::opened_by(line) {
            end(&mut paragraph, &mut blocks);
            blocks.push(fence.take(&mut lines));
            continue;
        }
        if line.trim().is_empty() {
            end(&mut paragraph, &mut blocks);
            continue;
        }
        match standalone(line) {
            Some(block) => {
                end(&mut paragraph, &mut blocks);
                blocks.push(block);
            }
            None => paragraph.push(line),
        }
    }
    end(&mut paragraph, &mut blocks);
    Text { blocks }
}

/// Makes a block of the lines that were gathered.
fn end(paragraph: &mut Vec<&str>, blocks: &mut Vec<Block>) {
    if !paragraph.is_empty() {
        let spans = spans(&paragraph.join("\n"));
        blocks.push(Block::Paragraph { spans });
        paragraph.clear();
    }
}

/// Where code begins: three or more of the same sign.
struct Fence<'t> {
    sign: char,
    length: usize,
    indent: usize,
    language: &'t str,
}

impl<'t> Fence<'t> {
    fn opened_by(line: &'t str) -> Option<Self> {
        let stripped = line.trim_start();
        let sign = stripped
            .chars()
            .next()
            .filter(|sign| "`~".contains(*sign))?;
        let length = stripped.chars().take_while(|next| *next == sign).count();
        let rest = stripped.get(length..)?.trim();
        if length < 3 || rest.contains('`') {
            return None;
        }
        Some(Self {
            sign,
            length,
            indent: line.len() - stripped.len(),
            language: rest.split_whitespace().next().unwrap_or_default(),
        })
    }

    /// Takes lines up to the end of the code, or of the text.
    fn take(&self, lines: &mut std::str::Lines<'_>) -> Block {
        let mut code = Vec::new();
        for line in lines {
            let bare = line.trim();
            if bare.len() >= self.length && bare.chars().all(|sign| sign == self.sign) {
                break;
            }
            let blanks = line.len() - line.trim_start_matches(' ').len();
            code.push(line.get(blanks.min(self.indent)..).unwrap_or(line));
        }
        Block::Code {
            language: self.language.to_owned(),
            text: code.join("\n"),
        }
    }
}

/// A line that is a block by itself.
fn standalone(line: &str) -> Option<Block> {
    let stripped = line.trim_start();
    let indent = line.len() - stripped.len();
    let hashes = stripped.chars().take_while(|sign| *sign == '#').count();
    if (1..=6).contains(&hashes) && stripped.get(hashes..)?.starts_with(' ') {
        let spans = spans(stripped.get(hashes..)?.trim());
        return Some(Block::Heading { spans });
    }
    if let Some(quoted) = stripped.strip_prefix("> ") {
        let spans = spans(quoted);
        return Some(Block::Quote { spans });
    }
    let depth = u8::try_from(indent / 2).unwrap_or(u8::MAX).min(8);
    let unordered = ["- ", "* ", "+ "]
        .into_iter()
        .find_map(|marker| stripped.strip_prefix(marker));
    if let Some(item) = unordered {
        return Some(Block::Item {
            depth,
            marker: "•".to_owned(),
            spans: spans(item),
        });
    }
    let digits = stripped.chars().take_while(char::is_ascii_digit).count();
    let item = stripped.get(digits..)?.strip_prefix(". ")?;
    ((1..=4).contains(&digits)).then(|| Block::Item {
        depth,
        marker: format!("{}.", &stripped[..digits]),
        spans: spans(item),
    })
}

/// The spans of a line or a paragraph.
fn spans(text: &str) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut plain = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let before = plain.chars().next_back();
        if let Some((span, after)) = marked(rest, before) {
            if !plain.is_empty() {
                spans.push(Span::Plain(std::mem::take(&mut plain)));
            }
            spans.push(span);
            rest = after;
        } else {
            plain.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    if !plain.is_empty() {
        spans.push(Span::Plain(plain));
    }
    spans
}

/// Makes a span of what stands between two marks.
type Stress = fn(String) -> Span;

/// The marked span that `text` begins with, and what follows it.
fn marked(text: &str, before: Option<char>) -> Option<(Span, &str)> {
    if text.starts_with('`') {
        let ticks = text.chars().take_while(|sign| *sign == '`').count();
        let (code, after) = text.get(ticks..)?.split_once(&text[..ticks])?;
        let code = code.strip_prefix(' ').unwrap_or(code);
        let code = code.strip_suffix(' ').unwrap_or(code);
        return (!code.is_empty()).then(|| (Span::Code(code.to_owned()), after));
    }
    if text.starts_with('[') {
        let (label, after) = text.get(1..)?.split_once("](")?;
        let (url, after) = after.split_once(')')?;
        let is_web = url.starts_with("https://") || url.starts_with("http://");
        let is_plain = !label.is_empty() && !label.contains(['[', ']', '\n']);
        return (is_web && is_plain && !url.contains(char::is_whitespace)).then(|| {
            let link = Span::Link {
                label: label.to_owned(),
                url: url.to_owned(),
            };
            (link, after)
        });
    }
    // `snake_case` and `2 * 3 * 4` are no stresses.
    if before.is_some_and(char::is_alphanumeric) {
        return None;
    }
    let marks: [(&str, Stress); 4] = [
        ("**", Span::Bold),
        ("__", Span::Bold),
        ("*", Span::Italic),
        ("_", Span::Italic),
    ];
    for (mark, make) in marks {
        let Some(inner) = text.strip_prefix(mark) else {
            continue;
        };
        let (words, after) = inner.split_once(mark)?;
        let is_tight = !words.is_empty() && !words.starts_with(' ') && !words.ends_with(' ');
        let goes_on = after.chars().next().is_some_and(char::is_alphanumeric);
        let is_simple = !words.contains(['`', '\n', '[', '*', '_']);
        return (is_tight && is_simple && !goes_on).then(|| (make(words.to_owned()), after));
    }
    None
}
