//! What became of a server of this machine that a command was talking to.
//!
//! A server that ends in order takes its runtime file back; one that is killed leaves it behind.

use std::path::Path;
use std::time::Duration;

use crate::discovery::{ServerFile, is_listened_at};

const LOOK: Duration = Duration::from_millis(50);

/// What became of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It still answers, or another one has taken its place.
    Served,
    /// It ended in order.
    Ended,
    /// It was killed.
    Killed,
    /// It is on another machine, which cannot be looked at from here.
    Unknown,
}

/// Waits until it is known what became of `server`, whose runtime file is in `folder`: one that is about to end has
/// closed its socket, and takes a while to end its engines.
pub(super) async fn of(folder: &Path, server: &ServerFile) -> Fate {
    loop {
        match ServerFile::read(folder) {
            Ok(None) => return Fate::Ended,
            Ok(Some(found)) if found != *server => return Fate::Served,
            Ok(Some(_)) if is_listened_at(&server.socket) => return Fate::Served,
            Ok(Some(_)) | Err(_) if !server.process_is_alive() => return Fate::Killed,
            Ok(Some(_)) | Err(_) => tokio::time::sleep(LOOK).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discovery::SERVER_FILE;
    use countersign_core::time::Timestamp;
    use std::os::unix::net::UnixListener;

    fn server(folder: &Path, pid: u32) -> ServerFile {
        let file = ServerFile {
            pid,
            url: "http://127.0.0.1:1".to_owned(),
            socket: folder.join("socket"),
            version: "0".to_owned(),
            started_at: Timestamp::from_micros(0),
        };
        let text = serde_json::to_string(&file).unwrap();
        std::fs::write(folder.join(SERVER_FILE), text).unwrap();
        file
    }

    #[tokio::test]
    async fn a_server_that_was_killed_leaves_its_file_and_one_that_ended_takes_it_back() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let killed = server(folder, u32::MAX);
        assert_eq!(of(folder, &killed).await, Fate::Killed);
        std::fs::remove_file(folder.join(SERVER_FILE)).unwrap();
        assert_eq!(of(folder, &killed).await, Fate::Ended);
        server(folder, std::process::id());
        assert_eq!(of(folder, &killed).await, Fate::Served, "by another");
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_is_about_to_end_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let own = server(folder, std::process::id());
        let ending = async {
            tokio::time::sleep(Duration::from_secs(7)).await;
            std::fs::remove_file(folder.join(SERVER_FILE)).unwrap();
        };
        let (fate, ()) = tokio::join!(of(folder, &own), ending);
        assert_eq!(fate, Fate::Ended);
        let own = server(folder, std::process::id());
        let _listener = UnixListener::bind(&own.socket).unwrap();
        assert_eq!(of(folder, &own).await, Fate::Served);
    }
}
