//! What jobs need besides: room on the disk, no state in another program's directory, none of them stuck. And what can be
//! put right: only what is ours. A user's own files are looked at and never written.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use countersign_api::HealRequest;

use super::Check;
use crate::Call;
use crate::discovery::{SERVER_FILE, ServerFile};
use crate::jobs::heal;
use crate::launch;

const GIB: u64 = 1 << 30;
const LITTLE: u64 = GIB;
const TOO_LITTLE: u64 = GIB / 10;

/// Whether opencode's configuration can be read. Nothing has to be allowed in it: asks are answered.
pub(super) fn opencode_config(call: &Call<'_>) -> Check {
    const NAME: &str = "opencode-config";
    let Some(path) = call.surroundings.opencode_config() else {
        return Check::ok(NAME, "none is known, and none is needed");
    };
    match std::fs::read_to_string(&path) {
        Ok(_) => Check::ok(
            NAME,
            format!(
                "{} is left as it is: nothing has to be allowed in it, for asks are answered",
                path.display()
            ),
        ),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Check::ok(
            NAME,
            format!("{} is not there, and need not be", path.display()),
        ),
        Err(error) => Check::warn(
            NAME,
            format!("{} cannot be read: {error}", path.display()),
            "give this user leave to read it",
        ),
    }
}

/// Another program's directory is never used.
pub(super) fn plugin_data(call: &Call<'_>) -> Check {
    const NAME: &str = "plugin-data-env";
    let state = match &call.surroundings.data {
        Some(data) => format!("state is in {}", data.display()),
        None => "no state path is known".to_owned(),
    };
    match call.surroundings.variables.get("CLAUDE_PLUGIN_DATA") {
        Some(_) => Check::ok(
            NAME,
            format!("CLAUDE_PLUGIN_DATA is set and not used; {state}"),
        ),
        None => Check::ok(NAME, state),
    }
}

/// Whether there is room for the ledger.
pub(super) fn disk(data: Option<&Path>) -> Option<Check> {
    const NAME: &str = "disk-free";
    let place = data?.ancestors().find(|folder| folder.exists())?;
    let disk = rustix::fs::statvfs(place).ok()?;
    Some(room(NAME, disk.f_bavail.saturating_mul(disk.f_frsize)))
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a size is shown to a tenth of a GiB"
)]
fn room(name: &'static str, free: u64) -> Check {
    let said = format!("{:.1} GiB are free", free as f64 / GIB as f64);
    let fix = "make room, or set COUNTERSIGN_DATA to a directory on another disk";
    if free < TOO_LITTLE {
        Check::fail(name, said, fix)
    } else if free < LITTLE {
        Check::warn(name, said, fix)
    } else {
        Check::ok(name, said)
    }
}

/// Whether there are jobs that nothing can come of any more; nothing if no server can say.
pub(super) async fn stuck(call: &mut Call<'_>) -> Option<Check> {
    const NAME: &str = "stuck-jobs";
    let connection = call.connect().ok()?;
    let report = heal::ask(&connection, &request(true)).await.ok()?;
    Some(match report.actions.len() {
        0 => Check::ok(
            NAME,
            format!("{} jobs have not ended, all of them well", report.scanned),
        ),
        stuck => Check::warn(
            NAME,
            format!("{stuck} of {} jobs wait for nothing", report.scanned),
            "`countersign heal --all`, or `countersign doctor --fix`",
        ),
    })
}

fn request(dry_run: bool) -> HealRequest {
    HealRequest {
        dry_run,
        all: true,
        directory: None,
    }
}

/// Puts right what is ours, and tells what was done.
pub(super) async fn fix(call: &mut Call<'_>) -> anyhow::Result<Vec<String>> {
    let mut done = Vec::new();
    if call.options.url.is_some() {
        return Ok(done);
    }
    if let Some(data) = call.surroundings.data.as_deref() {
        done.extend(close(data));
        done.extend(forget(data));
    }
    let Ok(connection) = call.connect() else {
        return Ok(done);
    };
    if let Ok(report) = heal::ask(&connection, &request(false)).await {
        let actions = report.actions.into_iter();
        done.extend(actions.map(|healed| format!("{}: {}", healed.id, healed.details)));
    }
    Ok(done)
}

/// Closes the data directory to everybody else.
fn close(data: &Path) -> Option<String> {
    let found = data.metadata().ok()?;
    let mode = found.permissions().mode() & 0o777;
    let others = mode & 0o077;
    if !found.is_dir() || others == 0 {
        return None;
    }
    std::fs::set_permissions(data, std::fs::Permissions::from_mode(0o700)).ok()?;
    Some(format!(
        "closed {} to others (it had mode {mode:03o})",
        data.display()
    ))
}

/// Removes what a server left that is gone.
fn forget(data: &Path) -> Option<String> {
    let server = ServerFile::read(data).ok()??;
    if server.process_is_alive() || launch::is_served(data) {
        return None;
    }
    std::fs::remove_file(data.join(SERVER_FILE)).ok()?;
    Some(format!(
        "removed {SERVER_FILE}, which named process {} that is gone",
        server.pid
    ))
}

/// Where everything is.
pub(super) fn places(call: &Call<'_>) -> Vec<String> {
    let shown = |path: Option<std::path::PathBuf>| {
        path.map_or_else(|| "unknown".to_owned(), |path| path.display().to_string())
    };
    let data = call.surroundings.data.clone();
    let log = data.as_ref().map(|data| data.join(launch::LOG));
    let workspace = call.surroundings.directory.as_deref();
    vec![
        format!(
            "      workspace        {}",
            shown(workspace.map(crate::jobs::root))
        ),
        format!("      state            {}", shown(data)),
        format!("      server log       {}", shown(log)),
        format!(
            "      opencode         {}",
            shown(call.surroundings.opencode_config())
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Finding;

    #[test]
    fn little_room_is_warned_of_and_none_fails() {
        for (free, finding) in [
            (10 * GIB, Finding::Ok),
            (GIB / 2, Finding::Warn),
            (GIB / 20, Finding::Fail),
        ] {
            assert_eq!(room("disk-free", free).finding, finding);
        }
    }

    #[test]
    fn only_what_is_ours_is_put_right() {
        let data = tempfile::tempdir().unwrap();
        let mode = |mode| std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(data.path(), mode(0o755)).unwrap();
        assert!(close(data.path()).is_some());
        assert!(close(data.path()).is_none());
        let stale = serde_json::json!({
            "pid": u32::MAX, "url": "http://127.0.0.1:1", "socket": data.path().join("s"),
            "version": "0", "started_at": "2027-01-15T08:00:00Z",
        });
        std::fs::write(data.path().join(SERVER_FILE), stale.to_string()).unwrap();
        assert!(forget(data.path()).is_some());
        assert!(!data.path().join(SERVER_FILE).exists());
        assert!(forget(data.path()).is_none());
    }
}
