//! Where members of objects and arrays go in and out, so that what is around them stays.

use std::ops::Range;

use serde_json::Value;

use super::edit::spliced;
use super::parse::{Node, NodeKind, parse};
use super::print;
pub(super) use super::print::Layout;
use super::scan::{Scanner, Token};

/// An object or an array: where it is, and where its members are.
#[derive(Debug)]
pub(super) struct Container {
    at: Range<usize>,
    members: Vec<Range<usize>>,
}

impl Layout {
    /// How `text` is laid out.
    pub(super) fn of(text: &str) -> Self {
        let line_break = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let unit = parse(text).ok().and_then(|root| {
            let container = Container::of(&root);
            let first = container.members.first()?;
            let outer = indent_at(text, root.at.start);
            let inner = indent_at(text, first.start);
            let unit = inner.strip_prefix(outer)?;
            (begins_line(text, first.start) && !unit.is_empty()).then(|| unit.to_owned())
        });
        Self {
            unit: unit.unwrap_or_else(|| "  ".to_owned()),
            line_break,
        }
    }
}

impl Container {
    pub(super) fn of(node: &Node) -> Self {
        let members = match &node.kind {
            NodeKind::Object(properties) => properties
                .iter()
                .map(|property| property.key_at.start..property.value.at.end)
                .collect(),
            NodeKind::Array(items) => items.iter().map(|item| item.at.clone()).collect(),
            NodeKind::Plain(_) => Vec::new(),
        };
        Self {
            at: node.at.clone(),
            members,
        }
    }

    /// Puts in a member, with a key if it is an object, behind as many others as `index` says.
    pub(super) fn insert(
        &self,
        text: &str,
        index: usize,
        key: Option<&str>,
        value: &Value,
    ) -> String {
        let layout = Layout::of(text);
        let key = key.map_or_else(String::new, |key| format!("{}: ", print::quoted(key)));
        let on_lines = |indent: &str| format!("{key}{}", layout.lines(value, indent));
        let line_break = layout.line_break;
        let Some(neighbour) = self.members.get(index.saturating_sub(1)) else {
            return self.insert_first(text, &layout, on_lines);
        };
        let indent = indent_at(text, neighbour.start);
        let own_line = begins_line(text, neighbour.start);
        let (member, separator) = if own_line {
            (on_lines(indent), format!("{line_break}{indent}"))
        } else {
            (format!("{key}{}", print::line(value)), " ".to_owned())
        };
        if index == 0 {
            let at = neighbour.start;
            return spliced(text, &[(at..at, format!("{member},{separator}"))]);
        }
        let comma = comma_after(text, neighbour.end);
        let behind = comma.map_or(neighbour.end, |comma| comma + 1);
        let anchor = if own_line {
            end_of_remarks(text, behind)
        } else {
            behind
        };
        if comma.is_some() {
            return spliced(text, &[(anchor..anchor, format!("{separator}{member},"))]);
        }
        let end = neighbour.end;
        let edits = [
            (end..end, ",".to_owned()),
            (anchor..anchor, format!("{separator}{member}")),
        ];
        spliced(text, &edits)
    }

    /// Puts a member into what has none.
    fn insert_first(
        &self,
        text: &str,
        layout: &Layout,
        on_lines: impl Fn(&str) -> String,
    ) -> String {
        let outer = indent_at(text, self.at.start);
        let indent = format!("{outer}{}", layout.unit);
        let line_break = layout.line_break;
        let member = format!("{line_break}{indent}{}", on_lines(&indent));
        let close = self.at.end - 1;
        let after = last_comment_end(text, self.at.start + 1, close);
        let space = after.unwrap_or(self.at.start + 1)..close;
        // Behind a comment the brace stays where it is if it has a line of its own.
        if after.is_some() && text[space.clone()].contains(['\n', '\r']) {
            return spliced(text, &[(space.start..space.start, member)]);
        }
        spliced(text, &[(space, format!("{member}{line_break}{outer}"))])
    }

    /// Takes a member out, with its comma. Comments stay.
    pub(super) fn remove(&self, text: &str, index: usize) -> String {
        let Some(member) = self.members.get(index).cloned() else {
            return text.to_owned();
        };
        let comma_after = comma_after(text, member.end);
        let comma_before = match index {
            0 => None,
            index => comma_after_member(text, &self.members[index - 1], &member),
        };
        if self.members.len() == 1 {
            let inside = self.at.start + 1..self.at.end - 1;
            let end = comma_after.map_or(member.end, |comma| comma + 1);
            let around = [inside.start..member.start, end..inside.end];
            let between = &text[member.end..end];
            if around.iter().all(|it| text[it.clone()].trim().is_empty())
                && between.trim_end_matches(',').trim().is_empty()
            {
                return spliced(text, &[(inside, String::new())]);
            }
        }
        let gone = |range: Range<usize>| (range, String::new());
        match (comma_before, comma_after) {
            (_, Some(comma)) if text[member.end..comma].trim().is_empty() => {
                spliced(text, &[gone(tidied(text, member.start..comma + 1))])
            }
            (_, Some(comma)) => spliced(text, &[gone(member), gone(comma..comma + 1)]),
            (Some(comma), None) if text[comma + 1..member.start].trim().is_empty() => {
                spliced(text, &[gone(comma..member.end)])
            }
            (Some(comma), None) => {
                spliced(text, &[gone(comma..comma + 1), gone(tidied(text, member))])
            }
            (None, None) => spliced(text, &[gone(tidied(text, member))]),
        }
    }
}

/// The white space at the beginning of the line in which `position` is.
pub(super) fn indent_at(text: &str, position: usize) -> &str {
    let start = line_start(text, position);
    let line = &text[start..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

fn line_start(text: &str, position: usize) -> usize {
    let before = text[..position].rfind(['\n', '\r']);
    let start = before.map_or(0, |at| at + 1);
    start
        + if text[start..].starts_with('\u{feff}') {
            3
        } else {
            0
        }
}

/// Whether there is only white space before `position` in its line.
fn begins_line(text: &str, position: usize) -> bool {
    text[line_start(text, position)..position].trim().is_empty()
}

/// Where the comma is that follows a member, with nothing but space and comments between.
fn comma_after(text: &str, position: usize) -> Option<usize> {
    let next = tokens(text, position).find(|(token, _)| !token.is_filler());
    next.filter(|(token, _)| *token == Token::Comma)
        .map(|(_, at)| at.start)
}

fn comma_after_member(text: &str, member: &Range<usize>, next: &Range<usize>) -> Option<usize> {
    comma_after(text, member.end).filter(|comma| *comma < next.start)
}

/// The end of the comments that follow in the same line, if they are the last thing in it.
fn end_of_remarks(text: &str, position: usize) -> usize {
    let mut end = position;
    for (token, at) in tokens(text, position) {
        if token == Token::LineBreak || token == Token::End {
            return end;
        }
        if !token.is_filler() || text[at.clone()].contains(['\n', '\r']) {
            return position;
        }
        if token != Token::Space {
            end = at.end;
        }
    }
    end
}

/// The end of the last comment between two positions.
fn last_comment_end(text: &str, start: usize, end: usize) -> Option<usize> {
    let comments = tokens(text, start)
        .take_while(|(_, at)| at.end <= end)
        .filter(|(token, _)| matches!(token, Token::LineComment | Token::BlockComment));
    comments.last().map(|(_, at)| at.end)
}

/// What is taken out with a range: its whole line if nothing else is in it, else the space that follows.
fn tidied(text: &str, range: Range<usize>) -> Range<usize> {
    let rest = &text[range.end..];
    let space = rest.len() - rest.trim_start_matches([' ', '\t']).len();
    let end = range.end + space;
    let line_break = ["\r\n", "\n", "\r"]
        .into_iter()
        .find(|it| text[end..].starts_with(it));
    match line_break {
        Some(line_break) if begins_line(text, range.start) => {
            line_start(text, range.start)..end + line_break.len()
        }
        Some(_) => range.start..range.end,
        None => range.start..end,
    }
}

/// The tokens from `position` on, with their places in the whole text.
fn tokens(text: &str, position: usize) -> impl Iterator<Item = (Token, Range<usize>)> + '_ {
    let mut scanner = Scanner::new(&text[position..]);
    let mut over = false;
    std::iter::from_fn(move || {
        if over {
            return None;
        }
        let scanned = scanner.next();
        over = scanned.token == Token::End;
        let at = scanned.at.start + position..scanned.at.end + position;
        Some((scanned.token, at))
    })
}
