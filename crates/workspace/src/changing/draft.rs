//! What files would be like: every change is made here first, and nothing is written.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use countersign_core::digest::Digest;
use serde_json::Value;

use crate::beneath::{BeneathError, EntryKind, Root};
use crate::change::{Act, Base, Change, Effect, FileChange, Footing, Plan};
use crate::config::{OPENWORK, opencode_path, parse_openwork, text};
use crate::jsonc;
use crate::refusal::{Kind, Refusal};
use crate::workspace::{Scope, Workspace};

/// How much is deleted at once: what is deleted is kept in memory, for whoever is to agree to it.
const DELETE_LIMIT: usize = 64 * 1024 * 1024;
/// How deep folders may lie in each other that are deleted.
const DEPTH: usize = 32;

/// What files would be like.
#[derive(Debug)]
pub(super) struct Draft<'a> {
    workspace: &'a Workspace,
    workspace_root: Option<Root>,
    home_root: Option<Root>,
    files: BTreeMap<(Base, PathBuf), File>,
    acts: Vec<Act>,
    /// Where opencode's configuration of the workspace is, if that was looked for.
    config: Option<PathBuf>,
    /// Whether anything else was looked at than that and files.
    rests_on_more: bool,
}

#[derive(Debug)]
struct File {
    before: Option<Vec<u8>>,
    now: Option<Vec<u8>>,
    /// What it says now, if that was asked for.
    says: Option<Value>,
}

impl File {
    fn turn_into(&mut self, text: String) {
        self.now = Some(text.into_bytes());
        self.says = None;
    }
}

impl<'a> Draft<'a> {
    pub(super) fn new(workspace: &'a Workspace) -> Self {
        Self {
            workspace,
            workspace_root: None,
            home_root: None,
            files: BTreeMap::new(),
            acts: Vec::new(),
            config: None,
            rests_on_more: false,
        }
    }

    /// Where opencode's configuration of the workspace is.
    pub(super) fn opencode(&mut self) -> Result<PathBuf, Refusal> {
        let path = opencode_path(self.root(Base::Workspace)?, Scope::Project)?;
        self.config = Some(path.clone());
        Ok(path)
    }

    /// Says that what comes of it rests on more than is in files.
    pub(super) fn rest_on_more(&mut self) {
        self.rests_on_more = true;
    }

    pub(super) fn workspace(&self) -> &'a Workspace {
        self.workspace
    }

    pub(super) fn finish(self, change: Change) -> Plan {
        let (mut files, mut read) = (Vec::new(), Vec::new());
        for ((base, path), File { before, now, .. }) in self.files {
            if before == now {
                read.push((base, path, before));
            } else {
                files.push(FileChange {
                    base,
                    path,
                    before,
                    after: now,
                });
            }
        }
        let changed = !files.is_empty();
        Plan {
            change,
            files,
            effect: Effect { acts: self.acts },
            changed,
            footing: if self.rests_on_more {
                Footing::More
            } else {
                Footing::Files {
                    read,
                    config: self.config,
                }
            },
        }
    }

    pub(super) fn root(&mut self, base: Base) -> Result<&Root, Refusal> {
        let slot = match base {
            Base::Workspace => &mut self.workspace_root,
            Base::Home => &mut self.home_root,
        };
        match slot {
            Some(root) => Ok(root),
            None => match self.workspace.root_of(base) {
                Ok(root) => Ok(slot.insert(root)),
                Err(BeneathError::Missing) => Err(Refusal::new(
                    Kind::NotFound,
                    "workspace_folder_missing",
                    "The folder of the workspace is missing",
                )),
                Err(error) => Err(error.into()),
            },
        }
    }

    /// What a file of JSON would say; an empty object if there is none.
    pub(super) fn value(&mut self, base: Base, path: &Path) -> Result<&Value, Refusal> {
        let value = match self.file(base, path)?.says.take() {
            Some(known) => known,
            None => self.parsed(base, path)?,
        };
        Ok(self.file(base, path)?.says.insert(value))
    }

    fn parsed(&mut self, base: Base, path: &Path) -> Result<Value, Refusal> {
        let text = self.text(base, path)?;
        let value = if path == Path::new(OPENWORK) {
            match text.as_str() {
                "" => jsonc::parse("{}"),
                text => parse_openwork(text.as_bytes()),
            }
        } else {
            jsonc::parse_for_change(&text)
        }?;
        if value.is_object() {
            Ok(value)
        } else {
            Err(jsonc::no_object())
        }
    }

    pub(super) fn set(
        &mut self,
        base: Base,
        path: &Path,
        keys: &[&str],
        value: Value,
    ) -> Result<(), Refusal> {
        let was = at(self.value(base, path)?, keys).cloned();
        if was.as_ref() == Some(&value) {
            return Ok(());
        }
        let text = jsonc::set(&self.text(base, path)?, keys, &value)?;
        self.file(base, path)?.turn_into(text);
        self.acts.push(Act::Set {
            base,
            file: path.to_owned(),
            keys: owned(keys),
            was,
            value,
        });
        Ok(())
    }

    pub(super) fn append(
        &mut self,
        base: Base,
        path: &Path,
        keys: &[&str],
        value: Value,
    ) -> Result<(), Refusal> {
        let mut list = self.list(base, path, keys)?;
        list.push(value.clone());
        let text = jsonc::set(&self.text(base, path)?, keys, &Value::Array(list))?;
        self.file(base, path)?.turn_into(text);
        self.acts.push(Act::Append {
            base,
            file: path.to_owned(),
            keys: owned(keys),
            value,
        });
        Ok(())
    }

    /// The list that is at `keys`; a text stands for a list of one.
    fn list(&mut self, base: Base, path: &Path, keys: &[&str]) -> Result<Vec<Value>, Refusal> {
        Ok(match at(self.value(base, path)?, keys) {
            Some(Value::Array(items)) => items.clone(),
            Some(Value::String(only)) => vec![Value::from(only.as_str())],
            _ => Vec::new(),
        })
    }

    pub(super) fn take_out(
        &mut self,
        base: Base,
        path: &Path,
        keys: &[&str],
        goes: impl Fn(&Value) -> bool,
    ) -> Result<(), Refusal> {
        let list = self.list(base, path, keys)?;
        let (values, kept): (Vec<_>, Vec<_>) = list.into_iter().partition(goes);
        if values.is_empty() {
            return Ok(());
        }
        let text = jsonc::set(&self.text(base, path)?, keys, &Value::Array(kept))?;
        self.file(base, path)?.turn_into(text);
        self.acts.push(Act::Take {
            base,
            file: path.to_owned(),
            keys: owned(keys),
            values,
        });
        Ok(())
    }

    pub(super) fn remove(&mut self, base: Base, path: &Path, keys: &[&str]) -> Result<(), Refusal> {
        let Some(was) = at(self.value(base, path)?, keys).cloned() else {
            return Ok(());
        };
        let text = jsonc::remove(&self.text(base, path)?, keys)?;
        self.file(base, path)?.turn_into(text);
        self.acts.push(Act::Remove {
            base,
            file: path.to_owned(),
            keys: owned(keys),
            was,
        });
        Ok(())
    }

    pub(super) fn write(&mut self, base: Base, path: &Path, text: String) -> Result<(), Refusal> {
        let file = self.file(base, path)?;
        if file.now.as_deref() == Some(text.as_bytes()) {
            return Ok(());
        }
        let was = file.before.as_deref().map(Digest::of_bytes);
        file.turn_into(text.clone());
        let file = path.to_owned();
        self.acts.push(Act::Write {
            base,
            file,
            was,
            text,
        });
        Ok(())
    }

    pub(super) fn delete(&mut self, base: Base, path: &Path) -> Result<(), Refusal> {
        let file = self.file(base, path)?;
        file.says = None;
        let (Some(before), Some(_)) = (&file.before, file.now.take()) else {
            return Ok(());
        };
        let was = Digest::of_bytes(before);
        let file = path.to_owned();
        self.acts.push(Act::Delete { base, file, was });
        Ok(())
    }

    /// Deletes every file below a folder. Links are no files, and stay.
    pub(super) fn delete_folder(&mut self, base: Base, path: &Path) -> Result<(), Refusal> {
        self.rest_on_more();
        let files = files_below(self.root(base)?, path)?;
        let mut size = 0;
        for file in files {
            let before = self.file(base, &file)?.before.as_ref();
            size += before.map_or(0, Vec::len);
            if size > DELETE_LIMIT {
                return Err(Refusal::new(
                    Kind::TooLarge,
                    "folder_too_large",
                    format!("More than {DELETE_LIMIT} bytes would be deleted at once"),
                ));
            }
            self.delete(base, &file)?;
        }
        Ok(())
    }

    /// The text of a file; nothing if there is none.
    fn text(&mut self, base: Base, path: &Path) -> Result<String, Refusal> {
        text(self.file(base, path)?.now.clone().unwrap_or_default())
    }

    fn file(&mut self, base: Base, path: &Path) -> Result<&mut File, Refusal> {
        let key = (base, path.to_owned());
        if !self.files.contains_key(&key) {
            let before = self.root(base)?.read_if_there(path)?;
            let now = before.clone();
            let says = None;
            self.files.insert(key.clone(), File { before, now, says });
        }
        Ok(self.files.entry(key).or_insert(File {
            before: None,
            now: None,
            says: None,
        }))
    }
}

fn at<'v>(value: &'v Value, keys: &[&str]) -> Option<&'v Value> {
    keys.iter().try_fold(value, |value, key| value.get(*key))
}

fn owned(keys: &[&str]) -> Vec<String> {
    keys.iter().map(|key| (*key).to_owned()).collect()
}

fn files_below(root: &Root, path: &Path) -> Result<Vec<PathBuf>, Refusal> {
    let mut files = Vec::new();
    let mut open = vec![(path.to_owned(), 0)];
    while let Some((folder, depth)) = open.pop() {
        let entries = match root.entries(&folder) {
            Ok(entries) => entries,
            Err(BeneathError::Missing) => continue,
            Err(error) => return Err(error.into()),
        };
        for entry in entries {
            let path = folder.join(&entry.name);
            match entry.kind {
                EntryKind::File => files.push(path),
                EntryKind::Folder if depth < DEPTH => open.push((path, depth + 1)),
                EntryKind::Folder => {
                    return Err(Refusal::invalid(
                        "folder_too_deep",
                        "Folders lie too deep in each other",
                    ));
                }
                EntryKind::Link | EntryKind::Other => {}
            }
        }
    }
    files.sort_unstable();
    Ok(files)
}
