//! Finds what a person means by a piece of an id: the id itself, its beginning, or its last characters.

use std::fmt::Display;
use std::str::FromStr;

use countersign_api::{AskList, SessionList, WorkspaceList, WorkspaceView};
use countersign_core::id::{AskId, SessionId, WorkspaceId};
use countersign_core::visible::visible;

use crate::Call;
use crate::connection::Connection;
use crate::exit::Failure;

/// How many last characters of an id are shown, and are enough to name it.
pub(crate) const SHORT: usize = 6;

/// How many pages of asks are looked through for a piece of an id.
const PAGES: usize = 4;
const LISTED: usize = 10;

/// The last characters of `id`, by which it is shown.
pub(crate) fn short(id: impl Display) -> String {
    tail(&id.to_string(), SHORT).to_owned()
}

/// The shortest tails, of one length, by which `ids` can be told apart.
pub(crate) fn tails<I: Display>(ids: impl IntoIterator<Item = I>) -> Vec<String> {
    let ids: Vec<String> = ids.into_iter().map(|id| id.to_string()).collect();
    let longest = ids.iter().map(String::len).max().unwrap_or(SHORT);
    (SHORT..=longest)
        .map(|length| ids.iter().map(|id| tail(id, length).to_owned()).collect())
        .find(|tails: &Vec<String>| {
            let mut sorted: Vec<&String> = tails.iter().collect();
            sorted.sort_unstable();
            sorted.windows(2).all(|pair| pair[0] != pair[1])
        })
        .unwrap_or(ids)
}

fn tail(id: &str, length: usize) -> &str {
    id.len()
        .checked_sub(length)
        .and_then(|start| id.get(start..))
        .unwrap_or(id)
}

/// Something that can be meant, with a few words about it.
#[derive(Debug, Clone)]
pub(crate) struct Candidate<I> {
    /// Its id.
    pub(crate) id: I,
    /// What it is, for somebody who has to choose.
    pub(crate) about: String,
}

/// The one among `candidates` that `text` means, if there is one.
pub(crate) fn pick<I: Copy + Display>(
    text: &str,
    candidates: &[Candidate<I>],
) -> Result<Option<I>, Failure> {
    let wanted = text.to_ascii_lowercase();
    let meant: Vec<&Candidate<I>> = candidates
        .iter()
        .filter(|candidate| means(&wanted, &candidate.id.to_string()))
        .collect();
    match meant.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(one.id)),
        several => {
            let mut sentence = format!("`{}` can mean {} of them:", visible(text), several.len());
            for candidate in several.iter().take(LISTED) {
                sentence.push_str("\n  ");
                sentence.push_str(&candidate.id.to_string());
                sentence.push_str("  ");
                sentence.push_str(&candidate.about);
            }
            if several.len() > LISTED {
                sentence.push_str("\n  … and more; write more of the id");
            }
            Err(Failure::Usage(sentence))
        }
    }
}

fn means(wanted: &str, id: &str) -> bool {
    let digits = id.split_once('_').map_or(id, |(_, digits)| digits);
    !wanted.is_empty()
        && (id.starts_with(wanted)
            || digits.starts_with(wanted)
            || (wanted.len() >= SHORT && digits.ends_with(wanted)))
}

/// The one that `text` means, whole or in part, of the `kind` that `candidates` are.
pub(crate) fn find<I: Copy + Display + FromStr>(
    kind: &str,
    text: &str,
    candidates: &[Candidate<I>],
) -> Result<I, Failure> {
    if let Ok(id) = text.parse() {
        return Ok(id);
    }
    pick(text, candidates)?.ok_or_else(|| {
        Failure::NotFound(format!("there is no {kind} that `{}` means", visible(text)))
    })
}

/// The ask that `text` means: an open one if it can be, else one of those that are over.
pub(crate) async fn ask(connection: &Connection, text: &str) -> anyhow::Result<AskId> {
    if let Ok(id) = text.parse() {
        return Ok(id);
    }
    for state in ["&state=open", ""] {
        let candidates = asks(connection, state).await?;
        if let Some(id) = pick(text, &candidates)? {
            return Ok(id);
        }
    }
    Err(Failure::NotFound(format!(
        "there is no ask that `{}` means; `countersign inbox --all` lists them",
        visible(text)
    ))
    .into())
}

async fn asks(connection: &Connection, state: &str) -> anyhow::Result<Vec<Candidate<AskId>>> {
    let mut candidates = Vec::new();
    let mut before = String::new();
    for _ in 0..PAGES {
        let page: AskList = connection
            .get(&format!("/api/v1/asks?limit=500{state}{before}"))
            .await?
            .value;
        candidates.extend(page.asks.into_iter().map(|ask| Candidate {
            id: ask.id,
            about: format!(
                "{} {}",
                ask.state.name(),
                crate::ask_text::first_words(&ask.summary)
            ),
        }));
        match page.next {
            Some(next) => before = format!("&before={next}"),
            None => break,
        }
    }
    Ok(candidates)
}

/// The session that `text` means.
pub(crate) async fn session(connection: &Connection, text: &str) -> anyhow::Result<SessionId> {
    if let Ok(id) = text.parse() {
        return Ok(id);
    }
    let list: SessionList = connection.get("/api/v1/sessions").await?.value;
    let candidates: Vec<_> = list
        .sessions
        .into_iter()
        .map(|view| Candidate {
            id: view.session.id,
            about: visible(&view.session.title).into_owned(),
        })
        .collect();
    Ok(find("session", text, &candidates)?)
}

/// The workspace that `text` means by its id, its name or its path.
pub(crate) async fn workspace(connection: &Connection, text: &str) -> anyhow::Result<WorkspaceId> {
    let list: WorkspaceList = connection.get("/api/v1/workspaces").await?.value;
    Ok(workspace_in(text, &list.workspaces)?)
}

fn workspace_in(text: &str, workspaces: &[WorkspaceView]) -> Result<WorkspaceId, Failure> {
    let path = std::fs::canonicalize(text).ok();
    let named: Vec<_> = workspaces
        .iter()
        .filter(|view| {
            view.workspace.name == text
                || view.workspace.path == text
                || path
                    .as_deref()
                    .is_some_and(|path| path == std::path::Path::new(&view.workspace.path))
        })
        .collect();
    if let [one] = named.as_slice() {
        return Ok(one.workspace.id);
    }
    let candidates: Vec<_> = workspaces
        .iter()
        .map(|view| Candidate {
            id: view.workspace.id,
            about: visible(&view.workspace.path).into_owned(),
        })
        .collect();
    find("workspace", text, &candidates)
}

/// The workspace that holds `directory`, the innermost if several do.
pub(crate) fn workspace_around(
    directory: &std::path::Path,
    workspaces: &[WorkspaceView],
) -> Option<WorkspaceId> {
    workspaces
        .iter()
        .filter(|view| directory.starts_with(&view.workspace.path))
        .max_by_key(|view| view.workspace.path.len())
        .map(|view| view.workspace.id)
}

/// The workspace that is named, else the one around the current directory; of a server elsewhere the one that it chooses.
/// A directory in none is refused: what is meant there is never looked for in another folder.
pub(crate) async fn chosen_workspace(
    call: &Call<'_>,
    connection: &Connection,
    named: Option<&str>,
) -> anyhow::Result<Option<WorkspaceId>> {
    if let Some(text) = named {
        return workspace(connection, text).await.map(Some);
    }
    match &call.surroundings.directory {
        Some(directory) if connection.is_local() => {
            let list: WorkspaceList = connection.get("/api/v1/workspaces").await?.value;
            let around = workspace_around(directory, &list.workspaces);
            around.map(Some).ok_or_else(|| {
                let sentence = format!(
                    "{} lies in no workspace that is served; say which one is meant with --workspace",
                    directory.display()
                );
                Failure::NotFound(sentence).into()
            })
        }
        Some(_) | None => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = "ask_01jc0000000000000000aaaaaa";
    const SECOND: &str = "ask_01jc0000000000000000bbbbbb";
    const THIRD: &str = "ask_01jd0000000000000000abaaaa";

    fn candidates() -> Vec<Candidate<AskId>> {
        [FIRST, SECOND, THIRD]
            .map(|id| Candidate {
                id: id.parse().unwrap(),
                about: "open ls".to_owned(),
            })
            .to_vec()
    }

    fn picked(text: &str) -> Option<String> {
        pick(text, &candidates()).unwrap().map(|id| id.to_string())
    }

    #[test]
    fn a_beginning_or_an_end_that_only_one_has_is_enough() {
        for (text, id) in [
            (FIRST, FIRST),
            ("ask_01jd", THIRD),
            ("01jd", THIRD),
            ("bbbbbb", SECOND),
            ("BBBBBB", SECOND),
            ("0aaaaaa", FIRST),
            ("ABAAAA", THIRD),
        ] {
            assert_eq!(picked(text).as_deref(), Some(id), "{text}");
        }
    }

    #[test]
    fn what_nothing_has_is_nothing() {
        for text in ["", "zzzzzz", "bbbbb", "session_01jd", "ask_01je"] {
            assert_eq!(picked(text), None, "{text}");
        }
    }

    #[test]
    fn what_several_have_is_an_error_that_lists_them() {
        let Err(Failure::Usage(sentence)) = pick("ask_01jc", &candidates()) else {
            panic!("two asks begin so");
        };
        assert!(
            sentence.contains(FIRST) && sentence.contains(SECOND),
            "{sentence}"
        );
        assert!(!sentence.contains(THIRD), "{sentence}");
    }

    #[test]
    fn tails_are_as_long_as_they_have_to_be() {
        assert_eq!(tails([FIRST, SECOND]), ["aaaaaa", "bbbbbb"]);
        assert_eq!(
            tails(["ask_10abcdef", "ask_20abcdef"]),
            ["10abcdef", "20abcdef"]
        );
        assert_eq!(tails(Vec::<String>::new()), Vec::<String>::new());
    }
}
