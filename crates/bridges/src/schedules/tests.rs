//! Scheduled prompts over a ledger, with a clock that the test sets and a platform that is not there.

use countersign_broker::{
    ChangeSettings, EngineChoice, ForeignAnswer, JobCaps, JobFilter, PushSettings, Settings,
};
use countersign_core::time::Clock;
use tempfile::TempDir;

use super::*;
use crate::settings::{AsksGo, BridgeSettings, ChannelSettings, Patience, People, Secret};

const CHANNEL: &str = "!room:example.org";

struct Stage {
    scheduler: Scheduler,
    clock: Clock,
    _directory: TempDir,
}

impl Stage {
    /// A server at midnight, with a bridge that reaches nobody.
    async fn new() -> Self {
        drop(countersign_testkit::http::client());
        let directory = tempfile::tempdir().unwrap();
        let work = directory.path().join("work");
        std::fs::create_dir(&work).unwrap();
        let clock = Clock::manual(at("2026-01-05T00:00:00Z"));
        let ledger = directory.path().join("ledger.db");
        let store = Store::open_sqlite(&ledger).await.unwrap();
        let settings = Settings {
            data_directory: directory.path().to_owned(),
            own_program: "/nonexistent".into(),
            owner_name: "ada".to_owned(),
            workspaces: vec![(work.to_string_lossy().into_owned(), "work".to_owned())],
            engine: EngineChoice::None,
            agents: Vec::new(),
            foreign_answer: ForeignAnswer::Abort,
            unasked_tools: vec![],
            ask_expiry: None,
            lonely_limit_s: 60,
            job_caps: JobCaps::default(),
            notify: Vec::new(),
            changes: ChangeSettings::default(),
            push: PushSettings::default(),
        };
        let broker = Broker::start(store.clone(), settings, clock.clone());
        let broker = broker.await.unwrap();
        let bridge = Bridge {
            adapter: crate::adapter_of(&matrix()).unwrap(),
            broker: broker.clone(),
            store: store.clone(),
            clock: clock.clone(),
            settings: matrix().into(),
            came: std::sync::Arc::default(),
            said: std::sync::Arc::default(),
            to_say: std::sync::Arc::default(),
            ending: CancellationToken::new(),
        };
        Self {
            scheduler: Scheduler::new(&broker, &store, vec![bridge], CancellationToken::new()),
            clock,
            _directory: directory,
        }
    }

    /// Lets time pass, and has the schedule looked at then.
    async fn after(&self, pause: Duration, settings: &ScheduleSettings) -> Schedule {
        self.clock.advance(pause);
        self.scheduler.look(settings).await.unwrap()
    }

    async fn jobs(&self) -> Vec<JobId> {
        let owner = self.scheduler.broker.local_owner();
        let jobs = self
            .scheduler
            .broker
            .jobs(&owner, JobFilter::default(), 100);
        let jobs = jobs.await.unwrap();
        jobs.into_iter().map(|context| context.job.id).collect()
    }
}

fn at(text: &str) -> Timestamp {
    serde_json::from_value(text.into()).unwrap()
}

fn matrix() -> BridgeSettings {
    BridgeSettings {
        platform: Platform::Matrix,
        url: Some("http://127.0.0.1:9".to_owned()),
        token: Secret::new("secret"),
        app_token: None,
        approvers: Vec::new(),
        people: People::Approvers,
        channels: vec![ChannelSettings {
            id: CHANNEL.to_owned(),
            workspace: None,
            engine: None,
            model: None,
            approvers: None,
            people: None,
            asks: AsksGo::Channel,
            workspace_asks: false,
            files: None,
            patience: Patience {
                remind_after: None,
                escalate_after: None,
            },
        }],
    }
}

fn hourly(to: To, missed: Missed) -> ScheduleSettings {
    ScheduleSettings {
        name: "hourly".to_owned(),
        cron: Cron::new("0 * * * *", "UTC", at("2026-01-05T00:00:00Z")).unwrap(),
        prompt: "RUN true".to_owned(),
        to,
        missed,
    }
}

fn job() -> To {
    To::Job(ScheduledJob {
        engine: Some("opencode".to_owned()),
        ..ScheduledJob::default()
    })
}

fn channel() -> To {
    To::Channel {
        platform: Platform::Matrix,
        channel: CHANNEL.to_owned(),
    }
}

const HALF_AN_HOUR: Duration = Duration::from_mins(30);
const HOUR: Duration = Duration::from_hours(1);

#[tokio::test]
async fn a_prompt_is_given_once_when_its_time_comes() {
    let stage = Stage::new().await;
    let settings = hourly(job(), Missed::RunOnce);
    let new = stage.after(HALF_AN_HOUR, &settings).await;
    assert_eq!(new.next_at, Some(at("2026-01-05T01:00:00Z")));
    assert_eq!(new.last, None, "what was due before it was made is not");
    let due = stage.after(HALF_AN_HOUR, &settings).await;
    let id = settings.job_id(at("2026-01-05T01:00:00Z"));
    let run = id.to_string();
    let outcome = due.last.unwrap().outcome;
    assert_eq!(outcome, RunOutcome::Begun { run });
    assert_eq!(due.next_at, Some(at("2026-01-05T02:00:00Z")));
    stage.after(Duration::from_secs(1), &settings).await;
    assert_eq!(stage.jobs().await, [id]);
}

#[tokio::test]
async fn a_server_that_was_killed_before_it_noted_a_run_does_not_give_it_twice() {
    for missed in [Missed::RunOnce, Missed::Skip] {
        let stage = Stage::new().await;
        let settings = hourly(job(), missed);
        stage.after(HALF_AN_HOUR, &settings).await;
        let due = at("2026-01-05T01:00:00Z");
        stage.clock.advance(HALF_AN_HOUR);
        stage.scheduler.begin(&settings, due).await.unwrap();
        // Here it is killed, and the next one comes half an hour later.
        let found = stage.after(HALF_AN_HOUR, &settings).await;
        let run = settings.job_id(due).to_string();
        assert_eq!(found.last.unwrap().outcome, RunOutcome::Begun { run });
        assert_eq!(stage.jobs().await.len(), 1);
    }
}

#[tokio::test]
async fn of_times_that_passed_without_a_server_the_last_one_counts_or_none() {
    for (missed, jobs) in [(Missed::RunOnce, 1), (Missed::Skip, 0)] {
        let stage = Stage::new().await;
        let settings = hourly(job(), missed);
        stage.after(HALF_AN_HOUR, &settings).await;
        let late = stage.after(5 * HOUR, &settings).await;
        let last = late.last.unwrap();
        assert_eq!(last.due_at, at("2026-01-05T05:00:00Z"));
        assert_eq!(last.outcome == RunOutcome::Missed, missed == Missed::Skip);
        assert_eq!(stage.jobs().await.len(), jobs);
        assert_eq!(late.next_at, Some(at("2026-01-05T06:00:00Z")));
    }
}

#[tokio::test]
async fn while_one_has_not_ended_the_next_is_left_out() {
    let stage = Stage::new().await;
    let settings = hourly(channel(), Missed::RunOnce);
    stage.after(HALF_AN_HOUR, &settings).await;
    let said = stage.after(HALF_AN_HOUR, &settings).await.last;
    let first = said.clone().unwrap();
    assert_eq!(first.outcome, RunOutcome::Announced);
    let later = stage.after(HOUR, &settings).await;
    assert_eq!(later.last, said, "the platform does not have it yet");
    assert_eq!(later.left_out_at, Some(at("2026-01-05T02:00:00Z")));

    // The platform has it: it becomes what somebody said there.
    let (store, id) = (&stage.scheduler.store, settings.happening_id(first.due_at));
    let [message] = store
        .chat_messages_about("matrix", &id)
        .await
        .unwrap()
        .try_into()
        .unwrap();
    let now = stage.clock.now();
    let said = store.mark_said(
        &message.id,
        message.version,
        Some("$event"),
        None,
        None,
        now,
    );
    said.await.unwrap();
    let begun = stage.after(Duration::from_secs(1), &settings).await;
    let run = id.clone();
    assert_eq!(begun.last.unwrap().outcome, RunOutcome::Begun { run });
    let [inbound] = store
        .waiting_inbound("matrix", 9)
        .await
        .unwrap()
        .try_into()
        .unwrap();
    assert_eq!(inbound.id, id);
    let happening: Happening = serde_json::from_str(&inbound.body).unwrap();
    let What::Message { message, text, .. } = happening.what else {
        panic!("it is no message");
    };
    assert_eq!((message.0.as_str(), text.as_str()), ("$event", "RUN true"));
    // Nobody has passed it on to an agent yet.
    let again = stage.after(HOUR, &settings).await;
    assert_eq!(again.left_out_at, Some(at("2026-01-05T03:00:00Z")));
    store.finish_inbound("matrix", &id).await.unwrap();
    let next = stage.after(HOUR, &settings).await;
    assert_eq!(next.last.unwrap().outcome, RunOutcome::Announced);
}

#[tokio::test]
async fn what_the_platform_will_never_have_does_not_keep_the_next_from_beginning() {
    let stage = Stage::new().await;
    let settings = hourly(channel(), Missed::RunOnce);
    stage.after(HALF_AN_HOUR, &settings).await;
    let first = stage.after(HALF_AN_HOUR, &settings).await.last.unwrap();
    let (store, id) = (&stage.scheduler.store, settings.happening_id(first.due_at));
    let messages = store.chat_messages_about("matrix", &id).await.unwrap();
    store
        .give_up_saying(&messages[0].id, "no such room")
        .await
        .unwrap();
    let failed = stage.after(Duration::from_secs(1), &settings).await;
    let why = "no such room".to_owned();
    assert_eq!(failed.last.unwrap().outcome, RunOutcome::Failed { why });
    let next = stage.after(HOUR, &settings).await;
    assert_eq!(next.last.unwrap().outcome, RunOutcome::Announced);
}

#[tokio::test]
async fn other_times_begin_now_and_what_is_named_no_more_is_due_no_more() {
    let stage = Stage::new().await;
    let mut settings = hourly(job(), Missed::RunOnce);
    stage.after(HALF_AN_HOUR, &settings).await;
    settings.cron = Cron::new("*/10 * * * *", "UTC", stage.clock.now()).unwrap();
    let other = stage.after(5 * HOUR, &settings).await;
    assert_eq!((other.last, stage.jobs().await.len()), (None, 0));
    stage.scheduler.retire(&[]).await.unwrap();
    let [known] = stage
        .scheduler
        .store
        .schedules()
        .await
        .unwrap()
        .try_into()
        .unwrap();
    assert_eq!(known.next_at, None);
}
