//! Discord's dialect: its Markdown, in which everything but what we mean is escaped.
//!
//! A run of backticks that would end a block of code is broken by a sign that nobody sees. What had that sign in it before
//! shows it by its code point, so it is never mistaken for one of these.

use crate::text::{Block, Span, Text};

/// What breaks runs of signs, and is not seen.
const BREAK: char = '\u{200B}';

/// The text as Discord shows it.
pub(super) fn markdown(text: &Text) -> String {
    let mut out = String::new();
    for block in &text.blocks {
        if !out.is_empty() {
            out.push('\n');
        }
        match block {
            Block::Paragraph { spans } => out.push_str(&inline(spans)),
            Block::Heading { spans } => {
                out.push_str("### ");
                out.push_str(&inline(spans).replace('\n', " "));
            }
            Block::Quote { spans } => {
                out.push_str("> ");
                out.push_str(&inline(spans).replace('\n', "\n> "));
            }
            Block::Item {
                depth,
                marker,
                spans,
            } => {
                out.push_str(&"  ".repeat(usize::from(*depth)));
                out.push_str(&escaped(marker));
                out.push(' ');
                out.push_str(&inline(spans));
            }
            Block::Code { language, text } => {
                let is_plain = |sign: char| sign.is_ascii_alphanumeric() || "+-_#.".contains(sign);
                out.push_str("```");
                if language.chars().all(is_plain) {
                    out.push_str(language);
                }
                out.push('\n');
                out.push_str(&if text.is_empty() {
                    " ".to_owned()
                } else {
                    broken(text, 3)
                });
                out.push_str("\n```");
            }
        }
    }
    out
}

/// Words that mean nothing, as they are written in the dialect.
pub(super) fn plain(words: &str) -> String {
    markdown(&Text::plain(words))
}

fn inline(spans: &[Span]) -> String {
    let mut out = String::new();
    for span in spans.iter().filter(|span| !span.words().is_empty()) {
        let written = match span {
            Span::Plain(words) => escaped(words),
            Span::Bold(words) => format!("**{}**", escaped(words)),
            // An escaped asterisk would end it.
            Span::Italic(words) if words.contains('*') || !is_tight(words) => escaped(words),
            Span::Italic(words) => format!("*{}*", escaped(words)),
            Span::Code(words) if words.contains('`') => format!("`` {} ``", broken(words, 2)),
            Span::Code(words) => format!("`{words}`"),
            Span::Link { label, url } => link(label, url),
            Span::Person(id) if is_number(id) => format!("<@{id}>"),
            Span::Person(name) => escaped(name),
        };
        let meets = |sign: char| out.ends_with(sign) && written.starts_with(sign);
        if meets('*') || meets('`') {
            out.push(BREAK);
        }
        out.push_str(&written);
    }
    out
}

/// Whether it neither begins nor ends with a blank, which would mean nothing within asterisks.
fn is_tight(words: &str) -> bool {
    words.trim() == words
}

/// Whether it is what Discord calls somebody.
pub(super) fn is_number(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit())
}

/// A link whose address is shown too where the words are others: nobody is led elsewhere than they read.
fn link(label: &str, url: &str) -> String {
    let is_plain = |sign: char| sign.is_ascii_graphic() && !"<>()\\`".contains(sign);
    if !url.chars().all(is_plain) {
        return escaped(&format!("{label} ({url})"));
    }
    if label == url {
        format!("<{url}>")
    } else {
        format!("{} (<{url}>)", escaped(label))
    }
}

/// `text` without runs of `length` backticks or more.
fn broken(text: &str, length: usize) -> String {
    let mut out = String::with_capacity(text.len());
    let mut run = 0;
    for sign in text.chars() {
        run = if sign == '`' { run + 1 } else { 0 };
        if run == length {
            out.push(BREAK);
            run = 1;
        }
        out.push(sign);
    }
    out
}

/// Words as they are written so that each sign of them is shown and none means anything.
fn escaped(words: &str) -> String {
    let mut out = String::with_capacity(words.len() + words.len() / 8);
    // Where a line begins, more signs mean something; so does a number with its point.
    let mut is_start = true;
    let mut is_number = false;
    for (at, sign) in words.char_indices() {
        let is_meant = match sign {
            '\\' | '*' | '_' | '~' | '|' | '`' | '<' | '[' | '@' => true,
            '#' | '-' | '+' | '>' => is_start,
            '.' | ')' => is_number,
            ':' => words[at..].starts_with("://"),
            _ => false,
        };
        if is_meant {
            out.push('\\');
        }
        out.push(sign);
        is_number = sign.is_ascii_digit() && (is_start || is_number);
        is_start = sign == '\n' || (is_start && sign == ' ');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_like_dialect_is_shown_and_means_nothing() {
        let cases = [
            ("*b* _i_ ~~s~~ ||x||", r"\*b\* \_i\_ \~\~s\~\~ \|\|x\|\|"),
            (
                "<@1> <#2> <:e:3> @everyone",
                r"\<\@1> \<#2> \<:e:3> \@everyone",
            ),
            ("# head\n- item\n> quote", "\\# head\n\\- item\n\\> quote"),
            ("12. no list\n  3) none", "12\\. no list\n  3\\) none"),
            ("see https://a.b/c_d", r"see https\://a.b/c\_d"),
            ("[x](https://a.b)", r"\[x](https\://a.b)"),
        ];
        for (given, written) in cases {
            assert_eq!(plain(given), written);
        }
    }

    #[test]
    fn code_ends_where_it_ends() {
        let text = Text::default().with(Block::Code {
            language: "sh".to_owned(),
            text: "a ``` b ``````".to_owned(),
        });
        let written = markdown(&text);
        assert_eq!(written.matches("```").count(), 2, "{written}");
        assert_eq!(written.replace(BREAK, ""), "```sh\na ``` b ``````\n```");
        let spans = [
            Span::code("x"),
            Span::code("y`z"),
            Span::bold("b"),
            Span::bold("c"),
        ];
        let text = Text::default().with(Block::paragraph(spans));
        let written = markdown(&text).replace(BREAK, "|");
        assert_eq!(written, "`x`|`` y`z ``**b**|**c**");
    }

    #[test]
    fn a_link_shows_where_it_leads() {
        assert_eq!(link("https://a.b/", "https://a.b/"), "<https://a.b/>");
        assert_eq!(
            link("your bank", "https://a.b/"),
            "your bank (<https://a.b/>)"
        );
        let odd = link("x", "https://a.b/> <@1>");
        assert!(!odd.contains("<@1>") || odd.contains(r"\<\@1>"), "{odd}");
    }
}
