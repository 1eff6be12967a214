//! Files that agents send: those of one folder, which the configuration allows, that a turn made or changed.

use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use countersign_broker::BridgeThread;
use countersign_core::session::Turn;
use countersign_core::time::Timestamp;

use crate::asks::AskError;
use crate::bridge::{About, Bridge, Saying};

/// The biggest file that is sent: it is kept in the ledger until the platform has it.
const BIGGEST: u64 = 5 << 20;
/// More files of one turn are named and not sent.
const MOST: usize = 5;

/// A file that is sent.
struct Made {
    name: String,
    content: Vec<u8>,
}

impl Bridge {
    /// Sends what a turn put into the folder that the channel allows.
    pub(crate) async fn send_files(
        &self,
        thread: &BridgeThread,
        turn: &Turn,
    ) -> Result<(), AskError> {
        let folder = self
            .route_called(&thread.route)
            .and_then(|route| route.files.clone());
        let Some(folder) = folder else {
            return Ok(());
        };
        let caller = self.own_caller().await?;
        let session = self.broker.session(&caller, turn.session).await?.session;
        let limit = self.adapter.capabilities().biggest_file.min(BIGGEST);
        let since = turn.started_at;
        let looking = move || look(Path::new(&session.directory), &folder, since, limit);
        let made = tokio::task::spawn_blocking(looking).await;
        for file in made.unwrap_or_default() {
            let key = format!("out:{}:{}", turn.id, file.name);
            let saying = Saying::Bytes {
                name: file.name,
                base64: BASE64_STANDARD.encode(&file.content),
            };
            self.say(
                &key,
                &thread.place,
                &thread.route,
                &saying,
                About::default(),
            )
            .await?;
        }
        Ok(())
    }
}

/// The files of `folder` below `directory` that were changed since, as far as they are not too big. Links are not
/// followed: what is sent was put there.
fn look(directory: &Path, folder: &str, since: Timestamp, limit: u64) -> Vec<Made> {
    let is_below = Path::new(folder)
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    let (Ok(directory), true) = (directory.canonicalize(), is_below) else {
        return Vec::new();
    };
    let Ok(folder) = directory.join(folder).canonicalize() else {
        return Vec::new();
    };
    if !folder.starts_with(&directory) || folder == directory {
        return Vec::new();
    }
    let micros = u64::try_from(since.as_micros()).unwrap_or(0);
    let since = SystemTime::UNIX_EPOCH + Duration::from_micros(micros);
    let Ok(entries) = std::fs::read_dir(&folder) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let made = paths.iter().filter_map(|path| read(path, since, limit));
    made.take(MOST).collect()
}

fn read(path: &Path, since: SystemTime, limit: u64) -> Option<Made> {
    let nofollow = i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).ok()?;
    let nonblock = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).ok()?;
    let file = std::fs::OpenOptions::new()
        .read(true)
        .custom_flags(nofollow | nonblock)
        .open(path)
        .ok()?;
    let metadata = file.metadata().ok()?;
    let is_new = metadata.modified().is_ok_and(|modified| modified >= since);
    if !metadata.is_file() || !is_new || metadata.len() > limit {
        return None;
    }
    let mut content = Vec::new();
    file.take(limit).read_to_end(&mut content).ok()?;
    Some(Made {
        name: path.file_name()?.to_str()?.to_owned(),
        content,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_new_files_of_the_allowed_folder_are_sent_and_no_link_is_followed() {
        let workspace = tempfile::tempdir().unwrap();
        let root = workspace.path();
        std::fs::create_dir(root.join("out")).unwrap();
        std::fs::write(root.join("secret"), "no").unwrap();
        std::fs::write(root.join("out/report.txt"), "yes").unwrap();
        std::fs::write(root.join("out/huge"), vec![0; 100]).unwrap();
        std::os::unix::fs::symlink(root.join("secret"), root.join("out/link")).unwrap();
        let names = |folder: &str, since: i64| {
            let since = Timestamp::from_micros(since);
            let found = look(root, folder, since, 50).into_iter();
            found.map(|made| made.name).collect::<Vec<_>>()
        };
        assert_eq!(names("out", 0), ["report.txt"]);
        assert_eq!(names("out", i64::MAX), [] as [&str; 0]);
        for outside in ["..", ".", "", "/etc", "out/.."] {
            assert_eq!(names(outside, 0), [] as [&str; 0], "{outside}");
        }
    }
}
