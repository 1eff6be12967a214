//! How much memory a process has, as the kernel counts it.

use std::time::Duration;

use anyhow::{Context as _, bail};

/// How often the kernel is asked.
const LOOK: Duration = Duration::from_millis(250);
/// So many looks in a row have to show the same.
const SAME_LOOKS: usize = 8;
/// Looks that differ by no more than this show the same.
const SAME: u64 = 64;
/// How many looks there are at most.
const LOOKS: usize = 120;

/// A count of the kernel's.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Memory {
    /// Everything that is in memory.
    Resident,
    /// What is in memory and in no file: the heap and the stacks.
    Anonymous,
    /// The most that was ever in memory.
    Peak,
}

/// Reads a count, in KiB.
pub(crate) fn read(pid: u32, memory: Memory) -> anyhow::Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))
        .context("failed to read what the process has in memory")?;
    let name = match memory {
        Memory::Resident => "VmRSS:",
        Memory::Anonymous => "RssAnon:",
        Memory::Peak => "VmHWM:",
    };
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok())
        .with_context(|| format!("the kernel does not tell `{name}`"))
}

/// So many KiB in megabytes, as everybody else counts them.
pub(crate) fn megabytes(kibibytes: u64) -> f64 {
    f64::from(u32::try_from(kibibytes).unwrap_or(u32::MAX)) * 1024.0 / 1e6
}

/// Waits until a count stands still, and returns it in KiB.
pub(crate) async fn settled(pid: u32, memory: Memory) -> anyhow::Result<u64> {
    let mut last = read(pid, memory)?;
    let mut same = 0;
    for _ in 0..LOOKS {
        tokio::time::sleep(LOOK).await;
        let now = read(pid, memory)?;
        same = if now.abs_diff(last) <= SAME {
            same + 1
        } else {
            0
        };
        if same == SAME_LOOKS {
            return Ok(now);
        }
        last = now;
    }
    bail!("the memory of process {pid} does not come to rest")
}
