//! Slack on a Slack of our own, and Slack's own Bolt on the same.

mod following;

use std::sync::Arc;
use std::time::Duration;

use countersign_bridges::adapter::{
    Button, Failure, IncomingFile, Key, Meaning, MessageId, Outgoing, OutgoingFile, Person, Place,
    Pressed, Sent, Tone, What,
};
use countersign_bridges::slack::Slack;
use countersign_bridges::text::Text;
use countersign_bridges::{Adapter, Secret};
use countersign_testkit::fake_slack::{
    ALICE, APP_TOKEN, BOT, BOT_TOKEN, CHANNEL, MALLORY, buttons, pings, words,
};
use countersign_testkit::process::Launch;
use countersign_testkit::{FakeSlack, HttpFault, HttpFaults, eventually, peers};
use serde_json::json;

use crate::conformance::{self, Seen, Stage, Trouble, Who};

/// How long anything may take that is waited for.
const PATIENCE: Duration = Duration::from_mins(1);

/// A Slack behind a proxy that can fail.
struct OnFake {
    slack: FakeSlack,
    faults: HttpFaults,
}

impl OnFake {
    fn start() -> Self {
        // An adapter has a client. Fails only when a provider is in place already, which is just as good.
        drop(rustls::crypto::ring::default_provider().install_default());
        let slack = FakeSlack::start();
        Self {
            faults: HttpFaults::start(&slack.url()),
            slack,
        }
    }

    fn slack(&self) -> Slack {
        let url = format!("{}/api", self.faults.url());
        let channels = vec![CHANNEL.to_owned()];
        let (token, app_token) = (Secret::new(BOT_TOKEN), Secret::new(APP_TOKEN));
        Slack::new(Some(&url), token, app_token, channels).unwrap()
    }
}

fn user(who: Who) -> &'static str {
    match who {
        Who::Alice => ALICE,
        Who::Mallory => MALLORY,
    }
}

/// Slack's own notation for what people write.
fn written(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

impl Stage for OnFake {
    fn adapter(&self) -> Arc<dyn Adapter> {
        Arc::new(self.slack())
    }

    fn channel(&self) -> Place {
        channel()
    }

    fn id_of(&self, who: Who) -> String {
        user(who).to_owned()
    }

    async fn say(&self, who: Who, place: &Place, text: &str, mention: bool) -> MessageId {
        let mention = if mention {
            format!("<@{BOT}> ")
        } else {
            String::new()
        };
        let text = format!("{mention}{}", written(text));
        let thread = place.thread.as_deref();
        MessageId(self.slack.say(user(who), &place.channel, thread, &text))
    }

    async fn say_directly(&self, who: Who, text: &str) {
        let channel = self.slack.direct(user(who));
        self.slack.say(user(who), &channel, None, &written(text));
    }

    async fn send_file(&self, who: Who, place: &Place, name: &str, content: &str) {
        let thread = place.thread.as_deref();
        self.slack
            .send_file(user(who), &place.channel, thread, name, content);
    }

    async fn press(&self, who: Who, place: &Place, id: &MessageId, _: &Outgoing, n: usize) {
        let card = self.slack.message(&place.channel, &id.0).unwrap();
        self.slack.press(user(who), &place.channel, &card, n);
    }

    async fn deliver_again(&self) -> bool {
        self.slack.deliver_again();
        true
    }

    async fn delete(&self, place: &Place, id: &MessageId) {
        self.slack.delete(&place.channel, &id.0);
    }

    async fn trouble(&self, edits: bool, trouble: Trouble) {
        let fault = match trouble {
            Trouble::TooMany => HttpFault::TooMany {
                retry_after: 1,
                body: json!({"ok": false, "error": "ratelimited"}).to_string(),
            },
            Trouble::Broken => HttpFault::Broken,
            Trouble::ResponseLost => HttpFault::ResponseLost,
        };
        let method = if edits {
            "chat.update"
        } else {
            "chat.postMessage"
        };
        self.faults.plan("POST", method, [fault]);
    }

    async fn seen(&self, place: &Place) -> Vec<Seen> {
        let messages = self.slack.of_app(&place.channel, place.thread.as_deref());
        let seen = |message: &serde_json::Value| Seen {
            id: MessageId(message["ts"].as_str().unwrap().to_owned()),
            words: words(message),
            pings: pings(message),
            buttons: buttons(message).len(),
        };
        messages.iter().map(seen).collect()
    }

    async fn files(&self, place: &Place) -> Vec<Vec<u8>> {
        let messages = self.slack.of_app(&place.channel, place.thread.as_deref());
        let files = messages.iter().map(|message| self.slack.files_of(message));
        files.flatten().collect()
    }

    async fn whispers(&self, who: Who) -> Vec<String> {
        let whispers = self.slack.whispers(user(who));
        whispers.iter().map(words).collect()
    }
}

fn channel() -> Place {
    Place {
        channel: CHANNEL.to_owned(),
        thread: None,
    }
}

fn key(name: &str) -> Key {
    Key(format!("key_{name}"))
}

fn says(words: &str) -> Outgoing {
    Outgoing::plain(Text::plain(words))
}

#[tokio::test]
async fn slack_takes_all_that_the_core_relies_on() {
    conformance::all(&OnFake::start()).await;
}

#[tokio::test]
async fn slacks_own_bolt_runs_on_the_slack_that_the_tests_are_made_with() {
    let slack = FakeSlack::start();
    let folder = tempfile::tempdir().unwrap();
    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/platforms/slack/bolt.cjs"
    );
    let (module, url) = (peers::bolt(), format!("{}/api/", slack.url()));
    let bolt = Launch::new(peers::node(), folder.path().join("bolt.log"))
        .arguments([script, module.to_str().unwrap(), &url])
        .variable("BOT_TOKEN", BOT_TOKEN)
        .variable("APP_TOKEN", APP_TOKEN)
        .start()
        .unwrap();
    let connected = eventually(PATIENCE, "Bolt is connected or has failed", async || {
        let printed = bolt.output();
        let is_connected = slack.connections() == 1;
        (is_connected || printed.contains("rror")).then_some((is_connected, printed))
    });
    let (is_connected, printed) = connected.await;
    assert!(is_connected, "{printed}");

    let root = slack.say(ALICE, CHANNEL, None, &format!("<@{BOT}> may you?"));
    let card = eventually(PATIENCE, "Bolt asks", async || {
        slack.of_app(CHANNEL, Some(&root)).pop()
    })
    .await;
    assert_eq!(buttons(&card).len(), 2, "{card}");
    slack.press(ALICE, CHANNEL, &card, 0);
    let ts = card["ts"].as_str().unwrap();
    eventually(PATIENCE, "Bolt changes the card", async || {
        let now = slack.message(CHANNEL, ts)?;
        let is_changed = now["text"] == format!("Allowed by {ALICE} with p:bolt:allow");
        (is_changed && buttons(&now).is_empty()).then_some(())
    })
    .await;
    eventually(PATIENCE, "Bolt reacts and whispers", async || {
        let whispers = slack.whispers(ALICE);
        let is_told = whispers.iter().any(|it| it["text"] == "It is done.");
        let is_marked = slack.reactions(CHANNEL, ts) == ["white_check_mark"];
        (is_told && is_marked).then_some(())
    })
    .await;

    // After the connection is cut Bolt comes back, and all else goes on.
    slack.cut();
    eventually(PATIENCE, "Bolt is back", async || {
        (slack.connected() == 2 && slack.connections() == 1).then_some(())
    })
    .await;
    let direct = slack.direct(MALLORY);
    slack.say(MALLORY, &direct, None, "who is there?");
    slack.slash(MALLORY, CHANNEL, "status now");
    eventually(PATIENCE, "Bolt answers", async || {
        let said = slack.of_app(&direct, None).pop()?;
        let whispers = slack.whispers(MALLORY);
        let is_told = whispers
            .iter()
            .any(|it| it["text"] == "You said status now");
        (said["text"] == "I read 1" && is_told).then_some(())
    })
    .await;
    eventually(PATIENCE, "all is acknowledged", async || {
        (slack.unacknowledged() == 0).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_message_of_unknown_fate_is_found_by_its_key_and_so_is_a_file() {
    let stage = OnFake::start();
    let adapter = stage.adapter();
    let root = stage.slack.say(ALICE, CHANNEL, None, "begin");
    let thread = Place {
        thread: Some(root),
        ..channel()
    };
    for place in [thread, channel()] {
        let missing = adapter.find_sent(&place, &key("never")).await.unwrap();
        assert_eq!(missing, Sent::No);
        let key = key(if place.thread.is_some() { "a" } else { "b" });
        stage.trouble(false, Trouble::ResponseLost).await;
        adapter.send(&place, &says("lost"), &key).await.unwrap_err();
        let Sent::As(id) = adapter.find_sent(&place, &key).await.unwrap() else {
            panic!("it was sent")
        };
        adapter.edit(&place, &id, &says("found")).await.unwrap();
        let seen = stage.seen(&place).await;
        assert_eq!(seen.len(), 1, "{seen:?}");
        assert!(seen[0].words.contains("found"), "{seen:?}");

        let file = OutgoingFile {
            name: "all of it.txt".to_owned(),
            media_type: "text/plain".to_owned(),
            content: "all of it".into(),
        };
        let key = Key(format!("{}_file", key.0));
        let lost = [HttpFault::ResponseLost];
        stage
            .faults
            .plan("POST", "files.completeUploadExternal", lost);
        let failure = adapter.upload(&place, &file, &key).await.unwrap_err();
        assert!(matches!(failure, Failure::Unknown(_)), "{failure:?}");
        let found = adapter.find_sent(&place, &key).await.unwrap();
        assert!(matches!(found, Sent::As(_)), "{found:?}");
        assert_eq!(stage.files(&place).await, [b"all of it".to_vec()]);
    }
}

#[tokio::test]
async fn what_is_told_alone_finds_its_way_and_secrets_go_nowhere_else() {
    let stage = OnFake::start();
    let adapter = stage.adapter();
    let mut following = stage.following(None).await;
    let direct = stage.slack.direct(MALLORY);
    stage.slack.slash(MALLORY, &direct, "status now");
    let batch = following.next().await;
    let command = following.take(batch).remove(0);
    let What::Command {
        name,
        arguments,
        handle,
    } = command.what
    else {
        panic!("{command:?}")
    };
    assert_eq!((name.as_str(), arguments.as_str()), ("status", "now"));
    assert!(command.is_direct);

    // Where we are not, the address that came with it is the way; without one it is a direct message.
    let pressed = |handle: Option<String>| Pressed {
        place: Place {
            channel: "C0ELSEWHERE".to_owned(),
            thread: None,
        },
        by: Person {
            id: MALLORY.to_owned(),
            name: "mallory".to_owned(),
            is_bot: false,
        },
        handle,
    };
    let tell = |handle, text: &'static str| {
        let (adapter, pressed) = (Arc::clone(&adapter), pressed(handle));
        async move { adapter.reply_privately(&pressed, Tone::Refused, text).await }
    };
    tell(Some(handle), "by the address").await.unwrap();
    let whispers = stage.slack.whispers(MALLORY);
    assert_eq!(
        whispers.last().unwrap()["by"],
        "response_url",
        "{whispers:?}"
    );
    let foreign = Some("https://evil.example/hook".to_owned());
    tell(foreign, "directly, <!everyone>").await.unwrap();
    let said = stage.slack.of_app(&direct, None);
    assert!(
        words(&said[0]).contains("directly, <!everyone>"),
        "{said:?}"
    );
    assert_eq!(pings(&said[0]), Vec::<String>::new());

    let file = |handle: String| IncomingFile {
        name: "secret".to_owned(),
        media_type: None,
        size: None,
        handle,
    };
    for handle in ["https://evil.example/file", "http://127.0.0.2/file", ""] {
        let refused = adapter.download(&file(handle.to_owned()), 100).await;
        assert!(matches!(refused, Err(Failure::Refused(_))), "{refused:?}");
    }
    // Without the scope Slack leads to where people sign in; that page is no file.
    stage.slack.take_scope("files:read");
    let own = file(format!("{}/files/F1/secret", stage.slack.url()));
    let refused = adapter.download(&own, 100).await.unwrap_err();
    assert!(refused.to_string().contains("files:read"), "{refused}");
}

#[tokio::test]
async fn the_check_names_what_is_missing() {
    let stage = OnFake::start();
    let problems = async |adapter: &Slack| {
        let findings = adapter.check(&[CHANNEL.to_owned()]).await;
        let problems = findings.into_iter().filter_map(|finding| finding.problem);
        problems.collect::<Vec<_>>()
    };
    assert_eq!(problems(&stage.slack()).await, Vec::<String>::new());
    stage.slack.take_scope("reactions:write");
    stage.slack.remove_from_channel(BOT);
    let found = problems(&stage.slack()).await;
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found[0].contains("the scopes reactions:write."),
        "{found:?}"
    );
    assert!(found[1].contains("not in it"), "{found:?}");

    let url = format!("{}/api", stage.slack.url());
    let made = |token: &str, app_token: &str| {
        let (token, app_token) = (Secret::new(token), Secret::new(app_token));
        Slack::new(Some(&url), token, app_token, Vec::new())
    };
    let found = problems(&made("xoxb-wrong", "xapp-wrong").unwrap()).await;
    assert!(found[0].contains("invalid_auth"), "{found:?}");
    assert!(
        found[1].contains("invalid_auth") && found[1].contains("connections:write"),
        "{found:?}"
    );
    assert!(!found.join(" ").contains("-wrong"), "{found:?}");
    for (token, app_token, wrong) in [
        (APP_TOKEN, APP_TOKEN, "`token`"),
        (BOT_TOKEN, BOT_TOKEN, "`app_token`"),
    ] {
        let error = made(token, app_token).err().unwrap().to_string();
        assert!(
            error.starts_with(wrong) && !error.contains("fake"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn the_biggest_card_is_within_slacks_limits() {
    let stage = OnFake::start();
    let adapter = stage.adapter();
    let button = |n: usize| Button {
        label: "x".repeat(75),
        payload: "p".repeat(60),
        sign: String::new(),
        meaning: [Meaning::Yes, Meaning::No, Meaning::Neutral][n % 3],
    };
    let longest = adapter.capabilities().longest;
    let parts = countersign_bridges::text::split(&Text::plain(&"\"\\\n".repeat(40_000)), |part| {
        longest.holds(&adapter.render(part))
    });
    let card = Outgoing {
        text: parts.into_iter().next().unwrap(),
        buttons: (0..9).map(button).collect(),
    };
    adapter.send(&channel(), &card, &key("big")).await.unwrap();
    assert_eq!(stage.seen(&channel()).await[0].buttons, 9);
}
