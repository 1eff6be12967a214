//! `schedules`: prompts that the configuration gives at set times.

use countersign_api::ScheduleList;
use countersign_core::schedule::{RunOutcome, Schedule, ScheduleTarget};
use countersign_core::time::Timestamp;
use countersign_core::visible::visible;
use owo_colors::Style;

use crate::Call;
use crate::columns::{Cell, Table};
use crate::connection::Reply;
use crate::duration::spoken;
use crate::exit::Exit;

/// Scheduled prompts; there is nothing to choose.
#[derive(Debug, clap::Args)]
pub struct Schedules {}

pub(crate) async fn run(call: &mut Call<'_>, _: Schedules) -> anyhow::Result<Exit> {
    let connection = call.connect()?;
    let Reply { value, text }: Reply<ScheduleList> = connection.get("/api/v1/schedules").await?;
    if call.json() {
        call.output.json(&text)?;
    } else if value.schedules.is_empty() {
        call.output
            .note("Nothing is scheduled: the configuration has no `[[schedules]]`")?;
    } else {
        let now = call.clock.now();
        let table = table(&value.schedules, now, call.output.width());
        call.output.line(&table)?;
    }
    Ok(Exit::Success)
}

fn table(schedules: &[Schedule], now: Timestamp, width: usize) -> String {
    let mut table = Table::new(["NAME", "WHEN", "TO", "NEXT", "LAST"]);
    for schedule in schedules {
        table.row([
            visible(&schedule.name).into(),
            visible(&format!("{} {}", schedule.cron, schedule.time_zone)).into(),
            visible(&target(&schedule.to)).into(),
            next(schedule, now).into(),
            Cell::styled(visible(&last(schedule, now)), style(schedule)),
        ]);
    }
    table.render(width)
}

fn target(to: &ScheduleTarget) -> String {
    match to {
        ScheduleTarget::Job { engine, .. } => match engine {
            Some(engine) => format!("a job of {engine}"),
            None => "a job".to_owned(),
        },
        ScheduleTarget::Channel { bridge, channel } => format!("{bridge} {channel}"),
    }
}

fn next(schedule: &Schedule, now: Timestamp) -> String {
    match schedule.next_at {
        Some(at) if at > now => format!("in {}", spoken(at.since(now))),
        Some(_) => "now".to_owned(),
        None => "never: the configuration names it no more".to_owned(),
    }
}

fn last(schedule: &Schedule, now: Timestamp) -> String {
    let Some(run) = &schedule.last else {
        return "not yet".to_owned();
    };
    let ago = |at| format!("{} ago", spoken(now.since(at)));
    let said = match &run.outcome {
        RunOutcome::Announced => "about to begin".to_owned(),
        RunOutcome::Begun { run } => run.clone(),
        RunOutcome::Missed => "passed while no server ran".to_owned(),
        RunOutcome::Failed { why } => format!("failed: {why}"),
    };
    let said = format!("{}: {said}", ago(run.due_at));
    match schedule.left_out_at.filter(|at| *at > run.due_at) {
        Some(at) => format!("{said}; left out {}, for it had not ended", ago(at)),
        None => said,
    }
}

fn style(schedule: &Schedule) -> Style {
    match schedule.last.as_ref().map(|run| &run.outcome) {
        Some(RunOutcome::Failed { .. }) => Style::new().red(),
        _ => Style::new(),
    }
}
