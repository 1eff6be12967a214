//! How long a process was on a processor, as the kernel counts it.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Context as _;

/// What each thread of a process has had at one moment.
///
/// The kernel tells it to the nanosecond for a thread, and only to ten milliseconds for a process.
#[derive(Debug)]
pub(crate) struct ProcessorTime(BTreeMap<String, u64>);

impl ProcessorTime {
    /// Looks at a process. It should be at rest: what a thread has had since it last began to run is not counted.
    pub(crate) fn of(pid: u32) -> anyhow::Result<Self> {
        let threads = std::fs::read_dir(format!("/proc/{pid}/task"))
            .context("failed to look at the threads of a process")?;
        let mut times = BTreeMap::new();
        for thread in threads {
            let thread = thread.context("failed to look at a thread")?;
            // A thread may end meanwhile.
            let Ok(told) = std::fs::read_to_string(thread.path().join("schedstat")) else {
                continue;
            };
            let had = told.split(' ').next().and_then(|had| had.parse().ok());
            let had = had.context("the kernel does not tell the time of a thread")?;
            times.insert(thread.file_name().to_string_lossy().into_owned(), had);
        }
        Ok(Self(times))
    }

    /// What the threads that are there now have had since `earlier`.
    pub(crate) fn since(&self, earlier: &Self) -> Duration {
        let had = self.0.iter().map(|(thread, had)| {
            let before = earlier.0.get(thread).copied().unwrap_or_default();
            had.saturating_sub(before)
        });
        Duration::from_nanos(had.sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_takes_time() {
        let pid = std::process::id();
        let earlier = ProcessorTime::of(pid).unwrap();
        let worker = std::thread::spawn(move || {
            let mut sum = 0_u64;
            for number in 0..20_000_000_u64 {
                sum = std::hint::black_box(sum.wrapping_add(number));
            }
            // What it has had is told when it waits.
            let (_sender, receiver) = std::sync::mpsc::channel::<()>();
            let _waited = receiver.recv_timeout(Duration::from_millis(50));
            let later = ProcessorTime::of(pid).unwrap();
            (sum, later)
        });
        let (_, later) = worker.join().unwrap();
        assert!(later.since(&earlier) > Duration::from_millis(1));
    }
}
