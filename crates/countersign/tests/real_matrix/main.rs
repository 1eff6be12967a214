//! The Matrix bridge from end to end: a real homeserver, two people and the bot, and agents that ask.

mod stage;

use std::time::Duration;

use countersign_testkit::test_server::{Engine, PATIENCE, Setup, mortal_agent};
use countersign_testkit::{HttpFault, StubModel, Synapse, eventually};
use serde_json::{Value, json};

use crate::stage::{BINARY, Stage, legend, token};

#[tokio::test]
async fn an_approvers_reaction_runs_the_tool_and_a_strangers_does_nothing() {
    let stage = Stage::demo("files = 'out'\n").await;
    let root = stage
        .mention(&stage.alice, "RUN touch made && echo it-is-$((3 + 4))")
        .await;
    let card = stage.card(&root, "touch made").await;
    let yes = legend(&card, "Allow");

    // A stranger's reaction is refused, where only they see it, and changes nothing.
    stage.mallory.react(&stage.room, id(&card), &yes).await;
    stage
        .whispered(&stage.mallory, "not among the approvers")
        .await;
    stage
        .mallory
        .say(&stage.room, Some(&root), "!allow", None)
        .await;
    stage
        .mallory
        .say(
            &stage.room,
            Some(&root),
            &format!("!allow {} 1", token(&card)),
            None,
        )
        .await;
    let ask = stage.open_ask().await;
    assert_eq!(ask["state"], "open");
    assert!(!stage.has("made"));

    stage.alice.react(&stage.room, id(&card), &yes).await;
    eventually(PATIENCE, "the tool runs", async || {
        stage.has("made").then_some(())
    })
    .await;
    stage
        .card_says(&card, "by alice on Matrix. Delivered.")
        .await;
    stage.thread_says(&root, "it-is-7").await;
    let settled = stage
        .server
        .api()
        .get(&format!("/api/v1/asks/{}", ask["id"].as_str().unwrap()))
        .await;
    assert_eq!(settled["answer"]["surface"], "matrix", "{settled}");
    assert_eq!(settled["answer"]["by"]["name"], "alice", "{settled}");

    // A click that comes too late gets an answer, and changes nothing.
    let no = legend(&card, "Deny");
    stage.alice.react(&stage.room, id(&card), &no).await;
    stage.whispered(&stage.alice, "by alice on Matrix").await;

    // A follow-up in the thread needs no mention, and goes on in the same session.
    stage
        .alice
        .say(&stage.room, Some(&root), "SAY once-more", None)
        .await;
    stage.thread_says(&root, "once-more").await;
    let sessions = stage.server.api().get("/api/v1/sessions").await;
    assert_eq!(sessions["sessions"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn what_is_scheduled_is_said_in_the_room_and_done_in_a_thread_or_as_a_job() {
    /// The next full minute, and what has to be done then on a busy machine.
    const SOON: Duration = Duration::from_mins(3);
    let schedules = "[[schedules]]\nname = 'call'\ncron = '* * * * *'\nprompt = 'SAY it-is-time'\n\
         bridge = 'matrix'\nchannel = 'ROOM'\n\
         [[schedules]]\nname = 'chore'\ncron = '* * * * *'\nprompt = 'SAY swept'\nengine = 'mine'\n";
    let stage = Stage::demo(schedules).await;
    let root = eventually(SOON, "it is said in the room", async || {
        let events = stage.alice.events(&stage.room).await;
        let is_call = |event: &&Value| {
            let body = event["content"]["body"].as_str().unwrap_or_default();
            event["sender"] == stage.bot.id.as_str() && body.contains("call: SAY it-is-time")
        };
        events
            .iter()
            .find(is_call)
            .map(|event| id(event).to_owned())
    })
    .await;
    stage.thread_says(&root, "it-is-time").await;
    let api = stage.server.api();
    eventually(SOON, "the chore is done", async || {
        let jobs = api.get("/api/v1/jobs?limit=10").await;
        let jobs = jobs["jobs"].as_array()?.clone();
        let is_done = |job: &Value| job["title"] == "chore" && job["state"] == "completed";
        jobs.iter().any(is_done).then_some(())
    })
    .await;
    let listed = api.get("/api/v1/schedules").await;
    for name in ["call", "chore"] {
        let schedules = listed["schedules"].as_array().unwrap();
        let found = schedules.iter().find(|it| it["name"] == name).unwrap();
        assert_eq!(found["last"]["outcome"]["kind"], "begun", "{found}");
        assert!(found["next_at"].is_string(), "{found}");
    }
}

#[tokio::test]
async fn what_is_answered_elsewhere_is_shown_and_words_and_files_find_their_thread() {
    let stage = Stage::demo("files = 'out'\n").await;
    // What is answered elsewhere is shown here.
    let root = stage.mention(&stage.alice, "RUN touch elsewhere").await;
    let card = stage.card(&root, "touch elsewhere").await;
    let ask = stage.open_ask().await;
    let answer = json!({"answer": "deny", "reason": "not now"});
    let api = stage.server.api();
    api.answer(ask["id"].as_str().unwrap(), &answer)
        .await
        .expect_success();
    stage.card_says(&card, "Denied (“not now”)").await;
    assert!(!stage.has("elsewhere"));

    // A text command goes before what waits for it.
    let root = stage.mention(&stage.alice, "RUN touch by-words").await;
    let card = stage.card(&root, "touch by-words").await;
    stage
        .alice
        .say(&stage.room, Some(&root), "SAY after-it", None)
        .await;
    stage.thread_says(&root, "Your message waits").await;
    stage
        .alice
        .say(&stage.room, Some(&root), "!allow", None)
        .await;
    eventually(PATIENCE, "the tool runs", async || {
        stage.has("by-words").then_some(())
    })
    .await;
    stage.card_says(&card, "Delivered.").await;
    stage.thread_says(&root, "after-it").await;

    // What the agent puts into the folder that is allowed comes into the thread.
    let root = stage
        .mention(&stage.alice, "RUN mkdir out && echo hello > out/report.txt")
        .await;
    stage.card(&root, "mkdir out").await;
    stage
        .alice
        .say(&stage.room, Some(&root), "!allow", None)
        .await;
    assert_eq!(stage.file(&root).await, "hello\n");
}

#[tokio::test]
async fn a_card_shows_what_will_run_whatever_it_is_and_pings_nobody() {
    let stage = Stage::demo("").await;
    let long = "x".repeat(100_000);
    let command = format!(
        "echo '\u{202E}\u{1b}[2K @everyone @room {}' '{long}' && touch danger",
        stage.alice.id
    );
    // A message of Matrix does not hold so much: what the thread began goes on from elsewhere.
    let root = stage.mention(&stage.alice, "SAY hello").await;
    stage.is_marked(&root, "✅").await;
    let api = stage.server.api();
    let sessions = api.get("/api/v1/sessions").await;
    let session = sessions["sessions"][0]["id"].as_str().unwrap();
    api.prompt(session, &format!("RUN {command}")).await;
    let card = stage.card(&root, "characters").await;
    let content = &card["content"];
    let body = content["body"].as_str().unwrap();
    assert!(
        body.contains("⟨U+202E⟩⟨U+001B⟩[2K @everyone @room"),
        "{body}"
    );
    assert!(body.contains("&& touch danger"), "{body}");
    // The approver is called by us; nothing in the command calls anybody.
    assert_eq!(content["m.mentions"], json!({"user_ids": [stage.alice.id]}));
    let whole = stage.file(&root).await;
    let shown = command
        .replace('\u{202E}', "⟨U+202E⟩")
        .replace('\u{1b}', "⟨U+001B⟩");
    assert_eq!(whole, shown);
}

#[tokio::test]
async fn nothing_is_lost_or_doubled_when_either_side_is_killed() {
    let mut stage = Stage::demo("").await;
    let root = stage
        .mention(&stage.alice, "RUN touch after-the-kill")
        .await;
    let card = stage.card(&root, "touch after-the-kill").await;
    let yes = legend(&card, "Allow");

    // The bridge is killed; what is pressed meanwhile counts when it is back.
    stage.server.kill();
    stage.alice.react(&stage.room, id(&card), &yes).await;
    let later = stage.mention(&stage.alice, "SAY said-meanwhile").await;
    stage.server.restart().await;
    eventually(PATIENCE, "the tool runs", async || {
        stage.has("after-the-kill").then_some(())
    })
    .await;
    stage.card_says(&card, "Delivered.").await;
    stage.thread_says(&later, "said-meanwhile").await;

    // The homeserver is killed; what happens meanwhile is said when it is back, once and in order.
    let root = stage.mention(&stage.alice, "RUN touch while-away").await;
    let card = stage.card(&root, "touch while-away").await;
    stage.synapse.kill();
    let ask = stage.open_ask().await;
    let allow = json!({"answer": "allow_once"});
    let api = stage.server.api();
    api.answer(ask["id"].as_str().unwrap(), &allow)
        .await
        .expect_success();
    eventually(PATIENCE, "the tool runs", async || {
        stage.has("while-away").then_some(())
    })
    .await;
    stage.synapse.restart().await;
    stage.card_says(&card, "Delivered.").await;
    stage.is_marked(&root, "✅").await;
    for root in [&root, &later] {
        let said = stage.said_in(root).await;
        let mut once = said.clone();
        once.dedup();
        assert_eq!(said, once, "nothing is said twice");
    }
}

#[tokio::test]
async fn trouble_of_every_kind_loses_nothing_doubles_nothing_and_keeps_the_order() {
    let stage = Stage::demo("").await;
    let wait = HttpFault::TooMany {
        retry_after: 1,
        body: json!({"errcode": "M_LIMIT_EXCEEDED", "retry_after_ms": 1000}).to_string(),
    };
    let troubles = [
        wait,
        HttpFault::Broken,
        HttpFault::ResponseLost,
        HttpFault::Dropped,
        HttpFault::ResponseLost,
    ];
    let count = troubles.len();
    stage.faults.plan("PUT", "/send/m.room.message/", troubles);
    let root = stage.mention(&stage.alice, "SAY first").await;
    for text in ["SAY second", "SAY third"] {
        stage.alice.say(&stage.room, Some(&root), text, None).await;
    }
    stage.thread_says(&root, "third").await;
    assert_eq!(stage.faults.met(), count);
    let said = stage.said_in(&root).await;
    let said: Vec<&str> = said.iter().map(|words| words.trim()).collect();
    assert_eq!(said, ["first", "second", "third"]);

    // What cannot be heard for a time is heard after it, once.
    let troubles = [
        HttpFault::Dropped,
        HttpFault::Broken,
        HttpFault::ResponseLost,
    ];
    stage.faults.plan("GET", "/sync", troubles);
    let root = stage.mention(&stage.alice, "SAY heard").await;
    stage.thread_says(&root, "heard").await;
    stage.is_marked(&root, "✅").await;
    assert_eq!(stage.said_in(&root).await.len(), 1);

    // A card that somebody deleted is not changed any more; the ask goes on without it.
    let root = stage
        .mention(&stage.alice, "RUN touch without-a-card")
        .await;
    let card = stage.card(&root, "touch without-a-card").await;
    stage.alice.delete(&stage.room, id(&card)).await;
    stage
        .alice
        .say(&stage.room, Some(&root), "!allow", None)
        .await;
    eventually(PATIENCE, "the tool runs", async || {
        stage.has("without-a-card").then_some(())
    })
    .await;
    stage.is_marked(&root, "✅").await;
}

#[tokio::test]
async fn a_card_that_is_only_half_sent_is_answered_and_brought_up_to_date() {
    let stage = Stage::demo("").await;
    let half = || {
        let troubles = [HttpFault::Broken, HttpFault::Broken, HttpFault::Broken];
        // People see the card; we are not told yet what it is called.
        stage.faults.plan("PUT", "/send/m.reaction/cs_", troubles);
    };
    half();
    let root = stage.mention(&stage.alice, "RUN touch early").await;
    let card = stage.shown(&root, "touch early").await;
    let yes = legend(&card, "Allow");
    stage.alice.react(&stage.room, id(&card), &yes).await;
    eventually(PATIENCE, "the tool runs", async || {
        stage.has("early").then_some(())
    })
    .await;
    stage.card_says(&card, "Delivered.").await;
    assert_eq!(stage.faults.met(), 3);

    // It is over before the platform has all of it: the platform knows the message by its key, and it still changes.
    half();
    let root = stage.mention(&stage.alice, "RUN touch never").await;
    let card = stage.shown(&root, "touch never").await;
    let ask = stage.open_ask().await;
    let deny = json!({"answer": "deny", "reason": "not now"});
    let api = stage.server.api();
    api.answer(ask["id"].as_str().unwrap(), &deny)
        .await
        .expect_success();
    stage.card_says(&card, "Denied (“not now”)").await;
    assert!(!stage.has("never"));
}

#[tokio::test]
async fn asks_go_to_direct_messages_then_to_the_next_approver_and_either_answers() {
    let approvers = "approvers = [{ id = '@alice:localhost', actor = 'alice' }, \
         { id = '@mallory:localhost', actor = 'mallory' }]\n";
    let channel = format!("{approvers}asks = 'direct'\nremind_after_s = 1\nescalate_after_s = 2\n");
    let stage = Stage::demo(&channel).await;
    let root = stage.mention(&stage.alice, "RUN touch direct").await;
    let (room, card) = stage.told_directly(&stage.alice, "touch direct").await;
    stage
        .told_directly(&stage.alice, "still waits for an answer")
        .await;
    let (_, second) = stage.told_directly(&stage.mallory, "touch direct").await;
    let yes = legend(&card, "Allow");
    stage.alice.react(&room, id(&card), &yes).await;
    eventually(PATIENCE, "the tool runs", async || {
        stage.has("direct").then_some(())
    })
    .await;
    stage.is_marked(&root, "✅").await;
    // The other card is over too, and says by whom.
    let path = id(&second).to_owned();
    let (other, _) = stage.told_directly(&stage.mallory, "touch direct").await;
    eventually(PATIENCE, "the other card says so", async || {
        let now = stage.mallory.message(&other, &path).await;
        let body = now["content"]["body"].as_str()?;
        body.contains("by alice on Matrix").then_some(())
    })
    .await;
}

#[tokio::test]
async fn an_agent_that_dies_is_an_error_with_its_last_words() {
    let agents = mortal_agent("out of memory, alas");
    let stage = Stage::with(
        Setup::new(BINARY, Engine::None),
        &agents,
        "engine = 'mortal'\n",
    )
    .await;
    let root = stage.mention(&stage.alice, "die\nEXIT 3").await;
    stage.thread_says(&root, "The turn failed").await;
    let said = stage.said_in(&root).await.join("\n");
    assert!(said.contains("out of memory, alas"), "{said}");
    stage.is_marked(&root, "💥").await;
}

#[tokio::test]
async fn a_real_opencode_is_asked_answered_and_heard_in_the_thread() {
    let model = StubModel::start().await;
    let engine = Engine::Real {
        model: model.base_url(),
    };
    let stage = Stage::with(Setup::new(BINARY, engine), "", "engine = 'opencode'\n").await;
    stage.server.api().wait_for_engine().await;
    let root = stage
        .mention(&stage.alice, "TOOL bash: touch once.txt && echo made-it")
        .await;
    let card = stage.card(&root, "touch once.txt").await;
    stage.mallory.react(&stage.room, id(&card), "✅").await;
    stage
        .whispered(&stage.mallory, "not among the approvers")
        .await;
    assert!(!stage.has("once.txt"));
    stage.alice.react(&stage.room, id(&card), "✅").await;
    eventually(PATIENCE, "the tool runs", async || {
        stage.has("once.txt").then_some(())
    })
    .await;
    stage
        .card_says(&card, "by alice on Matrix. Delivered.")
        .await;
    stage.is_marked(&root, "✅").await;
    assert!(!stage.said_in(&root).await.is_empty());
}

#[tokio::test]
async fn the_check_says_what_is_missing_and_a_channel_without_approvers_is_told_at_the_start() {
    let stage = Stage::demo("approvers = []\n").await;
    let mut server = stage.server;
    let output = server.program().output();
    assert!(
        output.contains("Nobody may answer asks in the channel"),
        "{output}"
    );
    let config = server.data().join("../config.toml");
    let config = config.to_str().unwrap();
    let checked = server
        .cli(&["bridges", "check", "--json", "--config", config])
        .await;
    let found: Value = serde_json::from_str(&checked.stdout).unwrap();
    assert_eq!((checked.code, &found["ok"]), (1, &json!(false)), "{found}");
    let findings = found["bridges"][0]["findings"].as_array().unwrap();
    assert_eq!(
        findings
            .iter()
            .filter(|it| it["problem"].is_string())
            .count(),
        1,
        "{found}"
    );
    assert!(!checked.stdout.contains(&stage.bot.token));
}

fn id(event: &Value) -> &str {
    event["event_id"].as_str().expect("an event has an id")
}

/// One is enough to see that the peer is there.
#[tokio::test]
async fn synapse_starts_again_on_what_it_had() {
    let mut synapse = Synapse::start().await;
    let user = synapse.user("ada").await;
    synapse.restart().await;
    assert_eq!(
        user.get("account/whoami").await["user_id"],
        user.id.as_str()
    );
}
