//! Telegram on a fake of it, which a bot library that is not ours is run against as well, and on an emulator that is not
//! ours either.

use std::sync::Arc;
use std::time::Duration;

use countersign_bridges::adapter::{
    Failure, Happening, MessageId, Outgoing, Place, Pressed, Reaction, Tone, What,
};
use countersign_bridges::telegram::Telegram;
use countersign_bridges::text::{Block, Span, Text};
use countersign_bridges::{Adapter, Intake, Secret};
use countersign_testkit::process::Launch;
use countersign_testkit::telegram::{BOT_NAME, Group, TOKEN};
use countersign_testkit::{
    FakeTelegram, HttpFault, HttpFaults, TelegramEmulator, eventually, peers,
};
use serde_json::json;
use tokio::task::JoinSet;

use crate::conformance::{self, Seen, Stage, Trouble, Who, card, key, says};

const PATIENCE: Duration = Duration::from_mins(1);
const CHAT: i64 = -1_001;
const ALICE: i64 = 7;
const MALLORY: i64 = 8;

/// The fake behind a proxy that can fail, with one group.
struct OnFake {
    fake: FakeTelegram,
    faults: HttpFaults,
}

impl OnFake {
    fn start(kind: Group) -> Self {
        let fake = FakeTelegram::start();
        fake.user(ALICE, "Alice");
        fake.user(MALLORY, "Mallory");
        fake.group(CHAT, kind);
        Self {
            faults: HttpFaults::start(&fake.url()),
            fake,
        }
    }

    fn telegram(&self) -> Telegram {
        Telegram::new(Some(&self.faults.url()), Secret::new(TOKEN)).unwrap()
    }
}

fn number(who: Who) -> i64 {
    match who {
        Who::Alice => ALICE,
        Who::Mallory => MALLORY,
    }
}

fn chat(place: &Place) -> i64 {
    place.channel.parse().unwrap()
}

impl Stage for OnFake {
    fn adapter(&self) -> Arc<dyn Adapter> {
        Arc::new(self.telegram())
    }

    fn channel(&self) -> Place {
        Place {
            channel: CHAT.to_string(),
            thread: None,
        }
    }

    fn id_of(&self, who: Who) -> String {
        number(who).to_string()
    }

    async fn say(&self, who: Who, place: &Place, text: &str, mention: bool) -> MessageId {
        let text = if mention {
            format!("@{BOT_NAME} {text}")
        } else {
            text.to_owned()
        };
        let thread = place.thread.as_deref();
        let said = self.fake.say(number(who), chat(place), thread, &text);
        MessageId(said.to_string())
    }

    async fn say_directly(&self, who: Who, text: &str) {
        self.fake.say(number(who), number(who), None, text);
    }

    async fn send_file(&self, who: Who, place: &Place, name: &str, content: &str) {
        let thread = place.thread.as_deref();
        let user = number(who);
        self.fake
            .send_file(user, chat(place), thread, name, content);
    }

    async fn press(&self, who: Who, place: &Place, id: &MessageId, outgoing: &Outgoing, n: usize) {
        let payload = &outgoing.buttons[n].payload;
        let message = id.0.parse().unwrap();
        self.fake.press(number(who), chat(place), message, payload);
    }

    async fn deliver_again(&self) -> bool {
        self.fake.deliver_again();
        true
    }

    async fn delete(&self, place: &Place, id: &MessageId) {
        self.fake.delete(chat(place), id.0.parse().unwrap());
    }

    async fn trouble(&self, edits: bool, trouble: Trouble) {
        let fault = match trouble {
            Trouble::TooMany => HttpFault::TooMany {
                retry_after: 0,
                body: json!({
                    "ok": false, "error_code": 429, "description": "Too Many Requests: retry after 1",
                    "parameters": {"retry_after": 1},
                })
                .to_string(),
            },
            Trouble::Broken => HttpFault::Broken,
            Trouble::ResponseLost => HttpFault::ResponseLost,
        };
        let method = if edits {
            "/editMessageText"
        } else {
            "/sendMessage"
        };
        self.faults.plan("POST", method, [fault]);
    }

    async fn seen(&self, place: &Place) -> Vec<Seen> {
        let said = self.fake.said(chat(place)).into_iter();
        let here = said.filter(|said| said.thread == place.thread);
        here.map(|said| Seen {
            id: MessageId(said.id.to_string()),
            words: said.words,
            pings: said.pings,
            buttons: said.buttons.len(),
        })
        .collect()
    }

    async fn files(&self, place: &Place) -> Vec<Vec<u8>> {
        let said = self.fake.said(chat(place)).into_iter();
        let here = said.filter(|said| said.thread == place.thread);
        here.filter_map(|said| Some(said.file?.1)).collect()
    }

    async fn whispers(&self, who: Who) -> Vec<String> {
        let said = self.fake.said(number(who)).into_iter();
        said.map(|said| said.words).collect()
    }
}

#[tokio::test]
async fn the_fake_takes_all_that_the_core_relies_on_in_threads_of_replies() {
    let stage = OnFake::start(Group::Super);
    conformance::all(&stage).await;
    stage.fake.assert_well_called();
}

#[tokio::test]
async fn the_fake_takes_all_that_the_core_relies_on_in_topics() {
    let stage = OnFake::start(Group::Forum);
    conformance::all(&stage).await;
    stage.fake.assert_well_called();
}

#[tokio::test]
async fn a_conversation_is_where_the_chat_can_have_one() {
    let mention = |stage: &OnFake| {
        let text = format!("@{BOT_NAME} begin");
        MessageId(stage.fake.say(ALICE, CHAT, None, &text).to_string())
    };
    let small = OnFake::start(Group::Basic);
    let channel = small.channel();
    let opened = small.telegram();
    let opened = opened.open_thread(&channel, &mention(&small), "t").await;
    assert_eq!(
        opened.unwrap(),
        channel,
        "a small group is one conversation"
    );

    let forum = OnFake::start(Group::Forum);
    forum.fake.forbid_topics();
    let message = mention(&forum);
    let opened = forum.telegram();
    let opened = opened.open_thread(&channel, &message, "t").await.unwrap();
    assert_eq!(opened.thread, Some(format!("reply:{message}")));
    let findings = forum.telegram().check(&[CHAT.to_string()]).await;
    let problem = findings.last().unwrap().problem.clone().unwrap();
    assert!(problem.contains("may not make topics"), "{problem}");
}

#[tokio::test]
async fn every_press_is_answered_and_refusals_have_to_be_read() {
    let stage = OnFake::start(Group::Super);
    let adapter = stage.telegram();
    let (intake, mut batches) = Intake::new();
    let mut following = JoinSet::new();
    let follower = stage.telegram();
    following.spawn(async move { follower.follow(Some("0".to_owned()), &intake).await });
    let place = stage.channel();
    let message = adapter.send(&place, &card("May I?"), &key("card")).await;
    let message: i64 = message.unwrap().0.parse().unwrap();

    // A message that is so old that the platform does not show it any more.
    stage.fake.press(MALLORY, CHAT, 999_999, "p:stale:0");
    stage.fake.press(MALLORY, CHAT, message, "p:0123456789:0");
    let mut presses: Vec<Happening> = Vec::new();
    while presses.len() < 2 {
        let batch = tokio::time::timeout(PATIENCE, batches.recv()).await;
        let batch = batch.unwrap().unwrap();
        presses.extend(batch.happenings.clone());
        batch.taken();
    }
    let pressed = |happening: &Happening| {
        let What::Press { handle, .. } = &happening.what else {
            panic!("{happening:?}")
        };
        Pressed {
            place: happening.place.clone(),
            by: happening.by.clone(),
            handle: Some(handle.clone()),
        }
    };
    let long = "no ".repeat(200);
    let [stale, fresh] = [pressed(&presses[0]), pressed(&presses[1])];
    let refused = adapter.reply_privately(&stale, Tone::Refused, &long);
    refused.await.unwrap();
    let done = adapter.reply_privately(&fresh, Tone::Done, "Allowed.");
    done.await.unwrap();
    let alerts = stage.fake.alerts();
    assert_eq!((alerts.len(), stage.fake.unanswered()), (2, 0));
    assert!(alerts[0].is_alert && alerts[0].text.chars().count() <= 200);
    assert!(!alerts[1].is_alert && alerts[1].text == "Allowed.");
    assert!(alerts.iter().all(|alert| alert.user == MALLORY));

    // A press that cannot be answered any more is refused in the direct chat, and is no failure where it was done.
    let before = stage.whispers(Who::Mallory).await.len();
    let late = adapter.reply_privately(&fresh, Tone::Refused, "too late");
    late.await.unwrap();
    let whispers = stage.whispers(Who::Mallory).await;
    assert_eq!(
        (whispers.len(), whispers.last().unwrap().as_str()),
        (before + 1, "too late")
    );
    adapter
        .reply_privately(&fresh, Tone::Done, "done")
        .await
        .unwrap();
    stage.fake.block(MALLORY);
    let blocked = adapter.reply_privately(&fresh, Tone::Refused, "no").await;
    assert!(matches!(blocked, Err(Failure::Gone(_))), "{blocked:?}");
    stage.fake.assert_well_called();
}

#[tokio::test]
async fn the_same_edit_twice_is_none_and_a_hostile_text_can_be_tapped_nowhere() {
    let stage = OnFake::start(Group::Super);
    let adapter = stage.telegram();
    let place = stage.channel();
    let id = adapter.send(&place, &card("x"), &key("x")).await.unwrap();
    for _ in 0..2 {
        adapter.edit(&place, &id, &says("done")).await.unwrap();
    }
    // More than Telegram reads entities for.
    let spans = (0..150).map(|n| Span::plain(&format!("@victim{n} tap /allow ")));
    let text = Text::default().with(Block::paragraph(spans));
    let loud = Outgoing::plain(text);
    adapter.send(&place, &loud, &key("loud")).await.unwrap();
    let said = stage.fake.said(CHAT).pop().unwrap();
    assert!(said.words.contains("@victim149 tap /allow"));
    assert_eq!(
        (said.pings, said.tappable),
        (Vec::<String>::new(), Vec::new())
    );
    let message = stage.fake.say(ALICE, CHAT, None, "hello");
    let marked = MessageId(message.to_string());
    adapter
        .react(&place, &marked, None, Some(Reaction::Waiting))
        .await
        .unwrap();
    assert_eq!(stage.fake.reactions(CHAT, message), ["🙏"]);
    stage.fake.assert_well_called();
}

#[tokio::test]
async fn a_wrong_token_is_found_by_the_check_and_told_nowhere() {
    let stage = OnFake::start(Group::Super);
    let wrong = Telegram::new(Some(&stage.faults.url()), Secret::new("1:wrong-secret")).unwrap();
    let findings = wrong.check(&[CHAT.to_string()]).await;
    let told = format!("{findings:?}");
    assert!(told.contains("does not know our credential"), "{told}");
    assert!(!told.contains("wrong-secret"), "{told}");
    let nowhere = Telegram::new(Some("http://127.0.0.1:1"), Secret::new(TOKEN)).unwrap();
    let (intake, _batches) = Intake::new();
    let failure = nowhere.follow(None, &intake).await.unwrap_err();
    assert!(!format!("{failure:?}").contains(TOKEN), "{failure:?}");
    assert!(Telegram::new(None, Secret::new("1:a/../b")).is_err());
}

#[tokio::test]
async fn real_emulator_takes_messages_buttons_presses_answers_and_edits() {
    let emulator = TelegramEmulator::start().await;
    let token = Secret::new(TelegramEmulator::TOKEN);
    let adapter = Arc::new(Telegram::new(Some(&emulator.url()), token).unwrap());
    let (intake, mut batches) = Intake::new();
    let mut following = JoinSet::new();
    let follower = Arc::clone(&adapter);
    following.spawn(async move { follower.follow(Some("0".to_owned()), &intake).await });
    let mut next = async || loop {
        let batch = tokio::time::timeout(PATIENCE, batches.recv()).await;
        let batch = batch.unwrap().unwrap();
        let came = batch.happenings.first().cloned();
        batch.taken();
        if let Some(came) = came {
            return came;
        }
    };

    emulator.say(ALICE, "RUN it").await;
    let came = next().await;
    assert!(came.is_direct && came.by.id == ALICE.to_string());
    assert!(
        matches!(&came.what, What::Message { text, .. } if text == "RUN it"),
        "{came:?}"
    );

    let asked = card("May I `run` it?");
    let id = adapter
        .send(&came.place, &asked, &key("card"))
        .await
        .unwrap();
    let shown = emulator.said_to(ALICE).await.pop().unwrap();
    let keyboard = &shown["message"]["reply_markup"]["inline_keyboard"];
    assert_eq!(keyboard.as_array().unwrap().len(), 2, "{shown}");
    let payload = keyboard[1][0]["callback_data"].as_str().unwrap();

    emulator.press(ALICE, &shown, payload).await;
    let came = next().await;
    let What::Press {
        message,
        payload,
        handle,
    } = &came.what
    else {
        panic!("{came:?}")
    };
    assert_eq!((message, payload.as_str()), (&id, "p:0123456789:1"));
    let pressed = Pressed {
        place: came.place.clone(),
        by: came.by.clone(),
        handle: Some(handle.clone()),
    };
    let answered = adapter.reply_privately(&pressed, Tone::Refused, "you may not");
    answered.await.unwrap();

    adapter
        .edit(&came.place, &id, &says("Denied."))
        .await
        .unwrap();
    let shown = emulator.said_to(ALICE).await;
    assert_eq!(shown.len(), 1, "an edit is no new message");
    let message = &shown[0]["message"];
    assert_eq!(message["text"], "Denied.");
    // The emulator leaves the buttons of an edit that has no word on them.
    assert_eq!(message["reply_markup"]["inline_keyboard"], json!([]));
}

#[tokio::test]
async fn real_grammy_finds_in_the_fake_what_it_expects_of_telegram() {
    let fake = FakeTelegram::start();
    fake.user(ALICE, "Alice");
    fake.group(CHAT, Group::Forum);
    let folder = tempfile::tempdir().unwrap();
    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/platforms/data/grammy_bot.cjs"
    );
    let _bot = Launch::new(peers::node(), folder.path().join("bot.log"))
        .arguments([
            script,
            &peers::grammy().to_string_lossy(),
            &fake.url(),
            TOKEN,
        ])
        .directory(folder.path())
        .start()
        .unwrap();
    let said = async |what: &str, is_it: &dyn Fn(&str) -> bool| {
        eventually(PATIENCE, what, async || {
            let mut said = fake.said(CHAT).into_iter();
            said.find(|said| is_it(&said.words))
        })
        .await
    };
    // The library passes over nothing that was said before it began.
    let message = fake.say(ALICE, CHAT, None, "/ask");
    let asked = said("it asks", &|words| words == "May I?").await;
    assert_eq!(asked.thread, Some(format!("reply:{message}")));
    assert_eq!(asked.buttons[1], ("Deny".to_owned(), "p:1:1".to_owned()));
    eventually(PATIENCE, "it reacts", async || {
        (fake.reactions(CHAT, message) == ["👀"]).then_some(())
    })
    .await;
    fake.press(ALICE, CHAT, asked.id, "p:1:1");
    let refusals = said("it tells what is refused", &|words| words.contains('\n')).await;
    let refusals: Vec<&str> = refusals.words.lines().collect();
    let expected = [
        "400 Bad Request: message is not modified",
        "400 Bad Request: query is too old",
        "400 Bad Request: REACTION_INVALID",
        "400 Bad Request: chat not found",
        "400 Bad Request: message to edit not found",
        "400 Bad Request: message is too long",
    ];
    for (refusal, expected) in refusals.iter().zip(expected) {
        assert!(refusal.starts_with(expected), "{refusals:#?}");
    }
    assert_eq!(refusals.len(), expected.len());
    let edited = said("it edits", &|words| words == "Answered.").await;
    assert_eq!((edited.id, edited.buttons.len()), (asked.id, 0));
    assert_eq!(fake.alerts()[0].text, "you pressed p:1:1");

    fake.send_file(ALICE, CHAT, None, "notes.txt", "remember");
    let sent = eventually(PATIENCE, "it sends a file into a topic", async || {
        fake.said(CHAT).into_iter().find(|said| said.file.is_some())
    })
    .await;
    assert_eq!(
        sent.file,
        Some(("back.txt".to_owned(), b"back: remember".to_vec()))
    );
    assert!(sent.thread.unwrap().starts_with("topic:"));
    fake.assert_well_called();
}
