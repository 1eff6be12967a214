//! Changes that nobody announced: somebody has been at the files.
//!
//! Events are seen by those who ask for them and by nobody else, so that is when the files are looked at: all that engines
//! load, by their stamps. Watching them would take handles, and a thread, from every server for the few that are asked;
//! it would miss what happens on file systems of other machines, and while a folder is being made.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use countersign_workspace::Signs;
use countersign_workspace::signs::Part;

use super::{Reason, Trigger};
use crate::roster::Seat;

/// What the files of each workspace were like when they were last looked at.
#[derive(Default)]
pub(super) struct Noticed(Mutex<HashMap<String, Arc<Mutex<Option<Signs>>>>>);

impl Noticed {
    /// Looks at the files of `seat` for the first time, unless somebody has.
    pub(super) fn begin(&self, seat: &Seat) {
        let place = self.place(seat);
        let mut seen = place.lock().unwrap_or_else(PoisonError::into_inner);
        seen.get_or_insert_with(|| seat.files.signs());
    }

    /// Looks at the files of `seat`, and says what is another one than the last time; nothing the first time.
    pub(super) fn look(&self, seat: &Seat) -> Vec<(Reason, Trigger)> {
        let place = self.place(seat);
        // One after the other, or both would find the same.
        let mut seen = place.lock().unwrap_or_else(PoisonError::into_inner);
        let now = seat.files.signs();
        let differences = seen.as_ref().map(|before| now.differences(before));
        *seen = Some(now);
        let differences = differences.into_iter().flatten();
        differences
            .map(|(part, path)| trigger(part, seat.files.path(), &path))
            .collect()
    }

    fn place(&self, seat: &Seat) -> Arc<Mutex<Option<Signs>>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(all.entry(seat.entry.id.clone()).or_default())
    }
}

fn trigger(part: Part, workspace: &Path, path: &Path) -> (Reason, Trigger) {
    let (reason, kind) = match part {
        Part::Config => (Reason::Config, "config"),
        Part::Skills => (Reason::Skills, "skill"),
        Part::Commands => (Reason::Commands, "command"),
        Part::Agents => (Reason::Agents, "agent"),
        Part::Plugins => (Reason::Plugins, "plugin"),
    };
    let segment = |index: usize| {
        let segment = path.components().nth(index)?.as_os_str();
        Some(segment.to_string_lossy().into_owned())
    };
    // What is behind `.opencode/skills` and the like.
    let named = segment(2);
    let name = match part {
        Part::Config => path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned()),
        Part::Skills | Part::Agents => named,
        Part::Commands => named.map(|name| name.trim_end_matches(".md").to_owned()),
        Part::Plugins => None,
    };
    let trigger = Trigger {
        kind,
        name,
        action: "updated",
        path: Some(workspace.join(path).to_string_lossy().into_owned()),
    };
    (reason, trigger)
}
