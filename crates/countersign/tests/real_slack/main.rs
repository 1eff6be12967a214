//! The Slack bridge from end to end: a Slack of our own on which Slack's own Bolt runs too, two people and the bot, and agents
//! that ask.

mod stage;

use countersign_testkit::fake_slack::{
    ALICE, APP_TOKEN, BOT, BOT_TOKEN, CHANNEL, MALLORY, pings, words,
};
use countersign_testkit::test_server::{Engine, PATIENCE, Setup};
use countersign_testkit::{HttpFault, StubModel, eventually, peers};
use serde_json::{Value, json};

use crate::stage::{BINARY, Stage, token};

#[tokio::test]
async fn an_approvers_press_runs_the_tool_and_a_strangers_does_nothing() {
    let stage = Stage::demo("files = 'out'\n").await;
    // Whatever is delivered twice is one thing.
    stage.slack.deliver_twice();
    let run = "RUN mkdir out && echo hello > out/report.txt && echo it-is-$((3 + 4))";
    let root = stage.mention(ALICE, run);
    let card = stage.card(CHANNEL, Some(&root), "mkdir out && echo").await;
    assert_eq!(pings(&card), [ALICE]);

    // A stranger's press is refused, where only they see it, and changes nothing.
    stage.press(MALLORY, CHANNEL, &card, "Allow");
    stage.whispered(MALLORY, "not among the approvers").await;
    let by_words = format!("!allow {} 1", token(&card));
    stage.reply(MALLORY, &root, &by_words);
    stage
        .slack
        .slash(MALLORY, CHANNEL, by_words.trim_start_matches('!'));
    eventually(PATIENCE, "words are refused as well", async || {
        (stage.slack.whispers(MALLORY).len() >= 3).then_some(())
    })
    .await;
    let ask = stage.open_ask().await;
    assert_eq!(ask["state"], "open");
    assert!(!stage.has("out"));

    stage.press(ALICE, CHANNEL, &card, "Allow");
    stage.is_made("out/report.txt").await;
    stage
        .card_says(CHANNEL, &card, "by alice on Slack. Delivered.")
        .await;
    stage.thread_says(&root, "it-is-7").await;
    stage.is_marked(&root, "white_check_mark").await;
    assert_eq!(stage.file(&root).await, "hello\n");
    let path = format!("/api/v1/asks/{}", ask["id"].as_str().unwrap());
    let settled = stage.server.api().get(&path).await;
    assert_eq!(settled["answer"]["surface"], "slack", "{settled}");
    assert_eq!(settled["answer"]["by"]["name"], "alice", "{settled}");

    // A press that comes too late gets an answer, and changes nothing.
    stage.press(ALICE, CHANNEL, &card, "Deny");
    stage.whispered(ALICE, "by alice on Slack").await;

    // A follow-up in the thread needs no mention, and goes on in the same session.
    stage.reply(ALICE, &root, "SAY once-more");
    stage.thread_says(&root, "once-more").await;
    let sessions = stage.server.api().get("/api/v1/sessions").await;
    assert_eq!(sessions["sessions"].as_array().unwrap().len(), 1);
    is_said_once(&stage, &root);
}

#[tokio::test]
async fn a_card_shows_what_will_run_whatever_it_is_and_pings_nobody() {
    let stage = Stage::demo("").await;
    let long = "x".repeat(100_000);
    let command = format!(
        "echo '\u{202E}\u{1b}[2K <!everyone> <!channel> @here <@{MALLORY}> ``` & &lt;' '{long}' && touch danger"
    );
    let root = stage.mention(ALICE, "SAY hello");
    stage.is_marked(&root, "white_check_mark").await;
    let api = stage.server.api();
    let sessions = api.get("/api/v1/sessions").await;
    let session = sessions["sessions"][0]["id"].as_str().unwrap();
    api.prompt(session, &format!("RUN {command}")).await;
    let card = stage.card(CHANNEL, Some(&root), "characters").await;
    let body = words(&card);
    let head = format!("⟨U+202E⟩⟨U+001B⟩[2K <!everyone> <!channel> @here <@{MALLORY}> ``` & &lt;");
    assert!(body.contains(&head), "{body}");
    assert!(body.contains("&& touch danger"), "{body}");
    // The approver is called by us; nothing in the command calls anybody.
    assert_eq!(pings(&card), [ALICE]);
    let shown = command
        .replace('\u{202E}', "⟨U+202E⟩")
        .replace('\u{1b}', "⟨U+001B⟩");
    assert_eq!(stage.file(&root).await, shown);
    for message in stage.slack.of_app(CHANNEL, Some(&root)) {
        let called = pings(&message);
        assert!(called.iter().all(|it| it == ALICE), "{message}");
        assert_ne!(message["unfolds"], true, "{message}");
    }
}

#[tokio::test]
async fn buttons_outlive_a_kill_and_what_is_said_meanwhile_is_heard() {
    let mut stage = Stage::demo("").await;
    let root = stage.mention(ALICE, "RUN touch after-the-kill");
    let card = stage
        .card(CHANNEL, Some(&root), "touch after-the-kill")
        .await;
    stage.server.kill();
    let later = stage.mention(ALICE, "SAY said-meanwhile");
    stage.reply(ALICE, &root, "SAY in-the-thread");
    stage.server.restart().await;
    stage.is_followed(2).await;
    stage.thread_says(&later, "said-meanwhile").await;
    stage.press(ALICE, CHANNEL, &card, "Allow");
    stage.is_made("after-the-kill").await;
    stage.card_says(CHANNEL, &card, "Delivered.").await;
    stage.thread_says(&root, "in-the-thread").await;

    // The connection is cut: what is said before there is another one is heard then, and its cards can be pressed.
    stage.slack.cut();
    let missed = stage.mention(ALICE, "RUN touch after-the-cut");
    stage.is_followed(3).await;
    let card = stage
        .card(CHANNEL, Some(&missed), "touch after-the-cut")
        .await;
    stage.press(ALICE, CHANNEL, &card, "Allow");
    stage.is_made("after-the-cut").await;
    stage.card_says(CHANNEL, &card, "Delivered.").await;
    stage.is_marked(&missed, "white_check_mark").await;
    for root in [&root, &later, &missed] {
        is_said_once(&stage, root);
    }
}

#[tokio::test]
async fn trouble_of_every_kind_loses_nothing_doubles_nothing_and_keeps_the_order() {
    let stage = Stage::demo("").await;
    let wait = HttpFault::TooMany {
        retry_after: 1,
        body: json!({"ok": false, "error": "ratelimited"}).to_string(),
    };
    let troubles = [
        wait,
        HttpFault::Broken,
        HttpFault::ResponseLost,
        HttpFault::Dropped,
        HttpFault::ResponseLost,
    ];
    let count = troubles.len();
    stage.faults.plan("POST", "chat.postMessage", troubles);
    let root = stage.mention(ALICE, "SAY first");
    for text in ["SAY second", "SAY third"] {
        stage.reply(ALICE, &root, text);
    }
    stage.thread_says(&root, "third").await;
    assert_eq!(stage.faults.met(), count);
    let said = stage.said_in(&root);
    let said: Vec<&str> = said.iter().map(|words| words.trim()).collect();
    assert_eq!(said, ["first", "second", "third"]);

    // A card that somebody deleted is not changed any more; the ask goes on without it.
    let root = stage.mention(ALICE, "RUN touch without-a-card");
    let card = stage
        .card(CHANNEL, Some(&root), "touch without-a-card")
        .await;
    stage.slack.delete(CHANNEL, card["ts"].as_str().unwrap());
    stage.reply(ALICE, &root, "!allow");
    stage.is_made("without-a-card").await;
    stage.is_marked(&root, "white_check_mark").await;
}

#[tokio::test]
async fn asks_go_to_direct_messages_and_are_answered_there() {
    let stage = Stage::demo("asks = 'direct'\nremind_after_s = 1\n").await;
    let root = stage.mention(MALLORY, "RUN touch direct");
    let direct = stage.slack.direct(ALICE);
    let card = stage.card(&direct, None, "touch direct").await;
    stage
        .told_directly(&direct, "still waits for an answer")
        .await;
    stage.press(ALICE, &direct, &card, "Allow");
    stage.is_made("direct").await;
    stage
        .card_says(&direct, &card, "by alice on Slack. Delivered.")
        .await;
    stage.is_marked(&root, "white_check_mark").await;
    // A direct message is a conversation of its own, without any mention.
    stage.slack.say(ALICE, &direct, None, "SAY between-us");
    stage.told_directly(&direct, "between-us").await;
}

#[tokio::test]
async fn an_agent_that_dies_is_an_error_with_its_last_words() {
    let agent = peers::scripted_agent();
    let script = format!(
        "{}; code=$?; echo 'out of memory, alas' >&2; exit $code",
        agent.display()
    );
    let agents =
        format!("[[agents]]\nname = 'mortal'\ncommand = '/bin/sh'\nargs = ['-c', {script:?}]\n");
    let setup = Setup::new(BINARY, Engine::None);
    let stage = Stage::with(setup, &agents, "engine = 'mortal'\n").await;
    let root = stage.mention(ALICE, "die\nEXIT 3");
    stage.thread_says(&root, "The turn failed").await;
    let said = stage.said_in(&root).join("\n");
    assert!(said.contains("out of memory, alas"), "{said}");
    stage.is_marked(&root, "boom").await;
}

#[tokio::test]
async fn a_real_opencode_is_asked_answered_and_heard_in_the_thread() {
    let model = StubModel::start().await;
    let engine = Engine::Real {
        model: model.base_url(),
    };
    let setup = Setup::new(BINARY, engine);
    let stage = Stage::with(setup, "", "engine = 'opencode'\n").await;
    stage.server.api().wait_for_engine().await;
    let root = stage.mention(ALICE, "TOOL bash: touch once.txt && echo made-it");
    let card = stage.card(CHANNEL, Some(&root), "touch once.txt").await;
    stage.slack.press(MALLORY, CHANNEL, &card, 0);
    stage.whispered(MALLORY, "not among the approvers").await;
    assert!(!stage.has("once.txt"));
    stage.slack.press(ALICE, CHANNEL, &card, 0);
    stage.is_made("once.txt").await;
    stage
        .card_says(CHANNEL, &card, "by alice on Slack. Delivered.")
        .await;
    stage.is_marked(&root, "white_check_mark").await;
    assert!(
        stage.said_in(&root).len() > 1,
        "the card, and what was said"
    );
}

#[tokio::test]
async fn the_check_says_what_is_missing_and_no_secret_is_told() {
    let stage = Stage::demo("approvers = []\n").await;
    let config = stage.server.data().join("../config.toml");
    let config = config.to_str().unwrap();
    stage.slack.take_scope("files:write");
    stage.slack.remove_from_channel(BOT);
    let order = ["bridges", "check", "--json", "--config", config];
    let checked = stage.server.cli(&order).await;
    let found: Value = serde_json::from_str(&checked.stdout).unwrap();
    assert_eq!((checked.code, &found["ok"]), (1, &json!(false)), "{found}");
    let findings = found["bridges"][0]["findings"].as_array().unwrap();
    let problems = findings.iter().filter_map(|it| it["problem"].as_str());
    let problems: Vec<&str> = problems.collect();
    assert_eq!(problems.len(), 3, "{found}");
    for (problem, wanted) in problems
        .iter()
        .zip(["files:write", "not in it", "approvers"])
    {
        assert!(problem.contains(wanted), "{found}");
    }
    for text in [checked.stdout, stage.server.log()] {
        assert!(!text.contains(BOT_TOKEN) && !text.contains(APP_TOKEN));
        assert!(!text.contains("ticket"), "an address with a ticket is told");
    }
}

/// Nothing that the bot said in a thread was said twice in a row.
fn is_said_once(stage: &Stage, root: &str) {
    let said = stage.said_in(root);
    let mut once = said.clone();
    once.dedup();
    assert_eq!(said, once, "nothing is said twice");
    let repeated = said.iter().any(|it| it.contains("may be a repetition"));
    assert!(!repeated, "{said:?}");
}
