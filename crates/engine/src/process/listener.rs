//! Which process listens on a port of this machine.

use std::io;

use super::ProcessIdentity;

/// Returns the process that listens on `port`, as far as this user may see it; `None` where there is none to be
/// seen, or the system does not tell.
#[cfg(target_os = "linux")]
pub fn listening_on(port: u16) -> io::Result<Option<ProcessIdentity>> {
    let mut sockets = Vec::new();
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        match std::fs::read_to_string(table) {
            Ok(text) => sockets.extend(text.lines().skip(1).filter_map(|line| inode(line, port))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    if sockets.is_empty() {
        return Ok(None);
    }
    for entry in std::fs::read_dir("/proc")? {
        let pid = entry?
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        if let Some(pid) = pid
            && holds(pid, &sockets)
        {
            return Ok(ProcessIdentity::of(pid));
        }
    }
    Ok(None)
}

/// Elsewhere there is no table to read.
#[cfg(not(target_os = "linux"))]
pub fn listening_on(_port: u16) -> io::Result<Option<ProcessIdentity>> {
    Ok(None)
}

/// The inode of the socket in a line of the table, if it listens on `port`.
#[cfg(target_os = "linux")]
fn inode(line: &str, port: u16) -> Option<u64> {
    const LISTENING: &str = "0A";
    let mut fields = line.split_whitespace();
    let (_, hexadecimal) = fields.nth(1)?.rsplit_once(':')?;
    let state = fields.nth(1)?;
    let here = u16::from_str_radix(hexadecimal, 16).ok()? == port && state == LISTENING;
    // After the state come queues, timer, retransmissions, user and timeout.
    let inode = fields.nth(5)?.parse().ok()?;
    here.then_some(inode)
}

/// Whether a process has one of `sockets` open; one that cannot be looked into counts as not.
#[cfg(target_os = "linux")]
fn holds(pid: u32, sockets: &[u64]) -> bool {
    let Ok(entries) = std::fs::read_dir(format!("/proc/{pid}/fd")) else {
        return false;
    };
    entries
        .flatten()
        .filter_map(|entry| std::fs::read_link(entry.path()).ok())
        .any(|target| {
            let inode = target
                .to_str()
                .and_then(|name| name.strip_prefix("socket:[")?.strip_suffix(']'));
            inode
                .and_then(|inode| inode.parse().ok())
                .is_some_and(|inode| sockets.contains(&inode))
        })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, TcpListener};

    #[test]
    fn the_listener_is_found_by_its_port() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let found = listening_on(port).unwrap();
        assert_eq!(found, Some(ProcessIdentity::own().unwrap()));
    }

    #[test]
    fn a_connection_is_no_listener() {
        let line = "   1: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000  0 0 777 1";
        assert_eq!(inode(line, 0x1F90), None);
        let line = "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  0 0 777 1";
        assert_eq!(inode(line, 0x1F90), Some(777));
    }
}
