//! How Slack is followed: what is acknowledged when, what is read up, and which connection is left.

use countersign_bridges::adapter::{Failure, Happening, What};
use countersign_bridges::{Adapter as _, Batch, Intake};
use countersign_testkit::fake_slack::{ALICE, CHANNEL, MALLORY};
use countersign_testkit::{HttpFault, eventually};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::{OnFake, PATIENCE};

impl OnFake {
    /// An adapter that follows, and what it hands in; it is followed when this returns.
    pub(super) async fn following(&self, cursor: Option<String>) -> Following {
        let (intake, batches) = Intake::new();
        let follower = self.slack();
        let mut task = JoinSet::new();
        task.spawn(async move { follower.follow(cursor, &intake).await.map(drop) });
        let mut following = Following {
            task,
            batches,
            cursor: None,
        };
        // The first thing that is handed in says where it begins.
        let batch = following.next().await;
        following.take(batch);
        following
    }
}

/// An adapter that follows.
pub(super) struct Following {
    task: JoinSet<Result<(), Failure>>,
    batches: mpsc::Receiver<Batch>,
    cursor: Option<String>,
}

impl Following {
    pub(super) async fn next(&mut self) -> Batch {
        let next = tokio::time::timeout(PATIENCE, self.batches.recv()).await;
        next.expect("something comes in").expect("it is followed")
    }

    pub(super) fn take(&mut self, batch: Batch) -> Vec<Happening> {
        let happenings = batch.happenings.clone();
        self.cursor = batch.cursor.clone().or(self.cursor.take());
        batch.taken();
        happenings
    }

    /// What is said until `last`, in order, each once.
    async fn said_until(&mut self, last: &str) -> Vec<String> {
        let mut known: Vec<String> = Vec::new();
        let mut said: Vec<String> = Vec::new();
        while said.last().is_none_or(|said| said != last) {
            let batch = self.next().await;
            for happening in self.take(batch) {
                if known.contains(&happening.id) {
                    continue;
                }
                known.push(happening.id);
                if let What::Message { text, .. } = happening.what {
                    said.push(text);
                }
            }
        }
        said
    }

    /// Ends it as a failure of the platform does, and returns that.
    async fn failure(&mut self) -> Failure {
        while let Ok(Some(batch)) = tokio::time::timeout(PATIENCE, self.batches.recv()).await {
            self.take(batch);
        }
        let ended = self.task.join_next().await.expect("one follower").unwrap();
        ended.expect_err("it failed")
    }
}

#[tokio::test]
async fn nothing_is_acknowledged_before_it_is_durable() {
    let stage = OnFake::start();
    let mut following = stage.following(None).await;
    let direct = stage.slack.direct(ALICE);
    stage.slack.say(ALICE, &direct, None, "keep this");
    let batch = following.next().await;
    assert_eq!(stage.slack.unacknowledged(), 1);
    following.take(batch);
    eventually(PATIENCE, "it is acknowledged", async || {
        (stage.slack.unacknowledged() == 0).then_some(())
    })
    .await;
}

#[tokio::test]
async fn what_is_said_while_there_is_no_connection_is_read_up_in_order() {
    let stage = OnFake::start();
    let mut following = stage.following(None).await;
    let root = stage.slack.say(ALICE, CHANNEL, None, "a thread");
    stage.slack.say(ALICE, CHANNEL, None, "before");
    assert_eq!(following.said_until("before").await, ["a thread", "before"]);

    // The connection is cut: the follower says so, and the next one goes on where it was.
    stage.slack.cut();
    let direct = stage.slack.direct(MALLORY);
    for n in 0..3 {
        stage
            .slack
            .say(ALICE, CHANNEL, Some(&root), &format!("reply {n}"));
        stage
            .slack
            .say(MALLORY, &direct, None, &format!("direct {n}"));
    }
    stage.slack.say(ALICE, CHANNEL, None, "a new one");
    let failure = following.failure().await;
    assert!(matches!(failure, Failure::Unreached(_)), "{failure:?}");

    // What Slack does not give at once is waited for, and a word that comes meanwhile stays behind what was missed.
    let wait = || HttpFault::TooMany {
        retry_after: 1,
        body: json!({"ok": false, "error": "ratelimited"}).to_string(),
    };
    stage
        .faults
        .plan("GET", "conversations.history", [wait(), wait()]);
    let cursor = following.cursor.clone();
    let (intake, batches) = Intake::new();
    let follower = stage.slack();
    let mut next = Following {
        task: JoinSet::new(),
        batches,
        cursor: None,
    };
    next.task
        .spawn(async move { follower.follow(cursor, &intake).await.map(drop) });
    eventually(PATIENCE, "it is connected again", async || {
        (stage.slack.connections() == 1).then_some(())
    })
    .await;
    stage.slack.say(ALICE, CHANNEL, Some(&root), "reply 3");
    stage.slack.say(ALICE, CHANNEL, Some(&root), "the last");
    let mut said = next.said_until("the last").await;
    let of = |begin: &str| {
        let of = said.iter().filter(|said| said.starts_with(begin));
        of.cloned().collect::<Vec<_>>()
    };
    assert_eq!(of("reply"), ["reply 0", "reply 1", "reply 2", "reply 3"]);
    assert_eq!(of("a new one"), ["a new one"]);
    // Direct messages are read after the channel; they may come behind the last.
    if of("direct").len() < 3 {
        said.extend(next.said_until("direct 2").await);
    }
    let direct: Vec<&String> = said.iter().filter(|it| it.starts_with("direct")).collect();
    assert_eq!(direct, ["direct 0", "direct 1", "direct 2"]);
    assert_eq!(stage.faults.met(), 2);
    eventually(PATIENCE, "all that came is acknowledged", async || {
        while let Ok(batch) = next.batches.try_recv() {
            next.take(batch);
        }
        (stage.slack.unacknowledged() == 0).then_some(())
    })
    .await;
}

#[tokio::test]
async fn however_much_was_said_meanwhile_is_read_up_and_nothing_older() {
    let stage = OnFake::start();
    stage
        .slack
        .say(ALICE, CHANNEL, None, "before anybody followed");
    let mut following = stage.following(None).await;
    let root = stage.slack.say(ALICE, CHANNEL, None, "a thread");
    following.said_until("a thread").await;
    stage.slack.cut();
    following.failure().await;
    // Several pages of each.
    let expected: Vec<String> = (0..450).map(|n| format!("word {n}")).collect();
    for (n, word) in expected.iter().enumerate() {
        let thread = (n % 2 == 0).then_some(root.as_str());
        stage.slack.say(ALICE, CHANNEL, thread, word);
    }
    let mut next = stage.following(following.cursor.take()).await;
    stage.slack.say(ALICE, CHANNEL, None, "the end");
    let mut said = next.said_until("the end").await;
    said.retain(|said| said != "the end");
    assert!(!said.contains(&"before anybody followed".to_owned()));
    // The first batch, which has the first hundred, was taken when it was followed again.
    assert_eq!(said, expected[expected.len() - said.len()..]);
    assert!(said.len() >= 350, "{}", said.len());
}

#[tokio::test]
async fn a_connection_that_is_to_be_renewed_is_renewed_and_a_silent_one_is_left() {
    let stage = OnFake::start();
    stage.slack.deliver_twice();
    let mut following = stage.following(None).await;
    stage.slack.say(ALICE, CHANNEL, None, "one");
    assert_eq!(following.said_until("one").await, ["one"]);
    stage.slack.ask_to_reconnect();
    eventually(PATIENCE, "there is another connection", async || {
        while let Ok(batch) = following.batches.try_recv() {
            following.take(batch);
        }
        (stage.slack.connected() == 2 && stage.slack.connections() == 1).then_some(())
    })
    .await;
    stage.slack.say(ALICE, CHANNEL, None, "two");
    let said = following.said_until("two").await;
    assert_eq!(said.last().map(String::as_str), Some("two"));

    stage.slack.fall_silent();
    let failure = following.failure().await;
    assert!(
        matches!(&failure, Failure::Unreached(why) if why.contains("silent")),
        "{failure:?}"
    );
}
