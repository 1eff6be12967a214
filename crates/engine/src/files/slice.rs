//! A part of a text file: whole lines, from one line on.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};

use super::{FileError, READ_LIMIT, SCAN_LIMIT};

/// Reads the text, or `limit` lines of it from `line` on. Lines are counted from one, and nought means the first too.
///
/// Lines keep their ends. A part behind the end of the file is empty.
pub(super) fn read(
    file: File,
    length: u64,
    line: Option<u32>,
    limit: Option<u32>,
) -> Result<String, FileError> {
    let whole = line.is_none_or(|line| line <= 1) && limit.is_none();
    let most = READ_LIMIT as u64;
    let may_be = if whole { most } else { SCAN_LIMIT };
    if length > may_be {
        return Err(FileError::TooLarge { limit: may_be });
    }
    let mut text = Vec::new();
    // A file may grow while it is read, and what the system calls a regular file may have no true length.
    let mut lines = BufReader::new(file.take(SCAN_LIMIT));
    if whole {
        (&mut lines)
            .take(most + 1)
            .read_to_end(&mut text)
            .map_err(FileError::System)?;
    } else {
        skip(&mut lines, line.unwrap_or(1).saturating_sub(1))?;
        for _ in 0..limit.unwrap_or(u32::MAX) {
            let room = (most + 1).saturating_sub(text.len() as u64);
            let read = (&mut lines)
                .take(room)
                .read_until(b'\n', &mut text)
                .map_err(FileError::System)?;
            if read == 0 {
                break;
            }
        }
    }
    if text.len() > READ_LIMIT {
        return Err(FileError::TooLarge { limit: most });
    }
    String::from_utf8(text).map_err(|_| FileError::NotText)
}

fn skip(lines: &mut BufReader<std::io::Take<File>>, count: u32) -> Result<(), FileError> {
    for _ in 0..count {
        if lines.skip_until(b'\n').map_err(FileError::System)? == 0 {
            break;
        }
    }
    Ok(())
}
