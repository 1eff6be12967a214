//! What agents write, as blocks; and what does not fit into one message.

use proptest::prelude::*;

use super::*;

fn plain(text: &str) -> Span {
    Span::Plain(text.to_owned())
}

#[test]
fn markdown_is_read_as_far_as_chats_can_show_it() {
    let text = Text::from_markdown(
        "# Plan\nRun **all** of `cargo test`, see [docs](https://example.org/a).\n- one\n  - two\n3. three\n> said\n\n```rust\nfn main() {}\n\n```\nsnake_case 2 * 3 * 4 [x](javascript:y)",
    );
    let words = |text: &str| vec![plain(text)];
    assert_eq!(
        text.blocks,
        [
            Block::Heading {
                spans: words("Plan")
            },
            Block::Paragraph {
                spans: vec![
                    plain("Run "),
                    Span::Bold("all".to_owned()),
                    plain(" of "),
                    Span::Code("cargo test".to_owned()),
                    plain(", see "),
                    Span::Link {
                        label: "docs".to_owned(),
                        url: "https://example.org/a".to_owned()
                    },
                    plain("."),
                ]
            },
            Block::Item {
                depth: 0,
                marker: "•".to_owned(),
                spans: words("one")
            },
            Block::Item {
                depth: 1,
                marker: "•".to_owned(),
                spans: words("two")
            },
            Block::Item {
                depth: 0,
                marker: "3.".to_owned(),
                spans: words("three")
            },
            Block::Quote {
                spans: words("said")
            },
            Block::Code {
                language: "rust".to_owned(),
                text: "fn main() {}\n".to_owned()
            },
            Block::Paragraph {
                spans: words("snake_case 2 * 3 * 4 [x](javascript:y)")
            },
        ]
    );
}

#[test]
fn code_that_is_too_long_is_cut_between_lines_and_each_part_is_code() {
    let lines: Vec<String> = (0..100).map(|line| format!("line {line}")).collect();
    let text = Text::plain("Here it is:").with(Block::code("sh", &lines.join("\n")));
    let parts = split(&text, |part| part.words().len() <= 200);
    assert!(parts.len() > 3);
    let mut code = Vec::new();
    for part in &parts {
        assert!(part.words().len() <= 200);
        for block in &part.blocks {
            if let Block::Code { language, text } = block {
                assert_eq!(language, "sh");
                code.extend(text.lines().map(str::to_owned));
            }
        }
    }
    assert_eq!(code, lines);
}

proptest! {
    #[test]
    fn reading_panics_never_and_hides_nothing_of_plain_words(text in "[a-z0-9 .,\n]{0,200}") {
        let read = Text::from_markdown(&text);
        let letters = |text: &str| text.chars().filter(char::is_ascii_lowercase).collect::<String>();
        prop_assert_eq!(letters(&read.words()), letters(&text));
    }

    #[test]
    fn anything_can_be_read_and_split(text in any::<String>(), most in 1_usize..50) {
        let read = Text::from_markdown(&text);
        let parts = split(&read, |part| part.words().chars().count() <= most);
        let letters = |text: &str| text.chars().filter(|sign| !sign.is_whitespace()).collect::<String>();
        let all: String = parts.iter().map(Text::words).collect();
        prop_assert_eq!(letters(&all), letters(&read.words()));
    }
}
