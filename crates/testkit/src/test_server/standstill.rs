//! Has a server stand still before or after a step of a job, so that it or its engine can be killed exactly there.

use rustix::process::Signal;

use super::{PATIENCE, TestServer};
use crate::eventually;

impl TestServer {
    /// Has the server stand still at `point`, such as `before spawn`, the next time that it comes there. The points are
    /// those of `countersign_broker`'s `standstill`; only a debug build has them.
    pub fn stand_still_at(&self, point: &str) {
        std::fs::write(self.standstill(), point).expect("the directory can be written");
    }

    /// Waits until the server stands still.
    pub async fn wait_until_still(&self, point: &str) {
        let stat = format!("/proc/{}/stat", self.program.id());
        eventually(PATIENCE, &format!("the server is {point}"), async || {
            let stat = std::fs::read_to_string(&stat).ok()?;
            let (_, fields) = stat.rsplit_once(')')?;
            let is_stopped = fields.trim_start().starts_with('T');
            (is_stopped && self.reached().exists()).then_some(())
        })
        .await;
    }

    /// Lets a server that stands still go on.
    pub fn go_on(&self) {
        self.forget_standstill();
        self.program.signal(Signal::CONT);
    }

    /// Has a server that was killed where it stood still not stand still again.
    pub fn forget_standstill(&self) {
        std::fs::remove_file(self.reached()).expect("the server stood still");
    }

    fn standstill(&self) -> std::path::PathBuf {
        self.root.path().join(super::STANDSTILL)
    }

    fn reached(&self) -> std::path::PathBuf {
        self.standstill().with_extension("reached")
    }
}
