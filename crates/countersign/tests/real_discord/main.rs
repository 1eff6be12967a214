//! The Discord bridge from end to end: a Discord of our own, two people and the bot, and agents that ask.

mod stage;

use std::time::Duration;

use countersign_testkit::test_server::{Engine, PATIENCE, Setup};
use countersign_testkit::{HttpFault, StubModel, eventually, peers};
use serde_json::json;

use crate::stage::{BINARY, Stage, buttons, channel_of, id};

/// How long Discord waits for the answer to a press.
const IN_TIME: Duration = Duration::from_secs(3);

#[tokio::test]
async fn an_approvers_press_runs_the_tool_and_a_strangers_does_nothing() {
    let stage = Stage::demo("files = 'out'\n").await;
    let thread = stage.mention(&stage.alice, "RUN touch made && echo it-is-$((3 + 4))");
    let card = stage.card(&thread, "touch made").await;

    // A stranger's press is refused, where only they see it, and changes nothing.
    let pressed = stage.press(&stage.mallory, &card, "Allow");
    stage
        .whispered(&stage.mallory, "not among the approvers")
        .await;
    let answered = stage.discord.answer_to(&pressed).unwrap();
    assert!(answered.after < IN_TIME, "{answered:?}");
    let ask = stage.open_ask().await;
    assert_eq!(ask["state"], "open");
    assert!(!stage.has("made"));
    let said = stage.said_in(&thread).join("\n");
    assert!(!said.contains("not among the approvers"), "{said}");

    let pressed = stage.press(&stage.alice, &card, "Allow");
    stage.is_made("made").await;
    stage
        .card_says(&card, "by alice on Discord. Delivered.")
        .await;
    stage.thread_says(&thread, "it-is-7").await;
    stage.is_marked(&thread, "✅").await;
    let answered = stage.discord.answer_to(&pressed).unwrap();
    assert!(answered.after < IN_TIME, "{answered:?}");
    let api = stage.server.api();
    let settled = api.ask(ask["id"].as_str().unwrap()).await;
    assert_eq!(settled["answer"]["surface"], "discord", "{settled}");
    assert_eq!(settled["answer"]["by"]["name"], "alice", "{settled}");

    // A press that comes too late gets an answer, and changes nothing.
    let payload = buttons(&card)[1]["custom_id"].as_str().unwrap().to_owned();
    let (channel, message) = (channel_of(&card), id(&card));
    stage
        .discord
        .press_stale(&stage.mallory, channel, message, &payload);
    stage
        .discord
        .press_stale(&stage.alice, channel, message, &payload);
    stage.whispered(&stage.alice, "by alice on Discord").await;
    stage
        .discord
        .press_stale(&stage.alice, channel, message, "p:nonsense");
    stage.whispered(&stage.alice, "no open ask of ours").await;

    // A follow-up in the thread needs no mention, and goes on in the same session; a command is answered.
    stage
        .discord
        .say(&stage.alice, &thread, "SAY once-more", false);
    stage.thread_says(&thread, "once-more").await;
    stage.discord.command(&stage.alice, &thread, "status", &[]);
    stage.whispered(&stage.alice, "0 open asks").await;
    let sessions = api.get("/api/v1/sessions").await;
    assert_eq!(sessions["sessions"].as_array().unwrap().len(), 1);

    // What the agent puts into the folder that is allowed comes into the thread; a command answers as a button does.
    let thread = stage.mention(&stage.alice, "RUN mkdir out && echo hello > out/report.txt");
    stage.card(&thread, "mkdir out").await;
    stage.discord.command(&stage.mallory, &thread, "allow", &[]);
    stage.discord.command(&stage.alice, &thread, "allow", &[]);
    assert_eq!(stage.file(&thread).await, "hello\n");
    stage.discord.assert_sound();
}

#[tokio::test]
async fn a_card_shows_what_will_run_whatever_it_is_and_pings_nobody() {
    let stage = Stage::demo("").await;
    let long = "x".repeat(100_000);
    let command = format!(
        "echo '\u{202E}\u{1b}[2K @everyone @here <@{0}> <@&1> ``` {0}' '{long}' && touch danger",
        stage.mallory
    );
    // A message of Discord does not hold so much: what the thread began goes on from elsewhere.
    let thread = stage.mention(&stage.alice, "SAY hello");
    stage.is_marked(&thread, "✅").await;
    let api = stage.server.api();
    let sessions = api.get("/api/v1/sessions").await;
    let session = sessions["sessions"][0]["id"].as_str().unwrap();
    api.prompt(session, &format!("RUN {command}")).await;
    let card = stage.card(&thread, "characters").await;
    let content = card["content"].as_str().unwrap().replace('\u{200B}', "");
    assert!(
        content.contains("⟨U+202E⟩⟨U+001B⟩[2K @everyone @here <@"),
        "{content}"
    );
    assert!(content.contains("&& touch danger"), "{content}");
    // The approver is called by us; nothing in the command calls anybody.
    assert_eq!(stage.discord.pings(id(&card)), [stage.alice.as_str()]);
    let whole = stage.file(&thread).await;
    let shown = command
        .replace('\u{202E}', "⟨U+202E⟩")
        .replace('\u{1b}', "⟨U+001B⟩");
    assert_eq!(whole, shown);
    stage.discord.assert_sound();
}

#[tokio::test]
async fn nothing_is_lost_or_doubled_when_the_server_is_killed_and_buttons_still_work() {
    let mut stage = Stage::demo("").await;
    let thread = stage.mention(&stage.alice, "RUN touch after-the-kill");
    let card = stage.card(&thread, "touch after-the-kill").await;
    stage.server.kill();
    let later = stage.mention(&stage.alice, "SAY said-meanwhile");
    stage.server.restart().await;
    stage.thread_says(&later, "said-meanwhile").await;
    assert_eq!(stage.discord.resumed(), 1);
    stage.press(&stage.mallory, &card, "Allow");
    stage
        .whispered(&stage.mallory, "not among the approvers")
        .await;
    assert!(!stage.has("after-the-kill"));
    stage.press(&stage.alice, &card, "Allow");
    stage.is_made("after-the-kill").await;
    stage.card_says(&card, "Delivered.").await;

    // Discord has forgotten us meanwhile: what was said is read.
    stage.server.kill();
    stage.discord.forget_sessions();
    stage
        .discord
        .say(&stage.alice, &later, "SAY in-the-thread", false);
    let forgotten = stage.mention(&stage.alice, "SAY in-the-channel");
    stage.server.restart().await;
    stage.thread_says(&forgotten, "in-the-channel").await;
    stage.thread_says(&later, "in-the-thread").await;
    stage.is_marked(&forgotten, "✅").await;
    assert_eq!(stage.said_in(&forgotten), ["in-the-channel"]);
    assert_eq!(stage.said_in(&later), ["said-meanwhile", "in-the-thread"]);
    stage.discord.assert_sound();
}

#[tokio::test]
async fn trouble_of_every_kind_loses_nothing_doubles_nothing_and_keeps_the_order() {
    let stage = Stage::demo("").await;
    let wait = HttpFault::TooMany {
        retry_after: 1,
        body:
            json!({"message": "You are being rate limited.", "retry_after": 0.5, "global": false})
                .to_string(),
    };
    let thread = stage.mention(&stage.alice, "SAY zeroth");
    stage.thread_says(&thread, "zeroth").await;
    let rounds = [
        ("first", vec![wait, HttpFault::Broken]),
        ("second", vec![HttpFault::ResponseLost, HttpFault::Dropped]),
        ("third", vec![HttpFault::ResponseLost]),
    ];
    for (text, troubles) in rounds {
        let count = troubles.len();
        stage.faults.plan("POST", "/messages", troubles);
        stage
            .discord
            .say(&stage.alice, &thread, &format!("SAY {text}"), false);
        // Whatever is delivered twice was said once.
        stage.discord.deliver_again();
        eventually(PATIENCE, "every trouble is met", async || {
            (stage.faults.met() == count).then_some(())
        })
        .await;
    }
    stage.thread_says(&thread, "third").await;
    assert_eq!(
        stage.said_in(&thread),
        ["zeroth", "first", "second", "third"]
    );

    // What cannot be heard for a time is heard after it, once.
    stage.discord.cut_gateway();
    let heard = stage.mention(&stage.alice, "SAY heard");
    stage.thread_says(&heard, "heard").await;
    stage.is_marked(&heard, "✅").await;
    assert_eq!(stage.said_in(&heard), ["heard"]);
    assert_eq!((stage.discord.resumed(), stage.discord.sessions()), (1, 1));

    // A card that somebody deleted is not changed any more; the ask goes on without it.
    let thread = stage.mention(&stage.alice, "RUN touch without-a-card");
    let card = stage.card(&thread, "touch without-a-card").await;
    stage.discord.delete(&thread, id(&card));
    stage.discord.say(&stage.alice, &thread, "/allow", false);
    stage.is_made("without-a-card").await;
    stage.is_marked(&thread, "✅").await;
    stage.discord.assert_sound();
}

#[tokio::test]
async fn an_ask_in_a_direct_message_is_answered_there() {
    let stage = Stage::demo("asks = 'direct'\n").await;
    let thread = stage.mention(&stage.alice, "RUN touch direct");
    let direct = stage.discord.direct_of(&stage.alice);
    let card = stage.card(&direct, "touch direct").await;
    stage.press(&stage.alice, &card, "Allow");
    stage.is_made("direct").await;
    stage
        .card_says(&card, "by alice on Discord. Delivered.")
        .await;
    stage.is_marked(&thread, "✅").await;

    // A direct message begins a session too.
    stage.discord.say_directly(&stage.alice, "SAY between-us");
    stage.thread_says(&direct, "between-us").await;
    stage.discord.assert_sound();
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
    let thread = stage.mention(&stage.alice, "die\nEXIT 3");
    stage.thread_says(&thread, "The turn failed").await;
    stage.thread_says(&thread, "out of memory, alas").await;
    stage.is_marked(&thread, "💥").await;
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
    let thread = stage.mention(&stage.alice, "TOOL bash: touch once.txt && echo made-it");
    let card = stage.card(&thread, "touch once.txt").await;
    let first = buttons(&card)[0]["label"].as_str().unwrap().to_owned();
    stage.press(&stage.mallory, &card, &first);
    stage
        .whispered(&stage.mallory, "not among the approvers")
        .await;
    assert!(!stage.has("once.txt"));
    stage.press(&stage.alice, &card, &first);
    stage.is_made("once.txt").await;
    stage
        .card_says(&card, "by alice on Discord. Delivered.")
        .await;
    stage.is_marked(&thread, "✅").await;
    assert!(stage.said_in(&thread).len() > 1, "what came of it is said");
    stage.discord.assert_sound();
}

#[tokio::test]
async fn the_check_says_what_is_missing_and_the_token_is_nowhere() {
    let stage = Stage::demo("approvers = []\n").await;
    stage.discord.permit((1 << 10) | (1 << 11));
    let mut server = stage.server;
    let output = server.program().output();
    assert!(
        output.contains("Nobody may answer asks in the channel"),
        "{output}"
    );
    let config = server.data().join("../config.toml");
    let config = config.to_str().unwrap();
    let check = ["bridges", "check", "--json", "--config", config];
    let checked = server.cli(&check).await;
    let found: serde_json::Value = serde_json::from_str(&checked.stdout).unwrap();
    assert_eq!((checked.code, &found["ok"]), (1, &json!(false)), "{found}");
    assert!(checked.stdout.contains("Create Public Threads"), "{found}");
    let token = countersign_testkit::fake_discord::TOKEN;
    assert!(!checked.stdout.contains(token) && !server.log().contains(token));
    stage.discord.permit(u64::MAX >> 1);
    eventually(
        PATIENCE,
        "nothing but the approvers is missing",
        async || {
            let checked = server.cli(&check).await;
            let is_permitted = !checked.stdout.contains("lacks permissions");
            is_permitted.then_some(())
        },
    )
    .await;
}
