//! Where adapters hand in what happened: nothing is taken before it is durable.

use tokio::sync::{mpsc, oneshot};

use crate::adapter::Happening;

/// How many batches wait to be written down; whoever hands in more waits.
const WAITING: usize = 16;

/// The core wants no more: [`Adapter::follow`](crate::Adapter::follow) returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped;

/// Where an adapter hands in what happened.
#[derive(Debug)]
pub struct Intake {
    batches: mpsc::Sender<Batch>,
}

/// Happenings that are taken together.
#[derive(Debug)]
pub struct Batch {
    /// What happened, in order.
    pub happenings: Vec<Happening>,
    /// Where to go on after them, if the platform has such a thing.
    pub cursor: Option<String>,
    taken: oneshot::Sender<()>,
}

impl Batch {
    /// Says that it is durable.
    pub fn taken(self) {
        // Whoever waited for it may have been ended meanwhile; it gets the same again and that is known by its id.
        let _gone = self.taken.send(());
    }
}

impl Intake {
    /// An intake, and where what is handed in comes out.
    pub fn new() -> (Self, mpsc::Receiver<Batch>) {
        let (batches, taken) = mpsc::channel(WAITING);
        (Self { batches }, taken)
    }

    /// Hands in what happened, and returns when it is durable. From then on the platform may forget it. A cursor without
    /// happenings is kept too.
    pub async fn take(
        &self,
        happenings: Vec<Happening>,
        cursor: Option<String>,
    ) -> Result<(), Stopped> {
        let (taken, is_taken) = oneshot::channel();
        let batch = Batch {
            happenings,
            cursor,
            taken,
        };
        self.batches.send(batch).await.map_err(|_| Stopped)?;
        is_taken.await.map_err(|_| Stopped)
    }

    /// Ends when the core wants no more, for whoever waits for the platform.
    pub fn stopped(&self) -> impl Future<Output = ()> + Send + '_ {
        self.batches.closed()
    }
}
