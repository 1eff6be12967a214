//! Jobs: every step is taken once, from where it can be, and is in the log, the audit and the events.

use std::time::Duration;

use countersign_core::event::EventBody;
use countersign_core::id::{SessionId, TurnId};
use countersign_core::job::{
    Access, FailureCode, Job, JobFailure, JobId, JobKind, JobLimits, JobState, JobStep, JobUsage,
    OnAsk, Worktree, WorktreeFate,
};
use serde_json::json;

use super::backend::each_backend;
use super::scene::{Scene, at};
use crate::{Busy, JobEnd, JobFilter, Queue, Store};

fn job(scene: &Scene, number: u32) -> Job {
    let made = at(u64::from(number));
    Job {
        id: format!("task-aaaaaa-a{number:05}").parse().unwrap(),
        kind: JobKind::Task,
        workspace: scene.workspace,
        by: scene.ada.clone(),
        group: None,
        title: "fix the build".to_owned(),
        prompt: "fix the build, please".to_owned(),
        engine: "opencode".to_owned(),
        model: Some("stub/stub".to_owned()),
        agent: None,
        mode: None,
        effort: None,
        on_ask: OnAsk::Wait,
        access: Access::Write,
        resume: None,
        directory: "/home/ada/project".to_owned(),
        wants_worktree: false,
        worktree: None,
        priority: 0,
        limits: JobLimits {
            ask_expires_seconds: 60,
            deadline_seconds: Some(3_600),
            idle_limit_seconds: 600,
        },
        state: JobState::Queued,
        failure: None,
        cancelled_by: None,
        cancel_wished_at: None,
        session: None,
        turn: None,
        result: None,
        changed_files: Vec::new(),
        usage: None,
        created_at: made,
        started_at: None,
        changed_at: made,
        ended_at: None,
    }
}

async fn handed_in(scene: &Scene, number: u32) -> Job {
    let job = job(scene, number);
    let nothing = json!([]);
    let handed_in = scene.store.hand_in_job(&job, &nothing, job.created_at);
    let (job, fresh) = handed_in.await.unwrap();
    assert!(fresh);
    job
}

/// A job whose prompt is written down.
async fn running(scene: &Scene, number: u32) -> (Job, TurnId) {
    let job = handed_in(scene, number).await;
    let turn = TurnId::generate(at(20));
    let store = &scene.store;
    let started = store.start_job(&job.id, scene.session, turn, at(20));
    assert!(started.await.unwrap());
    store
        .begin_turn(scene.workspace, scene.turn(turn), &scene.ada, at(21))
        .await
        .unwrap();
    let ran = store.advance_job(&job.id, JobStep::Run, "sent", at(22));
    assert!(ran.await.unwrap());
    (job, turn)
}

async fn states_announced(store: &Store, id: &JobId) -> Vec<JobState> {
    let events = store.events_after(0, 1_000).await.unwrap();
    events
        .into_iter()
        .filter_map(|event| {
            let EventBody::JobChanged { job, state, .. } = event.body else {
                return None;
            };
            (job == *id).then_some(state)
        })
        .collect()
}

#[tokio::test]
async fn what_is_handed_in_is_read_back_and_a_repetition_changes_nothing() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let job = handed_in(&scene, 1).await;
        assert_eq!(store.job(&job.id).await.unwrap(), Some(job.clone()));
        let other = Job {
            prompt: "something else".to_owned(),
            ..job.clone()
        };
        let (known, fresh) = store.hand_in_job(&other, &json!([]), at(2)).await.unwrap();
        assert!(!fresh);
        assert_eq!(known, job);
        assert_eq!(states_announced(&store, &job.id).await, [JobState::Queued]);
    })
    .await;
}

#[tokio::test]
async fn every_step_is_in_the_log_the_audit_and_the_events() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let (job, _) = running(&scene, 1).await;
        for (step, cause) in [(JobStep::Wait, "waits"), (JobStep::GoOn, "goes on")] {
            assert!(
                store
                    .advance_job(&job.id, step, cause, at(30))
                    .await
                    .unwrap()
            );
            // A second time there is nothing to do.
            assert!(
                !store
                    .advance_job(&job.id, step, cause, at(30))
                    .await
                    .unwrap()
            );
        }
        let end = JobEnd {
            result: Some("done".to_owned()),
            ..JobEnd::default()
        };
        assert!(store.end_job(&job.id, &end, at(40)).await.unwrap());
        assert!(!store.end_job(&job.id, &end, at(41)).await.unwrap());
        let ended = store.job(&job.id).await.unwrap().unwrap();
        assert_eq!(ended.state, JobState::Completed);
        assert_eq!(ended.result.as_deref(), Some("done"));
        assert_eq!(ended.ended_at, Some(at(40)));

        let steps = [
            JobState::Queued,
            JobState::Starting,
            JobState::Running,
            JobState::Waiting,
            JobState::Running,
            JobState::Completed,
        ];
        assert_eq!(states_announced(&store, &job.id).await, steps);
        let log = store.job_log(&job.id, 0, 100).await.unwrap();
        let logged: Vec<JobState> = log.iter().map(|entry| entry.state).collect();
        assert_eq!(logged, steps);
        assert_eq!(log.last().unwrap().text, "completed");
        assert_eq!(store.job_log(&job.id, 5, 100).await.unwrap().len(), 1);
        let verdicts = store.verify_audit().await.unwrap();
        assert!(verdicts.iter().all(|verdict| verdict.outcome.is_ok()));
    })
    .await;
}

#[tokio::test]
async fn a_job_that_has_ended_stays_as_it_is() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let (job, _) = running(&scene, 1).await;
        let failed = JobEnd {
            failure: Some(JobFailure::new(FailureCode::Provider, "no credit")),
            result: Some("half of it".to_owned()),
            ..JobEnd::default()
        };
        assert!(store.end_job(&job.id, &failed, at(40)).await.unwrap());
        for step in JobStep::ALL {
            assert!(
                !store
                    .advance_job(&job.id, step, "again", at(41))
                    .await
                    .unwrap()
            );
        }
        assert!(
            !store
                .end_job(&job.id, &JobEnd::default(), at(41))
                .await
                .unwrap()
        );
        assert!(
            !store
                .wish_job_cancelled(&job.id, &scene.bob, at(41))
                .await
                .unwrap()
        );
        let job = store.job(&job.id).await.unwrap().unwrap();
        assert_eq!(job.state, JobState::Failed);
        assert_eq!(job.failure.unwrap().message, "no credit");
        assert_eq!(job.result.as_deref(), Some("half of it"));
        assert_eq!(job.cancelled_by, None);
    })
    .await;
}

#[tokio::test]
async fn who_cancels_a_queued_job_ends_it_and_it_is_never_started() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let job = handed_in(&scene, 1).await;
        assert!(
            store
                .wish_job_cancelled(&job.id, &scene.bob, at(2))
                .await
                .unwrap()
        );
        let ended = store.job(&job.id).await.unwrap().unwrap();
        assert_eq!(ended.state, JobState::Cancelled);
        assert_eq!(ended.cancelled_by.as_deref(), Some("bob"));
        let (session, turn) = (SessionId::generate(at(3)), TurnId::generate(at(3)));
        assert!(
            !store
                .start_job(&job.id, session, turn, at(3))
                .await
                .unwrap()
        );
        // One that runs is only wished to end.
        let (running, _) = running(&scene, 2).await;
        assert!(
            store
                .wish_job_cancelled(&running.id, &scene.bob, at(30))
                .await
                .unwrap()
        );
        let wished = store.job(&running.id).await.unwrap().unwrap();
        assert_eq!(wished.state, JobState::Running);
        assert_eq!(wished.cancel_wished_at, Some(at(30)));
    })
    .await;
}

#[tokio::test]
async fn a_queue_gives_the_most_urgent_first_and_then_the_oldest() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        for (number, priority) in [(1, 0), (2, 5), (3, 0), (4, 5)] {
            let job = Job {
                priority,
                ..job(&scene, number)
            };
            store
                .hand_in_job(&job, &json!([]), job.created_at)
                .await
                .unwrap();
        }
        let queue = Queue {
            workspace: scene.workspace,
            engine: "opencode".to_owned(),
        };
        assert_eq!(store.queues().await.unwrap(), std::slice::from_ref(&queue));
        let next = store.queued_jobs(&queue, 10).await.unwrap();
        let order: Vec<&str> = next.iter().map(|job| job.id.as_str()).collect();
        let expected =
            ["a00002", "a00004", "a00001", "a00003"].map(|it| format!("task-aaaaaa-{it}"));
        assert_eq!(order, expected);
        for (place, job) in (0..).zip(&next) {
            assert_eq!(store.queue_place(job).await.unwrap(), place);
        }
        let (session, turn) = (SessionId::generate(at(9)), TurnId::generate(at(9)));
        assert!(
            store
                .start_job(&next[0].id, session, turn, at(9))
                .await
                .unwrap()
        );
        let busy = Busy {
            workspace: scene.workspace,
            engine: "opencode".to_owned(),
            count: 1,
        };
        assert_eq!(store.busy_places().await.unwrap(), [busy]);
        assert_eq!(store.active_jobs().await.unwrap().len(), 1);
        assert_eq!(store.count_unended_jobs().await.unwrap(), 4);
        assert_eq!(
            store.workspaces_with_jobs().await.unwrap(),
            [scene.workspace]
        );
    })
    .await;
}

#[tokio::test]
async fn jobs_are_listed_by_what_is_known_of_them_and_found_by_their_beginning() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        for number in 1..=6 {
            let job = Job {
                group: (number % 2 == 0).then(|| "claude".to_owned()),
                prompt: "x".repeat(2_000),
                ..job(&scene, number)
            };
            store
                .hand_in_job(&job, &json!([]), job.created_at)
                .await
                .unwrap();
        }
        let ids = async |filter: JobFilter| -> Vec<String> {
            let jobs = store.jobs(&filter, 100).await.unwrap();
            assert!(jobs.iter().all(|job| job.prompt.len() == 500));
            jobs.iter()
                .map(|job| job.id.as_str()[13..].to_owned())
                .collect()
        };
        assert_eq!(
            ids(JobFilter::default()).await,
            ["00006", "00005", "00004", "00003", "00002", "00001"]
        );
        let group = JobFilter {
            group: Some("claude".to_owned()),
            ..JobFilter::default()
        };
        assert_eq!(ids(group.clone()).await, ["00006", "00004", "00002"]);
        let before = JobFilter {
            before: Some("task-aaaaaa-a00004".parse().unwrap()),
            ..group
        };
        assert_eq!(ids(before).await, ["00002"]);
        let workspace = JobFilter {
            workspace: Some(scene.workspace),
            state: Some(JobState::Queued),
            ..JobFilter::default()
        };
        assert_eq!(ids(workspace).await.len(), 6);
        let running = JobFilter {
            state: Some(JobState::Running),
            ..JobFilter::default()
        };
        assert_eq!(ids(running).await.len(), 0);
        assert_eq!(
            store.job_ids("task-aaaaaa-a0000", 10).await.unwrap().len(),
            6
        );
        assert_eq!(
            store.job_ids("task-aaaaaa-a00003", 10).await.unwrap().len(),
            1
        );
        assert_eq!(store.job_ids("task-b", 10).await.unwrap().len(), 0);
    })
    .await;
}

#[tokio::test]
async fn the_asks_of_a_job_run_out_even_where_asks_do_not() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let before = scene.open_command("per_1", "ls").await;
        assert_eq!(before.expires_at, None);
        let (job, _) = running(&scene, 1).await;
        let ask = store
            .open_ask(scene.command("per_2", "rm"), at(50))
            .await
            .unwrap()
            .into_ask();
        assert_eq!(ask.expires_at, Some(at(50).after(Duration::from_mins(1))));
        let family = store.open_asks_of_family(scene.session).await.unwrap();
        assert_eq!(family.len(), 2);
        store
            .end_job(&job.id, &JobEnd::default(), at(55))
            .await
            .unwrap();
        let after = store
            .open_ask(scene.command("per_3", "ls"), at(60))
            .await
            .unwrap()
            .into_ask();
        assert_eq!(after.expires_at, None);
    })
    .await;
}

#[tokio::test]
async fn the_turn_of_a_job_is_sent_again_once_if_its_engine_died_and_no_other_is() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let (job, turn) = running(&scene, 1).await;
        store.mark_turn_sent(turn, at(23)).await.unwrap();
        let unsent = async || {
            store
                .unsent_turns(scene.workspace, "opencode")
                .await
                .unwrap()
                .len()
        };
        assert_eq!(unsent().await, 0);
        assert!(!store.is_to_be_resumed(turn).await.unwrap());
        assert!(
            store
                .resume_job_turn(turn, "it died", at(30))
                .await
                .unwrap()
        );
        assert!(store.is_to_be_resumed(turn).await.unwrap());
        assert_eq!(unsent().await, 1);
        store.mark_turn_sent(turn, at(31)).await.unwrap();
        assert!(!store.is_to_be_resumed(turn).await.unwrap());
        assert!(
            !store
                .resume_job_turn(turn, "it died again", at(40))
                .await
                .unwrap()
        );
        assert_eq!(unsent().await, 0);
        let log = store.job_log(&job.id, 0, 100).await.unwrap();
        assert!(log.last().unwrap().text.starts_with("it died"), "{log:?}");

        // Somebody's own turn is theirs to say again.
        let own = TurnId::generate(at(41));
        store
            .begin_turn(scene.workspace, scene.turn(own), &scene.ada, at(41))
            .await
            .unwrap();
        store.mark_turn_sent(own, at(42)).await.unwrap();
        assert!(!store.resume_job_turn(own, "it died", at(43)).await.unwrap());
    })
    .await;
}

#[tokio::test]
async fn a_worktree_is_written_down_with_what_became_of_it() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let job = handed_in(&scene, 1).await;
        let worktree = Worktree {
            path: "/data/worktrees/1".to_owned(),
            branch: "countersign/1".to_owned(),
            base: "0123".to_owned(),
            fate: WorktreeFate::Open,
        };
        store
            .set_worktree(&job.id, &worktree, None, "made", at(5))
            .await
            .unwrap();
        let kept = Worktree {
            fate: WorktreeFate::Kept,
            ..worktree
        };
        store
            .set_worktree(&job.id, &kept, Some(&scene.ada), "kept", at(6))
            .await
            .unwrap();
        let job = store.job(&job.id).await.unwrap().unwrap();
        assert_eq!(job.directory, "/data/worktrees/1");
        assert_eq!(job.worktree, Some(kept));
    })
    .await;
}

#[tokio::test]
async fn a_job_is_moved_within_its_queue_until_it_is_started() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let (first, second) = (handed_in(&scene, 1).await, handed_in(&scene, 2).await);
        let queue = Queue {
            workspace: scene.workspace,
            engine: "opencode".to_owned(),
        };
        let order = async || {
            let jobs = store.queued_jobs(&queue, 10).await.unwrap();
            jobs.into_iter().map(|job| job.id).collect::<Vec<_>>()
        };
        assert_eq!(order().await, [first.id.clone(), second.id.clone()]);
        let moved = store.set_job_priority(&second.id, 1, &scene.bob, at(5));
        assert!(moved.await.unwrap());
        assert_eq!(order().await, [second.id.clone(), first.id.clone()]);
        let log = store.job_log(&second.id, 0, 10).await.unwrap();
        assert_eq!(log.last().unwrap().text, "bob gave it the priority 1");

        let turn = TurnId::generate(at(20));
        let started = store.start_job(&second.id, scene.session, turn, at(20));
        assert!(started.await.unwrap());
        let moved = store.set_job_priority(&second.id, 2, &scene.bob, at(21));
        assert!(!moved.await.unwrap());
    })
    .await;
}

#[tokio::test]
async fn what_has_not_ended_is_found_however_old_and_what_a_turn_used_up_stays_with_its_job() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let (old, turn) = running(&scene, 1).await;
        let waits = handed_in(&scene, 2).await;
        let newest = handed_in(&scene, 3).await;
        let older = async |filter: JobFilter| -> Vec<JobId> {
            let jobs = store.unended_jobs_before(&filter, &newest, 10).await;
            jobs.unwrap().into_iter().map(|job| job.id).collect()
        };
        let all = [waits.id.clone(), old.id.clone()];
        assert_eq!(older(JobFilter::default()).await, all);
        let group = JobFilter {
            group: Some("claude".to_owned()),
            ..JobFilter::default()
        };
        assert!(older(group).await.is_empty());

        assert!(store.is_of_job(turn).await.unwrap());
        assert!(!store.is_of_job(TurnId::generate(at(30))).await.unwrap());
        let used = JobUsage {
            input_tokens: Some(7),
            ..JobUsage::default()
        };
        store.note_job_usage(turn, &used).await.unwrap();
        let ended = store.end_job(&old.id, &JobEnd::default(), at(40)).await;
        assert!(ended.unwrap());
        let ended = store.job(&old.id).await.unwrap().unwrap();
        assert_eq!(ended.usage, Some(used));
        let here = JobFilter {
            workspace: Some(scene.workspace),
            ..JobFilter::default()
        };
        assert_eq!(older(here).await, std::slice::from_ref(&waits.id));
    })
    .await;
}

#[tokio::test]
async fn the_effort_of_a_job_is_that_of_its_turn() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let (_, turn) = running(&scene, 1).await;
        assert_eq!(store.effort_of_turn(turn).await.unwrap(), None);
        let job = Job {
            effort: Some("high".to_owned()),
            ..job(&scene, 2)
        };
        store
            .hand_in_job(&job, &json!([]), job.created_at)
            .await
            .unwrap();
        let turn = TurnId::generate(at(30));
        let started = store.start_job(&job.id, scene.session, turn, at(30));
        assert!(started.await.unwrap());
        let effort = store.effort_of_turn(turn).await.unwrap();
        assert_eq!(effort.as_deref(), Some("high"));
    })
    .await;
}
