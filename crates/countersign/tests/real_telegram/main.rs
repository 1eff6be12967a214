//! The Telegram bridge from end to end: people in a group or alone with the bot, and agents that ask. The platform is a fake
//! that a bot library is run against too, and an emulator of other people for what that has.

mod emulated;
mod stage;

use countersign_testkit::telegram::{BOT_NAME, Group, TOKEN};
use countersign_testkit::test_server::{Engine, PATIENCE, Setup, mortal_agent};
use countersign_testkit::{HttpFault, StubModel, eventually};
use serde_json::{Value, json};

use crate::stage::{ALICE, BINARY, CHAT, MALLORY, Stage, replies};

#[tokio::test]
async fn an_approvers_press_runs_the_tool_and_a_strangers_does_nothing() {
    let stage = Stage::demo(Group::Super, "").await;
    let root = stage.mention(ALICE, "RUN touch made && echo it-is-$((3 + 4))");
    let card = stage.card("touch made").await;
    assert_eq!(card.thread, Some(replies(root)));

    // A stranger's press is refused, where only they see it, and changes nothing.
    stage.press(MALLORY, &card, "Allow");
    stage.whispered(MALLORY, "not among the approvers").await;
    stage.fake.press(MALLORY, CHAT, card.id, "p:00000000:0");
    stage.whispered(MALLORY, "no open ask of ours").await;
    let by_words = format!("/allow@{BOT_NAME} 1");
    stage
        .fake
        .say(MALLORY, CHAT, Some(&replies(root)), &by_words);
    let whispers = || stage.fake.said(MALLORY);
    eventually(PATIENCE, "Mallory is told again", async || {
        let told = whispers();
        told.iter()
            .any(|it| it.words.contains("not among"))
            .then_some(())
    })
    .await;
    let ask = stage.open_ask().await;
    assert_eq!(ask["state"], "open");
    assert!(!stage.has("made"));

    stage.press(ALICE, &card, "Allow");
    stage.is_made("made").await;
    stage
        .card_says(&card, "by alice on Telegram. Delivered.")
        .await;
    stage.thread_says(&replies(root), "it-is-7").await;
    stage.is_marked(root, "👍").await;
    let settled = stage.server.api().ask(ask["id"].as_str().unwrap()).await;
    assert_eq!(settled["answer"]["surface"], "telegram", "{settled}");
    assert_eq!(settled["answer"]["by"]["name"], "alice", "{settled}");

    // A click that comes too late gets an answer, and changes nothing.
    stage.press(ALICE, &card, "Deny");
    stage.whispered(ALICE, "by alice on Telegram").await;
    assert_eq!(stage.fake.unanswered(), 0);

    // A follow-up in the thread needs no mention, and goes on in the same session.
    let reply = format!("reply:{}", card.id);
    stage.fake.say(ALICE, CHAT, Some(&reply), "SAY once-more");
    stage.thread_says(&replies(root), "once-more").await;
    let sessions = stage.server.api().get("/api/v1/sessions").await;
    assert_eq!(sessions["sessions"].as_array().unwrap().len(), 1);
    stage.assert_well_behaved();
}

#[tokio::test]
async fn a_forum_has_a_topic_for_each_session_with_its_asks_files_and_commands() {
    let stage = Stage::demo(Group::Forum, "files = 'out'\n").await;
    stage.mention(ALICE, "RUN mkdir out && echo hello > out/report.txt");
    let card = stage.card("mkdir out").await;
    let topic = card.thread.clone().unwrap();
    assert!(topic.starts_with("topic:"), "{topic}");
    // A text command goes before what waits for it.
    stage.fake.say(ALICE, CHAT, Some(&topic), "SAY after-it");
    stage.thread_says(&topic, "Your message waits").await;
    stage.fake.say(ALICE, CHAT, Some(&topic), "/allow");
    stage.card_says(&card, "Delivered.").await;
    stage.thread_says(&topic, "after-it").await;
    let file = eventually(PATIENCE, "the file comes", async || {
        let mut said = stage.fake.said(CHAT).into_iter();
        said.find_map(|said| said.file.filter(|_| said.thread.as_ref() == Some(&topic)))
    })
    .await;
    assert_eq!(file, ("report.txt".to_owned(), b"hello\n".to_vec()));
    stage.assert_well_behaved();
}

#[tokio::test]
async fn a_card_shows_what_will_run_whatever_it_is_and_pings_nobody() {
    let stage = Stage::demo(Group::Super, "").await;
    let long = "x".repeat(100_000);
    let command = format!(
        "echo '\u{202E}\u{1b}[2K @everyone @alice /allow <a href=\"tg://user?id=7\">' '{long}' && touch danger"
    );
    // A message of Telegram does not hold so much: what the thread began goes on from elsewhere.
    let root = stage.mention(ALICE, "SAY hello");
    stage.is_marked(root, "👍").await;
    let api = stage.server.api();
    let sessions = api.get("/api/v1/sessions").await;
    let session = sessions["sessions"][0]["id"].as_str().unwrap();
    api.prompt(session, &format!("RUN {command}")).await;
    let card = stage.card("characters").await;
    let words = &card.words;
    let seen = "⟨U+202E⟩⟨U+001B⟩[2K @everyone @alice /allow <a href=\"tg://user?id=7\">";
    assert!(words.contains(seen), "{words}");
    assert!(words.contains("&& touch danger"), "{words}");
    assert!(words.encode_utf16().count() <= 4_096);
    // The approver is called by us; nothing in the command calls anybody, or is said by tapping on it.
    assert_eq!(card.pings, [ALICE.to_string()]);
    assert_eq!(card.tappable, [] as [&str; 0]);
    let (_, whole) = eventually(PATIENCE, "all of it is in a file", async || {
        let mut said = stage.fake.said(CHAT).into_iter();
        said.find_map(|said| said.file)
    })
    .await;
    let shown = command
        .replace('\u{202E}', "⟨U+202E⟩")
        .replace('\u{1b}', "⟨U+001B⟩");
    assert_eq!(String::from_utf8(whole).unwrap(), shown);
    stage.assert_well_behaved();
}

#[tokio::test]
async fn what_happens_while_the_server_is_killed_counts_when_it_is_back() {
    let mut stage = Stage::demo(Group::Super, "").await;
    let root = stage.mention(ALICE, "RUN touch after-the-kill");
    let card = stage.card("touch after-the-kill").await;
    // What is said after the card shows that the bridge knows what it is called. A kill before that gives a second card.
    stage.fake.say(ALICE, CHAT, Some(&replies(root)), "/jobs");
    stage
        .thread_says(&replies(root), "There are no jobs.")
        .await;
    stage.server.kill();
    stage.press(ALICE, &card, "Allow");
    let later = stage.mention(ALICE, "SAY said-meanwhile");
    stage.server.restart().await;
    stage.is_made("after-the-kill").await;
    stage.card_says(&card, "Delivered.").await;
    stage.thread_says(&replies(later), "said-meanwhile").await;
    stage.is_marked(later, "👍").await;
    assert_eq!(stage.said_in(&replies(later)).len(), 1);
    assert_eq!(stage.fake.unanswered(), 0);
    stage.assert_well_behaved();
}

#[tokio::test]
async fn trouble_of_every_kind_loses_nothing_keeps_the_order_and_doubles_nothing_unsaid() {
    let stage = Stage::demo(Group::Super, "").await;
    let too_many = json!({
        "ok": false, "error_code": 429, "description": "Too Many Requests: retry after 1",
        "parameters": {"retry_after": 1},
    });
    let wait = HttpFault::TooMany {
        retry_after: 0,
        body: too_many.to_string(),
    };
    let troubles = [
        wait,
        HttpFault::Broken,
        HttpFault::ResponseLost,
        HttpFault::Dropped,
    ];
    let count = troubles.len();
    stage.faults.plan("POST", "/sendMessage", troubles);
    let root = stage.mention(ALICE, "SAY first");
    let thread = replies(root);
    for text in ["SAY second", "SAY third"] {
        stage.fake.say(ALICE, CHAT, Some(&thread), text);
    }
    stage.thread_says(&thread, "third").await;
    assert_eq!(stage.faults.met(), count);
    let said = stage.said_in(&thread);
    let at = |text: &str| said.iter().rposition(|words| words.contains(text));
    assert!(
        at("first") < at("second") && at("second") < at("third"),
        "{said:?}"
    );
    // Telegram cannot say whether something was said: what may be a repetition says so.
    let firsts: Vec<&String> = said
        .iter()
        .filter(|words| words.contains("first"))
        .collect();
    assert_eq!(firsts.len(), 2, "{said:?}");
    assert!(firsts[1].contains("may be a repetition"), "{said:?}");
    assert_eq!(said.len(), 4, "{said:?}");

    // What cannot be heard for a time is heard after it, once; what is delivered twice is one thing.
    let troubles = [
        HttpFault::Dropped,
        HttpFault::Broken,
        HttpFault::ResponseLost,
    ];
    stage.faults.plan("POST", "/getUpdates", troubles);
    let root = stage.mention(ALICE, "SAY heard");
    stage.thread_says(&replies(root), "heard").await;
    stage.fake.deliver_again();
    stage.is_marked(root, "👍").await;
    let last = stage.mention(ALICE, "SAY the-last");
    stage.thread_says(&replies(last), "the-last").await;
    assert_eq!(stage.said_in(&replies(root)).len(), 1);

    // A card that somebody deleted is not changed any more; the ask goes on without it.
    let root = stage.mention(ALICE, "RUN touch without-a-card");
    let card = stage.card("touch without-a-card").await;
    stage.fake.delete(CHAT, card.id);
    stage.fake.say(ALICE, CHAT, Some(&replies(root)), "/allow");
    stage.is_made("without-a-card").await;
    stage.is_marked(root, "👍").await;
    stage.assert_well_behaved();
}

#[tokio::test]
async fn an_agent_that_dies_is_an_error_with_its_last_words() {
    let agents = mortal_agent("out of memory, alas");
    let setup = Setup::new(BINARY, Engine::None);
    let stage = Stage::with(Group::Super, setup, &agents, "engine = 'mortal'\n").await;
    let root = stage.mention(ALICE, "die\nEXIT 3");
    stage.thread_says(&replies(root), "The turn failed").await;
    let said = stage.said_in(&replies(root)).join("\n");
    assert!(said.contains("out of memory, alas"), "{said}");
    stage.is_marked(root, "💔").await;
    stage.assert_well_behaved();
}

#[tokio::test]
async fn a_real_opencode_is_asked_answered_and_heard_in_the_thread() {
    let model = StubModel::start().await;
    let engine = Engine::Real {
        model: model.base_url(),
    };
    let setup = Setup::new(BINARY, engine);
    let stage = Stage::with(Group::Super, setup, "", "engine = 'opencode'\n").await;
    stage.server.api().wait_for_engine().await;
    let root = stage.mention(ALICE, "TOOL bash: touch once.txt && echo made-it");
    let card = stage.card("touch once.txt").await;
    let (yes, _) = card.buttons.first().unwrap().clone();
    stage.press(MALLORY, &card, &yes);
    stage.whispered(MALLORY, "not among the approvers").await;
    assert!(!stage.has("once.txt"));
    stage.press(ALICE, &card, &yes);
    stage.is_made("once.txt").await;
    stage
        .card_says(&card, "by alice on Telegram. Delivered.")
        .await;
    stage.is_marked(root, "👍").await;
    stage.thread_says(&replies(root), "made-it").await;
    stage.assert_well_behaved();
}

#[tokio::test]
async fn the_check_says_what_is_missing_and_never_the_token() {
    let stage = Stage::demo(Group::Forum, "approvers = []\n").await;
    stage.fake.forbid_topics();
    let config = stage.server.data().join("../config.toml");
    let config = config.to_str().unwrap();
    let checked = stage
        .server
        .cli(&["bridges", "check", "--json", "--config", config])
        .await;
    let found: Value = serde_json::from_str(&checked.stdout).unwrap();
    assert_eq!((checked.code, &found["ok"]), (1, &json!(false)), "{found}");
    let findings = found["bridges"][0]["findings"].as_array().unwrap();
    let problems: Vec<&str> = findings
        .iter()
        .filter_map(|it| it["problem"].as_str())
        .collect();
    assert_eq!(problems.len(), 2, "{found}");
    assert!(problems[0].contains("may not make topics"), "{found}");
    assert!(problems[1].contains("Nobody may answer"), "{found}");
    let secret = TOKEN.split(':').next_back().unwrap();
    assert!(!checked.stdout.contains(secret) && !checked.stderr.contains(secret));
    stage.assert_well_behaved();
}
