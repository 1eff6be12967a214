//! Discord on a fake that keeps its rules and checks every body with its specification.

mod discord_js;

use std::sync::Arc;
use std::time::Duration;

use countersign_bridges::adapter::{
    Button, Failure, Happening, Key, Meaning, MessageId, Outgoing, Person, Place, Pressed, Tone,
    What,
};
use countersign_bridges::discord::Discord;
use countersign_bridges::text::Text;
use countersign_bridges::{Adapter, Batch, Intake, Secret, Stopped};
use countersign_testkit::fake_discord::{Answered, TOKEN};
use countersign_testkit::{FakeDiscord, HttpFault, HttpFaults, eventually};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::conformance::{self, Seen, Stage, Trouble, Who};

/// How long anything may take that is waited for.
const PATIENCE: Duration = Duration::from_mins(1);

/// The fake behind a proxy that can fail, with two people.
struct OnFake {
    discord: FakeDiscord,
    faults: HttpFaults,
    alice: String,
    mallory: String,
}

impl OnFake {
    fn start() -> Self {
        let discord = FakeDiscord::start();
        let faults = HttpFaults::start(&discord.url());
        discord.be_reached_at(&faults.url());
        Self {
            faults,
            alice: discord.person("alice"),
            mallory: discord.person("mallory"),
            discord,
        }
    }

    fn discord_adapter(&self) -> Discord {
        let channel = self.discord.channel();
        let url = self.faults.url();
        Discord::new(Some(&url), &Secret::new(TOKEN), [channel.as_str()]).unwrap()
    }

    fn user(&self, who: Who) -> &str {
        match who {
            Who::Alice => &self.alice,
            Who::Mallory => &self.mallory,
        }
    }
}

fn channel_of(place: &Place) -> &str {
    place.thread.as_ref().unwrap_or(&place.channel)
}

/// What a reader sees of a message: Discord's own reading of its dialect, as far as it is used.
fn read(content: &str) -> String {
    let mut out = String::new();
    let mut rest = content;
    while let Some(sign) = rest.chars().next() {
        let after = &rest[sign.len_utf8()..];
        if let Some(code) = rest.strip_prefix("```") {
            let (code, after) = code.split_once("```").expect("a block of code ends");
            let (_, code) = code
                .split_once('\n')
                .expect("a block of code begins on a line");
            out.push_str(code);
            rest = after;
        } else if let Some(code) = rest.strip_prefix("``") {
            let (code, after) = code.split_once("``").expect("code ends");
            out.push_str(code);
            rest = after;
        } else if sign == '`' {
            let (code, after) = after.split_once('`').expect("code ends");
            out.push_str(code);
            rest = after;
        } else if sign == '\\' {
            let meant = after.chars().next().expect("something is escaped");
            assert!(
                meant.is_ascii_punctuation(),
                "Discord shows the backslash too"
            );
            out.push(meant);
            rest = &after[1..];
        } else {
            assert!(!"_~|[".contains(sign), "it means something: {content}");
            out.extend((sign != '*').then_some(sign));
            rest = after;
        }
    }
    out.replace('\u{200B}', "")
}

impl Stage for OnFake {
    fn adapter(&self) -> Arc<dyn Adapter> {
        Arc::new(self.discord_adapter())
    }

    fn channel(&self) -> Place {
        Place {
            channel: self.discord.channel(),
            thread: None,
        }
    }

    fn id_of(&self, who: Who) -> String {
        self.user(who).to_owned()
    }

    async fn say(&self, who: Who, place: &Place, text: &str, mention: bool) -> MessageId {
        let user = self.user(who);
        MessageId(self.discord.say(user, channel_of(place), text, mention))
    }

    async fn say_directly(&self, who: Who, text: &str) {
        self.discord.say_directly(self.user(who), text);
    }

    async fn send_file(&self, who: Who, place: &Place, name: &str, content: &str) {
        let user = self.user(who);
        self.discord
            .send_file(user, channel_of(place), name, content);
    }

    async fn press(&self, who: Who, place: &Place, id: &MessageId, _outgoing: &Outgoing, n: usize) {
        let user = self.user(who);
        self.discord.press(user, channel_of(place), &id.0, n);
    }

    async fn deliver_again(&self) -> bool {
        self.discord.deliver_again();
        true
    }

    async fn delete(&self, place: &Place, id: &MessageId) {
        self.discord.delete(channel_of(place), &id.0);
    }

    async fn trouble(&self, edits: bool, trouble: Trouble) {
        let fault = match trouble {
            Trouble::TooMany => HttpFault::TooMany {
                retry_after: 1,
                body: json!({"message": "You are being rate limited.", "retry_after": 1.5, "global": false})
                    .to_string(),
            },
            Trouble::Broken => HttpFault::Broken,
            Trouble::ResponseLost => HttpFault::ResponseLost,
        };
        let method = if edits { "PATCH" } else { "POST" };
        self.faults.plan(method, "/messages", [fault]);
    }

    async fn seen(&self, place: &Place) -> Vec<Seen> {
        let messages = self.discord.messages(channel_of(place));
        let seen = |message: &Value| {
            let id = message["id"].as_str().unwrap();
            let rows = message["components"].as_array().unwrap().iter();
            Seen {
                id: MessageId(id.to_owned()),
                words: read(message["content"].as_str().unwrap()),
                pings: self.discord.pings(id),
                buttons: rows
                    .map(|row| row["components"].as_array().unwrap().len())
                    .sum(),
            }
        };
        messages.iter().map(seen).collect()
    }

    async fn files(&self, place: &Place) -> Vec<Vec<u8>> {
        self.discord.files(channel_of(place))
    }

    async fn whispers(&self, who: Who) -> Vec<String> {
        self.discord.whispers(self.user(who))
    }
}

/// An adapter that follows, and what comes of it.
struct Follower {
    _task: JoinSet<Result<Stopped, Failure>>,
    batches: mpsc::Receiver<Batch>,
    cursor: Option<String>,
}

impl Follower {
    fn of(adapter: Arc<dyn Adapter>, cursor: Option<String>) -> Self {
        let (intake, batches) = Intake::new();
        let mut task = JoinSet::new();
        let from = cursor.clone();
        task.spawn(async move { adapter.follow(from, &intake).await });
        Self {
            _task: task,
            batches,
            cursor,
        }
    }

    /// Follows from now on, and returns when it does.
    async fn now(adapter: Arc<dyn Adapter>) -> Self {
        let mut follower = Self::of(adapter, None);
        // The first thing that is known is where we are.
        follower.next().await;
        follower
    }

    /// The next happenings; taking them is what makes their cursor count.
    async fn next(&mut self) -> Vec<Happening> {
        let batch = tokio::time::timeout(PATIENCE, self.batches.recv()).await;
        let batch = batch.expect("something happens").expect("it follows");
        self.cursor = batch.cursor.clone().or(self.cursor.take());
        let happenings = batch.happenings.clone();
        batch.taken();
        happenings
    }

    /// The words of everything that is said until `last` is.
    async fn said_until(&mut self, last: &str) -> Vec<String> {
        let mut said = Vec::new();
        while !said.iter().any(|words| words == last) {
            for happening in self.next().await {
                if let What::Message { text, .. } = happening.what {
                    said.push(text);
                }
            }
        }
        said
    }

    async fn pressed(&mut self) -> Happening {
        loop {
            let happenings = self.next().await;
            let is_press =
                |it: &Happening| matches!(it.what, What::Press { .. } | What::Command { .. });
            if let Some(press) = happenings.into_iter().find(is_press) {
                return press;
            }
        }
    }
}

fn card() -> Outgoing {
    let button = |label: &str, n: usize, meaning| Button {
        label: label.to_owned(),
        payload: format!("p:0123456789:{n}"),
        sign: String::new(),
        meaning,
    };
    Outgoing {
        text: Text::plain("May I?"),
        buttons: vec![button("Yes", 0, Meaning::Yes), button("No", 1, Meaning::No)],
    }
}

fn reply_to(press: &Happening) -> Pressed {
    let (What::Press { handle, .. } | What::Command { handle, .. }) = &press.what else {
        panic!("{press:?} has no handle")
    };
    Pressed {
        place: press.place.clone(),
        by: press.by.clone(),
        handle: Some(handle.clone()),
    }
}

async fn tell(adapter: &impl AsRef<dyn Adapter>, press: &Happening, tone: Tone, text: &str) {
    let to = reply_to(press);
    let told = adapter.as_ref().reply_privately(&to, tone, text);
    told.await.unwrap();
}

#[tokio::test]
async fn discord_takes_all_that_the_core_relies_on() {
    let stage = OnFake::start();
    conformance::all(&stage).await;
    stage.discord.assert_sound();
}

#[tokio::test]
async fn a_connection_that_is_cut_is_taken_up_where_it_was() {
    let stage = OnFake::start();
    let mut follower = Follower::now(stage.adapter()).await;
    let channel = stage.discord.channel();
    stage.discord.say(&stage.alice, &channel, "before", true);
    follower.said_until("before").await;
    stage.discord.cut_gateway();
    for text in ["during", "after"] {
        stage.discord.say(&stage.alice, &channel, text, true);
    }
    assert_eq!(follower.said_until("after").await, ["during", "after"]);
    assert_eq!((stage.discord.resumed(), stage.discord.sessions()), (1, 1));
}

#[tokio::test]
async fn what_is_not_durable_is_told_again() {
    let stage = OnFake::start();
    let mut follower = Follower::now(stage.adapter()).await;
    let channel = stage.discord.channel();
    stage.discord.say(&stage.alice, &channel, "first", true);
    follower.said_until("first").await;
    let cursor = follower.cursor.clone();
    stage.discord.say(&stage.alice, &channel, "second", true);
    // It is handed in, and the process dies before it is written down.
    let batch = tokio::time::timeout(PATIENCE, follower.batches.recv()).await;
    assert_eq!(batch.unwrap().unwrap().happenings.len(), 1);
    drop(follower);
    let mut follower = Follower::of(stage.adapter(), cursor);
    assert_eq!(follower.said_until("second").await, ["second"]);
    assert_eq!(stage.discord.resumed(), 1);
}

#[tokio::test]
async fn what_was_said_while_the_session_was_forgotten_is_read() {
    let stage = OnFake::start();
    let adapter = stage.adapter();
    let (discord, channel) = (&stage.discord, stage.discord.channel());
    discord.say(&stage.alice, &channel, "too early", true);
    let mut follower = Follower::now(stage.adapter()).await;
    let mut threads = Vec::new();
    for text in ["one", "two"] {
        let root = MessageId(discord.say(&stage.alice, &channel, text, true));
        let opened = adapter.open_thread(&stage.channel(), &root, text).await;
        threads.push(opened.unwrap().thread.unwrap());
        follower.said_until(text).await;
    }
    discord.say_directly(&stage.alice, "hello");
    follower.said_until("hello").await;
    let cursor = follower.cursor.clone();
    drop(follower);

    discord.forget_sessions();
    // More than is read at once.
    for n in 0..120 {
        discord.say(&stage.mallory, &threads[0], &format!("line {n}"), false);
    }
    discord.say(
        &stage.alice,
        &threads[1],
        "in a thread that is put away",
        false,
    );
    discord.put_away(&threads[1]);
    discord.say_directly(&stage.alice, "in private");
    discord.say(&stage.alice, &channel, "in the channel", true);
    let mut follower = Follower::of(stage.adapter(), cursor);
    let mut said: Vec<(String, String)> = Vec::new();
    while !said.iter().any(|(_, text)| text == "line 119") {
        for happening in follower.next().await {
            let What::Message { text, .. } = happening.what else {
                continue;
            };
            let is_direct = happening.is_direct;
            assert_eq!(is_direct, text == "in private" || text == "hello", "{text}");
            said.push((happening.id, text));
        }
    }
    let texts: Vec<&str> = said.iter().map(|(_, text)| text.as_str()).collect();
    let lines = texts.iter().filter(|text| text.starts_with("line "));
    let expected: Vec<String> = (0..120).map(|n| format!("line {n}")).collect();
    assert_eq!(lines.copied().collect::<Vec<_>>(), expected);
    for text in [
        "in a thread that is put away",
        "in private",
        "in the channel",
    ] {
        assert!(texts.contains(&text), "{text}");
    }
    assert!(!texts.contains(&"too early"), "{texts:?}");
    discord.say(&stage.alice, &threads[1], "and on", false);
    follower.said_until("and on").await;
    discord.assert_sound();
}

#[tokio::test]
async fn a_repetition_is_the_same_message_for_as_long_as_discord_knows() {
    let stage = OnFake::start();
    let (adapter, channel) = (stage.adapter(), stage.channel());
    let key = Key("cs_0123456789abcdef0123456789abcdef".to_owned());
    let message = Outgoing::plain(Text::plain("once"));
    let first = adapter.send(&channel, &message, &key).await.unwrap();
    let again = stage.adapter().send(&channel, &message, &key).await;
    assert_eq!(again.unwrap(), first);
    // After that nobody can tell, and the core says so.
    stage.discord.forget_nonces();
    let later = adapter.send(&channel, &message, &key).await.unwrap();
    assert_ne!(later, first);
    assert!(!adapter.capabilities().repeatable);
}

#[tokio::test]
async fn a_press_is_answered_in_time_and_where_only_one_sees_it() {
    let stage = OnFake::start();
    let adapter = stage.adapter();
    let mut follower = Follower::now(Arc::clone(&adapter)).await;
    let channel = stage.discord.channel();
    let key = Key("card".to_owned());
    let id = adapter.send(&stage.channel(), &card(), &key).await.unwrap();

    // What is known at once is the answer.
    let quick = stage.discord.press(&stage.alice, &channel, &id.0, 0);
    let press = follower.pressed().await;
    tell(&adapter, &press, Tone::Done, "allowed *once*").await;
    assert_eq!(stage.discord.answer_to(&quick).unwrap().kind, 4);
    assert_eq!(stage.discord.whispers(&stage.alice), [r"allowed \*once\*"]);

    // What takes longer is announced in time, and told after.
    let slow = stage.discord.press(&stage.mallory, &channel, &id.0, 1);
    let press = follower.pressed().await;
    let answered = eventually(PATIENCE, "it is answered", async || {
        stage.discord.answer_to(&slow)
    })
    .await;
    let Answered { kind, after } = answered;
    assert!(
        kind == 6 && after < Duration::from_secs(3),
        "{kind} {after:?}"
    );
    tell(&adapter, &press, Tone::Refused, "you may not").await;
    assert_eq!(stage.discord.whispers(&stage.mallory), ["you may not"]);

    // A command as well.
    let command = stage.discord.command(
        &stage.alice,
        &channel,
        "deny",
        &[("ask", "ab12cd34"), ("why", "not now")],
    );
    let given = follower.pressed().await;
    let What::Command {
        name, arguments, ..
    } = &given.what
    else {
        panic!("{given:?}")
    };
    assert_eq!(
        (name.as_str(), arguments.as_str()),
        ("deny", "ab12cd34 not now")
    );
    tell(&adapter, &given, Tone::Done, "denied").await;
    assert_eq!(stage.discord.answer_to(&command).unwrap().kind, 4);
    let offered = stage.discord.commands();
    for name in [
        "new", "stop", "status", "jobs", "engine", "model", "allow", "deny", "help",
    ] {
        assert!(offered.iter().any(|it| it == name), "{name}: {offered:?}");
    }
    stage.discord.assert_sound();
}

#[tokio::test]
async fn who_pressed_while_nobody_followed_is_told_directly() {
    let stage = OnFake::start();
    let mut follower = Follower::now(stage.adapter()).await;
    let channel = stage.discord.channel();
    let adapter = stage.adapter();
    let id = adapter
        .send(&stage.channel(), &card(), &Key("card".to_owned()))
        .await
        .unwrap();
    stage.discord.say(&stage.alice, &channel, "there", true);
    follower.said_until("there").await;
    let cursor = follower.cursor.clone();
    drop(follower);
    let pressed = stage.discord.press(&stage.mallory, &channel, &id.0, 0);
    // Discord gives it up after three seconds.
    stage.discord.give_up(&pressed);
    let mut follower = Follower::of(stage.adapter(), cursor);
    let press = follower.pressed().await;
    tell(&adapter, &press, Tone::Refused, "you may not").await;
    assert_eq!(stage.discord.whispers(&stage.mallory), ["you may not"]);
    assert_eq!(stage.discord.answer_to(&pressed), None);
}

#[tokio::test]
async fn nothing_is_heard_of_other_channels_and_commands_there_are_turned_away() {
    let stage = OnFake::start();
    let mut follower = Follower::now(stage.adapter()).await;
    let (discord, channel, other) = (
        &stage.discord,
        stage.discord.channel(),
        stage.discord.other_channel(),
    );
    discord.say(&stage.alice, &other, "a secret", true);
    let command = discord.command(&stage.alice, &other, "status", &[]);
    discord.say(&stage.alice, &channel, "to us", true);
    assert_eq!(follower.said_until("to us").await, ["to us"]);
    let answered = eventually(PATIENCE, "it is answered", async || {
        discord.answer_to(&command)
    })
    .await;
    assert_eq!(answered.kind, 4);
    assert_eq!(
        discord.whispers(&stage.alice),
        ["Nothing is done in this channel."]
    );
}

#[tokio::test]
async fn the_check_says_what_is_missing() {
    let stage = OnFake::start();
    let channels = [stage.discord.channel()];
    stage.discord.permit((1 << 10) | (1 << 11));
    stage.discord.let_read(false);
    let findings = stage.adapter().check(&channels).await;
    let problems: Vec<String> = findings.into_iter().filter_map(|it| it.problem).collect();
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(
        problems[0].contains("Message Content Intent"),
        "{problems:?}"
    );
    for name in ["Create Public Threads", "Attach Files", "Add Reactions"] {
        assert!(problems[1].contains(name), "{problems:?}");
    }
    assert!(!problems[1].contains("View Channel"), "{problems:?}");

    let url = stage.faults.url();
    let stranger = Discord::new(Some(&url), &Secret::new("other"), []).unwrap();
    let findings = stranger.check(&channels).await;
    assert!(
        findings[0].problem.as_ref().unwrap().contains("401"),
        "{findings:?}"
    );
    assert!(!format!("{findings:?}").contains("other"));
    stage.discord.assert_sound();
}

#[tokio::test]
async fn a_gateway_that_refuses_us_says_why() {
    let stage = OnFake::start();
    stage.discord.let_read(false);
    let (intake, _batches) = Intake::new();
    let refused = stage
        .discord_adapter()
        .follow(None, &intake)
        .await
        .unwrap_err();
    let Failure::Refused(problem) = refused else {
        panic!("{refused:?}")
    };
    assert!(problem.contains("Message Content Intent"), "{problem}");
}

#[tokio::test]
async fn nothing_but_numbers_becomes_part_of_a_path() {
    let stage = OnFake::start();
    let adapter = stage.adapter();
    let odd = Place {
        channel: "1/../users/@me".to_owned(),
        thread: None,
    };
    let message = Outgoing::plain(Text::plain("hi"));
    let refused = adapter.send(&odd, &message, &Key("k".to_owned())).await;
    assert!(matches!(refused, Err(Failure::Refused(_))), "{refused:?}");
    let pressed = Pressed {
        place: odd,
        by: Person {
            id: "@me".to_owned(),
            name: String::new(),
            is_bot: false,
        },
        handle: Some("p:1:2:../../x".to_owned()),
    };
    let refused = adapter.reply_privately(&pressed, Tone::Refused, "no").await;
    assert!(matches!(refused, Err(Failure::Refused(_))), "{refused:?}");
}
