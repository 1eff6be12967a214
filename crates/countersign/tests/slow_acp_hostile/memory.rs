//! How much memory the server and the keepers have while agents do their worst.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use countersign_testkit::process::anonymous_memory;
use countersign_testkit::test_server::KeptAgent;

/// How often the kernel is asked.
const LOOK: Duration = Duration::from_millis(5);
/// After how many looks the keepers are looked for again.
const SEARCH: u32 = 20;

/// The most memory of their own that processes have had, in KiB.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Most {
    /// The server, above what it had when it was idle.
    pub(crate) server: u64,
    /// Any one keeper.
    pub(crate) keeper: u64,
    /// The server above idle and all keepers at once.
    pub(crate) all: u64,
}

/// Looks on from a thread of its own, so that a busy test misses nothing.
pub(crate) struct Memory {
    looking: JoinHandle<Most>,
    enough: Sender<()>,
}

impl Memory {
    /// Watches a server, whose data directory tells of its keepers.
    pub(crate) fn watch(server: u32, data: PathBuf) -> Self {
        let (enough, is_enough) = mpsc::channel();
        let idle = anonymous_memory(server);
        let looking = std::thread::spawn(move || {
            let mut most = Most::default();
            let mut keepers = Vec::new();
            for look in 0_u32.. {
                if look.is_multiple_of(SEARCH) {
                    keepers = keepers_below(&data);
                }
                let of_server = anonymous_memory(server).saturating_sub(idle);
                let each: Vec<u64> = keepers.iter().map(|id| anonymous_memory(*id)).collect();
                most.server = most.server.max(of_server);
                most.keeper = most.keeper.max(each.iter().copied().max().unwrap_or(0));
                most.all = most.all.max(of_server + each.iter().sum::<u64>());
                match is_enough.recv_timeout(LOOK) {
                    Err(RecvTimeoutError::Timeout) => {}
                    Ok(()) | Err(RecvTimeoutError::Disconnected) => break,
                }
            }
            most
        });
        Self { looking, enough }
    }

    /// What they had at most.
    pub(crate) fn most(self) -> Most {
        drop(self.enough);
        self.looking.join().expect("looking does not fail")
    }
}

fn keepers_below(data: &Path) -> Vec<u32> {
    let agents = KeptAgent::all_below(data).into_iter();
    agents.map(|agent| agent.keeper).collect()
}
