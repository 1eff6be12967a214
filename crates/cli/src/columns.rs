//! Tables whose columns line up: the last column takes the room that is left and goes on below itself.

use owo_colors::{OwoColorize as _, Style};

/// The least room in which a last column is worth having beside the others.
const LEAST_ROOM: usize = 24;
const GAP: usize = 2;
const INDENT: usize = 4;

/// A cell: one line of text in one style.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    /// A cell in a style.
    pub(crate) fn styled(text: impl Into<String>, style: Style) -> Self {
        let text: String = text.into();
        Self {
            text: text.replace(['\n', '\t'], " "),
            style,
        }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::styled(text, Style::new())
    }
}

/// A table under its header.
#[derive(Debug)]
pub(crate) struct Table<const COLUMNS: usize> {
    rows: Vec<[Cell; COLUMNS]>,
}

impl<const COLUMNS: usize> Table<COLUMNS> {
    /// A table with nothing but a header.
    pub(crate) fn new(header: [&str; COLUMNS]) -> Self {
        let header = header.map(|name| Cell::styled(name, Style::new().dimmed()));
        Self { rows: vec![header] }
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: [Cell; COLUMNS]) {
        self.rows.push(cells);
    }

    /// The table's lines for a terminal of `width` columns, without the last end of line.
    pub(crate) fn render(&self, width: usize) -> String {
        let fixed: Vec<usize> = (0..COLUMNS - 1)
            .map(|column| {
                self.rows
                    .iter()
                    .map(|row| columns_of(&row[column].text))
                    .max()
                    .unwrap_or_default()
            })
            .collect();
        let taken = fixed.iter().map(|column| column + GAP).sum::<usize>();
        let beside = width.saturating_sub(taken) >= LEAST_ROOM;
        let (margin, room) = if beside {
            (taken, width - taken)
        } else {
            (INDENT, width.saturating_sub(INDENT).max(LEAST_ROOM))
        };

        let mut lines = Vec::new();
        for row in &self.rows {
            let mut line = String::new();
            for (cell, room) in row.iter().zip(&fixed) {
                let filling = room - columns_of(&cell.text) + GAP;
                line.push_str(&cell.text.style(cell.style).to_string());
                line.push_str(&" ".repeat(filling));
            }
            let last = &row[COLUMNS - 1];
            for (index, part) in wrap(&last.text, room).into_iter().enumerate() {
                if index == 0 && !beside {
                    lines.push(std::mem::take(&mut line).trim_end().to_owned());
                }
                if index > 0 || !beside {
                    line = " ".repeat(margin);
                }
                line.push_str(&part.style(last.style).to_string());
                lines.push(std::mem::take(&mut line));
            }
        }
        lines
            .iter()
            .map(|line| line.trim_end())
            .collect::<Vec<_>>()
            .join("\n")
    }
}

/// Breaks `text` into pieces of at most `room` columns, at blanks where there are some.
pub(crate) fn wrap(text: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split_inclusive(' ') {
        let length = columns_of(word.trim_end_matches(' '));
        if used > 0 && used + length > room {
            lines.push(String::new());
            used = 0;
        }
        for character in word.chars() {
            let wide = columns(character);
            if used + wide > room {
                // A blank at the very end of a line needs no line of its own.
                if character == ' ' {
                    continue;
                }
                lines.push(String::new());
                used = 0;
            }
            if let Some(line) = lines.last_mut() {
                line.push(character);
            }
            used += wide;
        }
    }
    lines
        .iter()
        .map(|line| line.trim_end_matches(' ').to_owned())
        .collect()
}

fn columns_of(text: &str) -> usize {
    text.chars().map(columns).sum()
}

/// How many columns a terminal gives to `character`: enough of the Unicode tables for lines to line up.
fn columns(character: char) -> usize {
    match character {
        '\u{0300}'..='\u{036F}' | '\u{20D0}'..='\u{20FF}' => 0,
        '\u{1100}'..='\u{115F}'
        | '\u{2E80}'..='\u{303E}'
        | '\u{3041}'..='\u{A4CF}'
        | '\u{AC00}'..='\u{D7A3}'
        | '\u{F900}'..='\u{FAFF}'
        | '\u{FE30}'..='\u{FE6F}'
        | '\u{FF00}'..='\u{FF60}'
        | '\u{FFE0}'..='\u{FFE6}'
        | '\u{1F300}'..='\u{1F64F}'
        | '\u{1F680}'..='\u{1F6FF}'
        | '\u{1F900}'..='\u{1FAFF}'
        | '\u{20000}'..='\u{3FFFD}' => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anstream::adapter::strip_str;

    fn table(width: usize) -> String {
        let mut table = Table::new(["ID", "TOOL", "WHAT"]);
        table.row([
            "k3v9qa".into(),
            "bash".into(),
            "cargo test --workspace --all-targets".into(),
        ]);
        table.row(["0f83xx".into(), "webfetch".into(), "世界".into()]);
        strip_str(&table.render(width)).to_string()
    }

    #[test]
    fn columns_line_up_where_there_is_room() {
        assert_eq!(
            table(usize::MAX),
            "ID      TOOL      WHAT\n\
             k3v9qa  bash      cargo test --workspace --all-targets\n\
             0f83xx  webfetch  世界"
        );
    }

    #[test]
    fn the_last_column_goes_on_below_itself_and_loses_nothing() {
        assert_eq!(
            table(46),
            "ID      TOOL      WHAT\n\
             k3v9qa  bash      cargo test --workspace\n\
             \x20                 --all-targets\n\
             0f83xx  webfetch  世界"
        );
    }

    #[test]
    fn on_a_narrow_terminal_it_gets_lines_of_its_own() {
        assert_eq!(
            table(30),
            "ID      TOOL\n    WHAT\n\
             k3v9qa  bash\n    cargo test --workspace\n    --all-targets\n\
             0f83xx  webfetch\n    世界"
        );
    }

    #[test]
    fn a_word_longer_than_the_line_is_broken_and_whole() {
        assert_eq!(wrap("abcdefgh ij", 3).concat(), "abcdefghij");
        assert_eq!(wrap("", 3), [""]);
    }
}
