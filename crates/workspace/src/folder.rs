//! Remembers what was made of files, as long as they are the same.

use std::collections::HashMap;
use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{AtFlags, fstat, statat};

use crate::beneath::{BeneathError, Entry, Root, refused};
use crate::listing::Listing;
use crate::stamp::Stamp;

/// What was made of the files of one folder, of which each entry has one at most.
#[derive(Debug)]
pub(crate) struct Folder<T>(Mutex<Known<T>>);

/// What was made of one file.
#[derive(Debug)]
pub(crate) struct Remembered<T>(Mutex<Option<(Seen, Arc<T>)>>);

#[derive(Debug)]
struct Known<T> {
    /// What the folder was when its names were read.
    names: Option<Seen>,
    items: Vec<Item<T>>,
    listing: Listing<T>,
}

#[derive(Debug)]
struct Item<T> {
    name: OsString,
    /// Its file, from the folder on.
    file: CString,
    /// What the file was when it was read; nothing if there was none.
    seen: Option<Seen>,
    made: Option<Arc<T>>,
}

/// A file at the moment at which it was read.
#[derive(Debug, Clone, Copy)]
struct Seen {
    stamp: Stamp,
    /// Whether a later change would show in the stamp.
    settled: bool,
}

impl Seen {
    fn new(stamp: Stamp) -> Self {
        Self {
            stamp,
            settled: stamp.is_settled(),
        }
    }

    fn is_still(&self, stamp: &Stamp) -> bool {
        self.settled && self.stamp == *stamp
    }
}

impl<T> Default for Folder<T> {
    fn default() -> Self {
        Self(Mutex::new(Known {
            names: None,
            items: Vec::new(),
            listing: Listing::default(),
        }))
    }
}

impl<T> Folder<T> {
    /// Looks what is in the folder `path` now. `file_of` says which file of an entry counts, from the folder on, if any
    /// does; `make` makes something of it, and may drop it. A file that cannot be read is left out.
    pub(crate) fn look(
        &self,
        root: &Root,
        path: &Path,
        file_of: impl Fn(&Entry) -> Option<OsString>,
        make: impl Fn(&OsStr, Vec<u8>) -> Option<T>,
    ) -> Result<Listing<T>, BeneathError> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = match root.open_folder(path) {
            Ok(folder) => folder,
            // What lies outside is none of the workspace's.
            Err(BeneathError::Missing | BeneathError::Outside | BeneathError::NoPlace) => {
                known.forget();
                return Ok(known.listing.clone());
            }
            Err(error) => return Err(error),
        };
        let stamp = Stamp::of(&fstat(&folder).map_err(refused)?);
        let mut different = false;
        if !known.names.is_some_and(|names| names.is_still(&stamp)) {
            let entries = root.entries(path)?;
            different = known.take_names(&entries, file_of);
            known.names = Some(Seen::new(stamp));
        }
        for item in &mut known.items {
            // This may look through a link that leads out. What was read before is what is returned then, and what is
            // read now is read below the root.
            let Ok(status) = statat(&folder, item.file.as_c_str(), AtFlags::empty()) else {
                different |= item.made.take().is_some();
                item.seen = None;
                continue;
            };
            let stamp = Stamp::of(&status);
            if !item.seen.is_some_and(|seen| seen.is_still(&stamp)) {
                let file = path.join(OsStr::from_bytes(item.file.to_bytes()));
                different |= item.read(root, &file, &stamp, &make);
            }
        }
        if different {
            known.listing = Listing::new(
                known
                    .items
                    .iter()
                    .filter_map(|item| item.made.clone())
                    .collect(),
            );
        }
        Ok(known.listing.clone())
    }
}

impl<T> Known<T> {
    fn forget(&mut self) {
        self.names = None;
        self.items.clear();
        if !self.listing.is_empty() {
            self.listing = Listing::default();
        }
    }

    /// Takes up the names of a folder. Returns whether something that was made of a file is gone with its name.
    fn take_names(
        &mut self,
        entries: &[Entry],
        file_of: impl Fn(&Entry) -> Option<OsString>,
    ) -> bool {
        let mut before: HashMap<OsString, Item<T>> = self
            .items
            .drain(..)
            .map(|item| (item.name.clone(), item))
            .collect();
        for entry in entries {
            let Some(file) = file_of(entry) else { continue };
            // No name in a folder has a zero in it.
            let Ok(file) = CString::new(file.as_bytes()) else {
                continue;
            };
            let item = before.remove(&entry.name).unwrap_or_else(|| Item {
                name: entry.name.clone(),
                file,
                seen: None,
                made: None,
            });
            self.items.push(item);
        }
        before.values().any(|item| item.made.is_some())
    }
}

impl<T> Item<T> {
    /// Reads the file. Returns whether what is made of it may be another thing now.
    fn read(
        &mut self,
        root: &Root,
        file: &Path,
        looked: &Stamp,
        make: impl Fn(&OsStr, Vec<u8>) -> Option<T>,
    ) -> bool {
        let was = self.made.take();
        match root.read_stamped(file) {
            Ok(read) => {
                self.seen = Some(Seen::new(read.stamp));
                self.made = make(&self.name, read.bytes).map(Arc::new);
            }
            Err(error) => {
                tracing::debug!(error = %error, "`{}` was left out", file.display());
                self.seen = Some(Seen::new(*looked));
            }
        }
        was.is_some() || self.made.is_some()
    }
}

impl<T> Default for Remembered<T> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<T> Remembered<T> {
    /// What `make` makes of the file `path`; nothing if there is none.
    pub(crate) fn look(
        &self,
        root: &Root,
        path: &Path,
        make: impl FnOnce(Vec<u8>) -> T,
    ) -> Result<Option<Arc<T>>, BeneathError> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let read = root.read_unless(path, |stamp| {
            known.as_ref().is_some_and(|(seen, _)| seen.is_still(stamp))
        });
        match read {
            Ok(Some(read)) => {
                let made = Arc::new(make(read.bytes));
                *known = Some((Seen::new(read.stamp), Arc::clone(&made)));
                Ok(Some(made))
            }
            Ok(None) => Ok(known.as_ref().map(|(_, made)| Arc::clone(made))),
            Err(BeneathError::Missing) => {
                *known = None;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests;
