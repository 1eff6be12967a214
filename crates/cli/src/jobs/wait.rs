//! `wait-and-result`: one blocking call that ends with the job's report, or says that it is still running.

use std::time::Duration;

use countersign_api::JobView;
use countersign_core::job::JobId;
use serde_json::json;
use tokio::time::Instant;

use super::progress::job_is_kept;
use super::{lookup, result, shape};
use crate::Call;
use crate::connection::{Connection, Reply};
use crate::exit::{Exit, Failure};
use crate::follow::{WITHOUT_SERVER, server_left, without_server};
use crate::launch;

/// How long one request waits: less than any proxy on the way would.
const ONE_REQUEST: Duration = Duration::from_secs(25);
/// How soon it is tried again when the line was cut.
const PAUSE: Duration = Duration::from_millis(200);

/// Which job, and for how long.
#[derive(Debug, clap::Args)]
pub struct WaitAndResult {
    /// The job's id, or a beginning of it that no other has
    #[arg(value_name = "ID")]
    id: String,
    /// For how many seconds to wait at most, from 1 to 600
    #[arg(
        long,
        value_name = "SECONDS",
        default_value = "480",
        value_parser = clap::value_parser!(u64).range(1..=600)
    )]
    max_wait: u64,
}

pub(crate) async fn run(call: &mut Call<'_>, arguments: WaitAndResult) -> anyhow::Result<Exit> {
    let mut connection = call.connect_or_start().await?;
    let begun = Instant::now();
    let found = match lookup::job(&connection, &arguments.id).await {
        Ok(found) => found,
        Err(error) => {
            if is_final(&error) {
                return Err(error);
            }
            connection = call.connect_or_start().await?;
            lookup::job(&connection, &arguments.id).await?
        }
    };
    let limit = Duration::from_secs(arguments.max_wait);
    let view = if found.value.state.is_terminal() {
        found.value
    } else {
        until_ended(call, connection, &found.value.id, begun + limit).await?
    };
    if view.state.is_terminal() {
        result::print(call, &view)?;
        return Ok(Exit::Success);
    }
    let now = call.clock.now();
    let told = json!({
        "status": "running", "elapsed": begun.elapsed().as_secs(), "task_id": view.id,
        "log_file": null, "state": view.state.name(), "phase": view.phase.name(),
        "progress": shape::preview(&view, now), "open_asks": view.open_asks,
    });
    call.output.json_line(&told.to_string())?;
    Ok(Exit::StillRunning)
}

/// Waits until the job `id` has ended or it is `deadline`; a server that dies meanwhile has a successor started, one that
/// somebody stops has not.
pub(super) async fn until_ended(
    call: &mut Call<'_>,
    mut connection: Connection,
    id: &JobId,
    deadline: Instant,
) -> anyhow::Result<JobView> {
    let mut lost_at = None;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let asked: anyhow::Result<Reply<JobView>> = if left.is_zero() {
            connection.get(&format!("/api/v1/jobs/{id}")).await
        } else {
            let wait = left.min(ONE_REQUEST).as_millis().div_ceil(1_000).max(1);
            let path = format!("/api/v1/jobs/{id}/ended?wait_seconds={wait}");
            let waiting = connection.get_waiting(&path, ONE_REQUEST);
            // The server waits in whole seconds.
            match tokio::time::timeout(left, waiting).await {
                Ok(asked) => asked,
                Err(_) => continue,
            }
        };
        match asked {
            Ok(reply) if reply.value.state.is_terminal() || left.is_zero() => {
                return Ok(reply.value);
            }
            // A server that ends says how the job stands and hangs up.
            Ok(_) => {
                lost_at = None;
                tokio::time::sleep(PAUSE.min(left)).await;
            }
            Err(error) if left.is_zero() || is_final(&error) => return Err(error),
            Err(_) => {
                let lost_at = *lost_at.get_or_insert_with(Instant::now);
                if lost_at.elapsed() >= WITHOUT_SERVER {
                    return Err(server_left(&without_server(), &job_is_kept(id)));
                }
                connection = call.survive(connection, id).await?;
            }
        }
    }
}

impl Call<'_> {
    /// Reads from the server that should be there, and only if that comes to nothing makes sure of one and reads from it:
    /// to look first takes about as long as to read.
    pub(super) async fn read_or_start<T>(
        &mut self,
        reading: impl AsyncFn(&Connection) -> anyhow::Result<T>,
    ) -> anyhow::Result<(Connection, T)> {
        if self.may_start() && launch::should_be_served(self.surroundings) {
            let connection = self.connect()?;
            match reading(&connection).await {
                Err(error) if !is_final(&error) => {}
                read => return Ok((connection, read?)),
            }
        }
        let connection = self.connect_or_start().await?;
        let read = reading(&connection).await?;
        Ok((connection, read))
    }

    /// A request about the job `id` came to nothing, so that the server may have died; then another one is started. The
    /// way to the one that is there now is returned.
    pub(super) async fn survive(
        &mut self,
        connection: Connection,
        id: &JobId,
    ) -> anyhow::Result<Connection> {
        tokio::time::sleep(PAUSE).await;
        self.server_again(&connection, id).await?;
        // One that is elsewhere may come back.
        Ok(connection.find_again().unwrap_or(connection))
    }
}

/// Whether trying again would change nothing: somebody said no, rather than nothing.
pub(super) fn is_final(error: &anyhow::Error) -> bool {
    match error.downcast_ref() {
        Some(
            Failure::Refused { .. }
            | Failure::Usage(_)
            | Failure::NotFound(_)
            | Failure::ServerLeft { .. }
            | Failure::ServerSilent(_),
        ) => true,
        Some(Failure::NoServer(_)) | None => false,
    }
}
