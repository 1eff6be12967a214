//! Adds to the end of a file.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, fstat, openat};

use super::{BeneathError, Root, refused};

impl Root {
    /// Adds `content` to the end of the file at `path`, which is made if it is not there, with its folders.
    pub fn append(&self, path: &Path, content: &[u8]) -> Result<(), BeneathError> {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(BeneathError::NoPlace);
        };
        let folder = match self.open_folder(folder) {
            Err(BeneathError::Missing) => {
                self.create_folder(folder)?;
                self.open_folder(folder)?
            }
            opened => opened?,
        };
        // A pipe that somebody put there is not waited for.
        let flags = OFlags::WRONLY
            | OFlags::APPEND
            | OFlags::CREATE
            | OFlags::NOFOLLOW
            | OFlags::NONBLOCK
            | OFlags::CLOEXEC;
        let file = openat(&folder, name, flags, Mode::from_raw_mode(0o644)).map_err(refused)?;
        let status = fstat(&file).map_err(refused)?;
        if FileType::from_raw_mode(status.st_mode) != FileType::RegularFile {
            return Err(BeneathError::NotAFile);
        }
        // One write, so that two servers do not get into each other's lines.
        File::from(file)
            .write_all(content)
            .map_err(BeneathError::System)
    }
}
