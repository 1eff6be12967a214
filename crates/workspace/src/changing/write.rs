//! Puts files on the disk: all of them, or none as far as a file system can.
//!
//! Every new content is on the disk under another name before the first file is touched; from then on there are only
//! renames and deletions. If one fails, those before it are put back.

use std::os::fd::OwnedFd;
use std::path::Path;

use crate::beneath::{BeneathError, Fresh, Placed, Root, Target};
use crate::change::{ApplyError, Base, FileChange};
use crate::spare::Spare;
use crate::workspace::Workspace;

/// How many names a folder has that stays when it is empty.
const STAYS: usize = 2;

/// What a write came to.
#[derive(Debug)]
pub(super) enum Wrote {
    /// Everything is where it is to be.
    All(Names),
    /// Somebody else wrote one of the files; nothing of ours is there.
    OthersDid,
}

/// The names under which new content is to be found: for everybody at once, and on the disk when they are settled.
#[derive(Debug, Default)]
#[must_use]
pub struct Names(Vec<Placed>);

impl Names {
    /// Has them on the disk. Until then a power cut may bring back what was there before, whole. What is returned holds the files
    /// that were there: a disk may take its time to get back what they took.
    pub fn settle(self) -> impl Send + use<> {
        let former: Vec<OwnedFd> = self.0.into_iter().filter_map(Placed::settle).collect();
        former
    }
}

/// A step that can be taken, and taken back.
struct Step<'a> {
    file: &'a FileChange,
    root: &'a Root,
    /// The new content, ready to be put in place; nothing if the file is deleted.
    fresh: Option<Fresh>,
}

/// What is to be written, on the disk already, and nowhere to be seen in the workspace.
///
/// Whoever waits for leave has it ready: what is left then is to put it in place.
#[derive(Debug, Default)]
pub struct Prepared {
    files: Vec<(FileChange, Fresh)>,
}

impl Prepared {
    /// Has the new content of `files` on the disk, in `spare`. More than a few are not held open.
    pub(super) fn of(
        workspace: &Workspace,
        files: &[FileChange],
        spare: &Spare,
    ) -> Result<Self, ApplyError> {
        const MOST: usize = 4;
        let mut prepared = Vec::new();
        for file in files {
            let Some(content) = &file.after else { continue };
            if prepared.len() == MOST {
                break;
            }
            let root = workspace.root_of(file.base).map_err(failed(file))?;
            let fresh = Fresh::make_unseen(&root, &file.path, spare.root());
            if let Some(fresh) = fresh.map_err(failed(file))? {
                fresh.fill(content).map_err(failed(file))?;
                prepared.push((file.clone(), fresh));
            }
        }
        Ok(Self { files: prepared })
    }

    /// What was prepared for `file`, if that is still to become the same and is in the same place.
    fn take(&mut self, root: &Root, file: &FileChange) -> Option<Fresh> {
        let index = self.files.iter().position(|(other, _)| other == file)?;
        let (_, fresh) = self.files.swap_remove(index);
        fresh.is_for(root, &file.path).then_some(fresh)
    }
}

/// Writes `files`, with what was `prepared` as far as that is still right.
pub(super) fn write(
    workspace: &Workspace,
    files: &[FileChange],
    prepared: &mut Prepared,
) -> Result<Wrote, ApplyError> {
    let in_workspace = open_if(workspace, files, Base::Workspace)?;
    let in_home = open_if(workspace, files, Base::Home)?;
    let mut steps = Vec::new();
    for file in files {
        let root = match file.base {
            Base::Workspace => in_workspace.as_ref(),
            Base::Home => in_home.as_ref(),
        };
        // There is a root for every base that a file has.
        let Some(root) = root else { continue };
        let fresh = match &file.after {
            Some(_) => prepared.take(root, file),
            None => None,
        };
        steps.push(Step { file, root, fresh });
    }
    // Before anything is made for them: what others did leaves nothing of ours, and no folder.
    if !are_as_before(steps.iter().filter(|step| step.fresh.is_none()))? {
        return Ok(Wrote::OthersDid);
    }
    for step in &mut steps {
        if step.fresh.is_none()
            && let Some(content) = &step.file.after
        {
            let fresh = prepare(step.root, &step.file.path, content);
            step.fresh = Some(fresh.map_err(failed(step.file))?);
        }
    }
    // What is written goes before what is deleted, so that whoever is killed between has lost nothing.
    steps.sort_by_key(|step| step.fresh.is_none());
    if !are_as_before(steps.iter())? {
        return Ok(Wrote::OthersDid);
    }
    let mut done: Vec<(&FileChange, &Root)> = Vec::new();
    let mut names = Names::default();
    for step in steps {
        let Step { file, root, fresh } = step;
        match take(root, file, fresh) {
            Ok(placed) => {
                names.0.extend(placed);
                done.push((file, root));
            }
            Err(source) => {
                let others_did = matches!(source, BeneathError::Exists | BeneathError::Missing);
                if let Err(source) = take_back(&done) {
                    let path = file.path.clone();
                    return Err(ApplyError::HalfDone { path, source });
                }
                return if others_did {
                    Ok(Wrote::OthersDid)
                } else {
                    Err(failed(file)(source))
                };
            }
        }
    }
    for (file, root) in done {
        if file.after.is_none() && file.base == Base::Workspace {
            remove_empty_folders(root, &file.path);
        }
    }
    Ok(Wrote::All(names))
}

/// Whether the files of `steps` are what they are said to be now.
fn are_as_before<'a, 'b: 'a>(
    steps: impl Iterator<Item = &'a Step<'b>>,
) -> Result<bool, ApplyError> {
    for Step { file, root, .. } in steps {
        let now = root.read_if_there(&file.path).map_err(failed(file))?;
        if now != file.before {
            return Ok(false);
        }
    }
    Ok(true)
}

fn open_if(
    workspace: &Workspace,
    files: &[FileChange],
    base: Base,
) -> Result<Option<Root>, ApplyError> {
    match files.iter().find(|file| file.base == base) {
        Some(file) => workspace.root_of(base).map(Some).map_err(failed(file)),
        None => Ok(None),
    }
}

fn prepare(root: &Root, path: &Path, content: &[u8]) -> Result<Fresh, BeneathError> {
    let fresh = Fresh::make(root, path)?;
    fresh.fill(content)?;
    Ok(fresh)
}

fn take(
    root: &Root,
    file: &FileChange,
    fresh: Option<Fresh>,
) -> Result<Option<Placed>, BeneathError> {
    let Some(fresh) = fresh else {
        root.remove_file(&file.path)?;
        return Ok(None);
    };
    let target = match file.before {
        Some(_) => Target::Any,
        None => Target::New,
    };
    fresh.put_in_place(target).map(Some)
}

fn take_back(done: &[(&FileChange, &Root)]) -> Result<(), BeneathError> {
    for (file, root) in done.iter().rev() {
        match &file.before {
            Some(content) => root.replace(&file.path, content)?,
            None => root.remove_file(&file.path)?,
        }
    }
    Ok(())
}

/// Removes the folders that a deletion left empty, but for those that hold all things of a kind.
fn remove_empty_folders(root: &Root, path: &Path) {
    for folder in path.ancestors().skip(1) {
        let stays = folder.components().count() <= STAYS;
        if stays || !root.remove_empty_folder(folder).unwrap_or_default() {
            return;
        }
    }
}

fn failed(file: &FileChange) -> impl FnOnce(BeneathError) -> ApplyError {
    let path = file.path.clone();
    |source| ApplyError::Write { path, source }
}
