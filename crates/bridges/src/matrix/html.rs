//! Matrix's dialect: a subset of HTML in which everything but what we mean is escaped, and the plain words beside it.

use crate::text::{Block, Span, Text};

/// The text as Matrix shows it.
pub(super) fn html(text: &Text) -> String {
    let mut out = String::new();
    for block in &text.blocks {
        match block {
            Block::Paragraph { spans } => tagged(&mut out, "<p>", spans, "</p>"),
            Block::Heading { spans } => tagged(&mut out, "<p><strong>", spans, "</strong></p>"),
            Block::Quote { spans } => tagged(&mut out, "<blockquote>", spans, "</blockquote>"),
            Block::Item {
                depth,
                marker,
                spans,
            } => {
                let indent = "&nbsp;&nbsp;".repeat(usize::from(*depth));
                let begin = format!("<p>{indent}{} ", escape(marker));
                tagged(&mut out, &begin, spans, "</p>");
            }
            Block::Code { language, text } => {
                let is_plain = |sign: char| sign.is_ascii_alphanumeric() || "+-_#.".contains(sign);
                if language.is_empty() || !language.chars().all(is_plain) {
                    out.push_str("<pre><code>");
                } else {
                    out.push_str("<pre><code class=\"language-");
                    out.push_str(language);
                    out.push_str("\">");
                }
                out.push_str(&escape(text));
                out.push_str("\n</code></pre>");
            }
        }
    }
    out
}

fn tagged(out: &mut String, begin: &str, spans: &[Span], end: &str) {
    out.push_str(begin);
    for span in spans {
        let words = escape(span.words()).replace('\n', "<br>");
        match span {
            Span::Plain(_) => out.push_str(&words),
            Span::Bold(_) => out.extend(["<strong>", &words, "</strong>"]),
            Span::Italic(_) => out.extend(["<em>", &words, "</em>"]),
            Span::Code(_) => out.extend(["<code>", &words, "</code>"]),
            Span::Link { url, .. } => {
                out.extend(["<a href=\"", &escape(url), "\">", &words, "</a>"]);
            }
            Span::Person(_) => {
                out.extend([
                    "<a href=\"https://matrix.to/#/",
                    &words,
                    "\">",
                    &words,
                    "</a>",
                ]);
            }
        }
    }
    out.push_str(end);
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for sign in text.chars() {
        match sign {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(sign),
        }
    }
    out
}
