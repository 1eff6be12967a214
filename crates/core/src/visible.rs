//! Makes what cannot be seen visible, so that what a person reads is what will run.
//!
//! Control, zero-width and bidirectional characters can hide or reorder text. They are shown by their
//! code point; tabs and line breaks stay as they are.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Whether `character` can hide or reorder text, or take hold of a terminal.
pub fn is_deceptive(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        _ if character.is_control() => true,
        '\u{00AD}' // soft hyphen
        | '\u{034F}' // combining grapheme joiner
        | '\u{061C}' // Arabic letter mark
        | '\u{115F}' | '\u{1160}' | '\u{3164}' | '\u{FFA0}' // Hangul fillers
        | '\u{17B4}' | '\u{17B5}'
        | '\u{180B}'..='\u{180F}'
        | '\u{200B}'..='\u{200F}' // zero width, directional marks
        | '\u{2028}'..='\u{202E}' // separators, bidirectional embedding and override
        | '\u{2060}'..='\u{206F}' // joiners, isolates
        | '\u{FE00}'..='\u{FE0F}' // variation selectors
        | '\u{FEFF}'
        | '\u{FFF0}'..='\u{FFFB}'
        | '\u{1D173}'..='\u{1D17A}'
        | '\u{E0000}'..='\u{E0FFF}' // tags
        // Blanks that are not a blank to a shell.
        | '\u{00A0}' | '\u{1680}' | '\u{2000}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}'
        => true,
        _ => false,
    }
}

/// The text with every deceptive character written as `⟨U+202E⟩`.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_deceptive) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_deceptive(character) {
            write!(shown, "⟨U+{:04X}⟩", u32::from(character)).expect("a String takes every write");
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_hides_or_reorders_is_written_out() {
        assert_eq!(visible("rm\u{200B} -rf"), "rm⟨U+200B⟩ -rf");
        assert_eq!(visible("a\u{202E}b"), "a⟨U+202E⟩b");
        assert_eq!(visible("\u{1b}[2K"), "⟨U+001B⟩[2K");
        assert_eq!(
            visible("line\r\nnext\tcolumn"),
            "line⟨U+000D⟩\nnext\tcolumn"
        );
        assert_eq!(visible("grüße, 世界 🙂"), "grüße, 世界 🙂");
    }

    proptest! {
        #[test]
        fn nothing_deceptive_is_left_and_nothing_else_is_touched(text in any::<String>()) {
            let shown = visible(&text);
            prop_assert!(!shown.contains(is_deceptive));
            if !text.contains(is_deceptive) {
                prop_assert_eq!(shown.as_ref(), text.as_str());
            }
        }
    }
}
