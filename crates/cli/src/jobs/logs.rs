//! `logs`: what happened to a job, line by line.

use countersign_api::JobLog;
use countersign_core::job::JobLogEntry;
use countersign_core::visible::visible;

use super::lookup;
use super::progress::Pursuit;
use crate::Call;
use crate::connection::Reply;
use crate::exit::Exit;

/// Which lines.
#[derive(Debug, clap::Args)]
pub struct Logs {
    /// The job's id, or a beginning of it that no other has
    #[arg(value_name = "ID")]
    id: String,
    /// Go on until the job has ended
    #[arg(long, short)]
    follow: bool,
    /// Begin behind this line
    #[arg(long, value_name = "N", default_value = "0")]
    after: i64,
}

pub(crate) async fn run(call: &mut Call<'_>, arguments: Logs) -> anyhow::Result<Exit> {
    let connection = call.connect_or_start().await?;
    let job = lookup::job(&connection, &arguments.id).await?.value;
    let mut after = arguments.after;
    let mut pursuit = if arguments.follow {
        Some(Pursuit::begin(&connection, &job.id).await?)
    } else {
        None
    };
    loop {
        let path = format!("/api/v1/jobs/{}/log?after={after}", job.id);
        let log: Reply<JobLog> = connection.find_again()?.get(&path).await?;
        if call.json() {
            print_json(call, &log, arguments.follow)?;
        } else {
            for entry in &log.value.entries {
                call.output.line(&line(entry))?;
            }
        }
        after = log.value.entries.last().map_or(after, |entry| entry.seq);
        match &mut pursuit {
            Some(pursuit) if !log.value.state.is_terminal() => pursuit.next(call).await?,
            Some(_) | None => return Ok(Exit::Success),
        }
    }
}

fn print_json(call: &mut Call<'_>, log: &Reply<JobLog>, one_by_one: bool) -> anyhow::Result<()> {
    if !one_by_one {
        call.output.json(&log.text)?;
        return Ok(());
    }
    for entry in &log.value.entries {
        call.output.json_line(&serde_json::to_string(entry)?)?;
    }
    Ok(())
}

fn line(entry: &JobLogEntry) -> String {
    format!(
        "[{}] [{}] {}",
        entry.at,
        entry.state.name(),
        visible(entry.text.trim_end())
    )
}
