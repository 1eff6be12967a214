//! What the core relies on, tried on each adapter: a [`Stage`] is the platform with people on it, [`all`] goes through
//! every promise of `countersign_bridges::adapter`.
//!
//! An adapter's own test makes a stage and calls [`all`]. Each case uses places of its own, so they share one stage.

use std::sync::Arc;
use std::time::Duration;

use countersign_bridges::adapter::{
    Button, Buttons, Failure, Happening, IncomingFile, Key, Meaning, MessageId, Outgoing,
    OutgoingFile, Person, Place, Pressed, Reaction, Tone, What,
};
use countersign_bridges::text::{Block, Span, Text, split};
use countersign_bridges::{Adapter, Batch, Intake};
use countersign_testkit::eventually;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// How long anything may take that is waited for.
const PATIENCE: Duration = Duration::from_mins(1);

/// People on the platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    /// One who is known.
    Alice,
    /// Another one.
    Mallory,
}

/// What is wrong with the platform for the next request that sends or edits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// It wants us to wait for a second: 429, in the platform's own words.
    TooMany,
    /// It breaks down: 500.
    Broken,
    /// It does what it was asked for, and the response is lost.
    ResponseLost,
}

/// A message of ours as people see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) id: MessageId,
    /// Its words, as a reader sees them, without the dialect. Code is in it letter for letter.
    pub(crate) words: String,
    /// Who was pinged by it, if anybody: ids, or names such as `@room`.
    pub(crate) pings: Vec<String>,
    /// How many buttons or seeded reactions it has.
    pub(crate) buttons: usize,
}

/// The platform with people on it. One channel is there, in which everybody is, we as well.
pub(crate) trait Stage {
    /// A new adapter, as after a restart.
    fn adapter(&self) -> Arc<dyn Adapter>;
    /// The channel.
    fn channel(&self) -> Place;
    /// What the platform calls somebody.
    fn id_of(&self, who: Who) -> String;
    /// Somebody says something that mentions us if it is said so.
    async fn say(&self, who: Who, place: &Place, text: &str, mention: bool) -> MessageId;
    /// Somebody says something to us alone.
    async fn say_directly(&self, who: Who, text: &str);
    /// Somebody sends a file of text.
    async fn send_file(&self, who: Who, place: &Place, name: &str, content: &str);
    /// Somebody presses the button of this number (from zero) of a message that `outgoing` was, or reacts so.
    async fn press(&self, who: Who, place: &Place, id: &MessageId, outgoing: &Outgoing, n: usize);
    /// The platform delivers the newest thing once more, with the same identity. False if this one cannot.
    async fn deliver_again(&self) -> bool;
    /// A message of ours is deleted.
    async fn delete(&self, place: &Place, id: &MessageId);
    /// The next request that sends (`edits` false) or edits a message meets trouble.
    async fn trouble(&self, edits: bool, trouble: Trouble);
    /// The messages of ours that stand in a place, in their order.
    async fn seen(&self, place: &Place) -> Vec<Seen>;
    /// The contents of the files of ours in a place.
    async fn files(&self, place: &Place) -> Vec<Vec<u8>>;
    /// What only this person saw: private replies, or direct messages of ours.
    async fn whispers(&self, who: Who) -> Vec<String>;
}

/// Goes through every promise.
pub(crate) async fn all(stage: &impl Stage) {
    what_is_sent_is_seen_in_order_and_can_be_edited(stage).await;
    the_same_key_twice_is_one_message(stage).await;
    a_request_that_meets_trouble_says_so_and_is_doubled_by_no_repetition(stage).await;
    a_message_that_was_deleted_is_gone(stage).await;
    nobody_is_pinged_but_by_a_person_span(stage).await;
    code_is_shown_letter_for_letter_and_long_texts_fit(stage).await;
    files_go_out_and_come_in(stage).await;
    what_people_say_and_press_comes_in_once_and_goes_on_after_a_restart(stage).await;
    direct_messages_are_told_apart_and_private_replies_are_private(stage).await;
    status_is_one_reaction(stage).await;
    a_bad_channel_is_found_by_the_check(stage).await;
}

pub(crate) fn key(name: &str) -> Key {
    Key(format!("key_{name}_{:08x}", rand_number()))
}

/// Keys of other runs on the same platform are other keys.
fn rand_number() -> u32 {
    use std::hash::{BuildHasher as _, Hasher as _};
    let hasher = std::collections::hash_map::RandomState::new().build_hasher();
    u32::try_from(hasher.finish() & 0xffff_ffff).unwrap()
}

pub(crate) fn card(words: &str) -> Outgoing {
    let button = |label: &str, n: usize, sign: &str, meaning| Button {
        label: label.to_owned(),
        payload: format!("p:0123456789:{n}"),
        sign: sign.to_owned(),
        meaning,
    };
    Outgoing {
        text: Text::plain(words),
        buttons: vec![
            button("Allow once", 0, "1️⃣", Meaning::Yes),
            button("Deny", 1, "2️⃣", Meaning::No),
        ],
    }
}

pub(crate) fn says(words: &str) -> Outgoing {
    Outgoing::plain(Text::plain(words))
}

/// A thread of its own in the channel.
async fn thread(stage: &impl Stage, adapter: &Arc<dyn Adapter>, title: &str) -> Place {
    let root = stage.say(Who::Alice, &stage.channel(), title, true).await;
    let place = adapter.open_thread(&stage.channel(), &root, title).await;
    let again = adapter.open_thread(&stage.channel(), &root, title).await;
    let place = place.unwrap();
    assert_eq!(again.unwrap(), place, "the same message, the same thread");
    place
}

/// Sends a message, and panics unless the platform takes it.
async fn sent(adapter: &Arc<dyn Adapter>, place: &Place, message: Outgoing, key: Key) -> MessageId {
    adapter.send(place, &message, &key).await.unwrap()
}

async fn words(stage: &impl Stage, place: &Place) -> Vec<String> {
    let seen = stage.seen(place).await;
    seen.into_iter().map(|seen| seen.words).collect()
}

async fn what_is_sent_is_seen_in_order_and_can_be_edited(stage: &impl Stage) {
    let adapter = stage.adapter();
    let place = thread(stage, &adapter, "order").await;
    let mut ids = Vec::new();
    for n in 0..5 {
        ids.push(
            sent(
                &adapter,
                &place,
                says(&format!("message {n}")),
                key("order"),
            )
            .await,
        );
    }
    let asked = card("May I?");
    let id = adapter.send(&place, &asked, &key("card")).await.unwrap();
    let seen = stage.seen(&place).await;
    let found: Vec<&MessageId> = seen.iter().map(|seen| &seen.id).collect();
    assert_eq!(found, ids.iter().chain([&id]).collect::<Vec<_>>());
    assert!(seen[0].words.contains("message 0") && seen[4].words.contains("message 4"));
    assert_eq!(seen[5].buttons, 2, "{seen:?}");

    adapter.edit(&place, &id, &says("Allowed.")).await.unwrap();
    let seen = stage.seen(&place).await;
    assert_eq!(seen.len(), 6, "an edit is no new message");
    assert!(seen[5].words.contains("Allowed."), "{seen:?}");
    assert_eq!(seen[5].buttons, 0, "buttons go away");
}

async fn the_same_key_twice_is_one_message(stage: &impl Stage) {
    let adapter = stage.adapter();
    let place = thread(stage, &adapter, "keys").await;
    let (one, other) = (key("one"), key("other"));
    let first = adapter.send(&place, &says("once"), &one).await.unwrap();
    if adapter.capabilities().repeatable {
        // As after a kill between the platform's doing and our noting it.
        let again = stage.adapter().send(&place, &says("once"), &one).await;
        assert_eq!(again.unwrap(), first);
        assert_eq!(words(stage, &place).await.len(), 1);
    }
    adapter.send(&place, &says("twice"), &other).await.unwrap();
    assert_eq!(words(stage, &place).await.len(), 2);
}

async fn a_request_that_meets_trouble_says_so_and_is_doubled_by_no_repetition(stage: &impl Stage) {
    let adapter = stage.adapter();
    let place = thread(stage, &adapter, "trouble").await;
    let mut expected = 0;
    for trouble in [Trouble::TooMany, Trouble::Broken, Trouble::ResponseLost] {
        let key = key("trouble");
        let message = says(&format!("{trouble:?}"));
        stage.trouble(false, trouble).await;
        let failure = adapter.send(&place, &message, &key).await.unwrap_err();
        match trouble {
            Trouble::TooMany => assert!(
                matches!(failure, Failure::Later { after, .. } if after >= Duration::from_secs(1)),
                "{failure:?}"
            ),
            Trouble::Broken => assert!(
                matches!(failure, Failure::Unreached(_) | Failure::Unknown(_)),
                "{failure:?}"
            ),
            Trouble::ResponseLost => {
                assert!(matches!(failure, Failure::Unknown(_)), "{failure:?}");
            }
        }
        let is_sent = trouble == Trouble::ResponseLost;
        if adapter.capabilities().repeatable || !is_sent {
            adapter.send(&place, &message, &key).await.unwrap();
            expected += 1;
        } else {
            // What cannot be repeated is looked for, or nobody can tell.
            adapter.find_sent(&place, &key).await.unwrap();
            expected += 1;
        }
        assert_eq!(words(stage, &place).await.len(), expected, "{trouble:?}");
    }
    let id = adapter
        .send(&place, &says("before"), &key("edit"))
        .await
        .unwrap();
    for trouble in [Trouble::TooMany, Trouble::Broken, Trouble::ResponseLost] {
        stage.trouble(true, trouble).await;
        let after = says(&format!("after {trouble:?}"));
        assert!(adapter.edit(&place, &id, &after).await.is_err());
        adapter.edit(&place, &id, &after).await.unwrap();
        let seen = words(stage, &place).await;
        assert_eq!(seen.len(), expected + 1, "{trouble:?}");
        assert!(
            seen[expected].contains(&format!("after {trouble:?}")),
            "{seen:?}"
        );
    }
}

async fn a_message_that_was_deleted_is_gone(stage: &impl Stage) {
    let adapter = stage.adapter();
    let place = thread(stage, &adapter, "deleted").await;
    let id = adapter
        .send(&place, &card("soon gone"), &key("gone"))
        .await
        .unwrap();
    stage.delete(&place, &id).await;
    let failure = adapter
        .edit(&place, &id, &says("too late"))
        .await
        .unwrap_err();
    assert!(matches!(failure, Failure::Gone(_)), "{failure:?}");
    assert!(
        !words(stage, &place)
            .await
            .iter()
            .any(|words| words.contains("too late"))
    );
}

async fn nobody_is_pinged_but_by_a_person_span(stage: &impl Stage) {
    let adapter = stage.adapter();
    let place = thread(stage, &adapter, "pings").await;
    let alice = stage.id_of(Who::Alice);
    let loud = format!(
        "@everyone @here @room @channel <!channel> <!here> <!everyone> <@{alice}> {alice} <@&1> <#C1> \
         [x](https://matrix.to/#/{alice}) <a href=\"tg://user?id=1\">x</a> *b* _i_ ~s~ ||s|| & < > \" \\"
    );
    let text = Text {
        blocks: vec![
            Block::paragraph([
                Span::plain(&loud),
                Span::bold(&loud),
                Span::Italic(loud.clone()),
                Span::code(&loud),
            ]),
            Block::Heading {
                spans: vec![Span::plain(&loud)],
            },
            Block::Quote {
                spans: vec![Span::plain(&loud)],
            },
            Block::code("sh", &format!("echo '{loud}'\n```\n@everyone")),
        ],
    };
    let id = sent(&adapter, &place, Outgoing::plain(text), key("loud")).await;
    let seen = stage.seen(&place).await;
    assert_eq!(seen[0].pings, Vec::<String>::new(), "{seen:?}");
    assert!(seen[0].words.contains("@everyone @here @room"), "{seen:?}");

    let text = Text {
        blocks: vec![Block::paragraph([
            Span::plain("Please look, "),
            Span::Person(alice.clone()),
        ])],
    };
    let called = sent(&adapter, &place, Outgoing::plain(text), key("called")).await;
    let seen = stage.seen(&place).await;
    let pings = |id: &MessageId| {
        seen.iter()
            .find(|seen| seen.id == *id)
            .unwrap()
            .pings
            .clone()
    };
    assert_eq!(pings(&called), [alice]);
    assert_eq!(pings(&id), Vec::<String>::new());
}

async fn code_is_shown_letter_for_letter_and_long_texts_fit(stage: &impl Stage) {
    let adapter = stage.adapter();
    let place = thread(stage, &adapter, "code").await;
    let code = "if a < b && c > \"d\" { `x` } # <b>&amp;</b> *y* _z_ \\\n```\nend ~~~";
    let longest = adapter.capabilities().longest;
    let lines: Vec<String> = (0..4_000)
        .map(|n| format!("line {n} of <many> & more"))
        .collect();
    let long = lines.join("\n");
    let text = Text::plain("Here:")
        .with(Block::code("", code))
        .with(Block::code("", &long));
    let parts = split(&text, |part| longest.holds(&adapter.render(part)));
    assert!(parts.len() > 1);
    let mut all = String::new();
    for part in parts.into_iter().take(3) {
        let rendered = adapter.render(&part);
        assert!(longest.holds(&rendered));
        sent(&adapter, &place, Outgoing::plain(part), key("part")).await;
    }
    for seen in stage.seen(&place).await {
        all.push_str(&seen.words);
        all.push('\n');
    }
    let squeeze = |text: &str| {
        text.chars()
            .filter(|sign| !sign.is_whitespace())
            .collect::<String>()
    };
    assert!(squeeze(&all).contains(&squeeze(code)), "{all}");
    assert!(all.contains("line 0 of <many> & more"), "{all}");
}

async fn files_go_out_and_come_in(stage: &impl Stage) {
    let adapter = stage.adapter();
    let (intake, mut batches) = Intake::new();
    let mut following = JoinSet::new();
    let place = thread(stage, &adapter, "files").await;
    let follower = stage.adapter();
    following.spawn(async move { follower.follow(None, &intake).await });
    // What is said before anybody follows is old: the first happening shows that it is followed.
    let said = until_followed(stage, &mut batches).await;
    let file = OutgoingFile {
        name: "full.txt".to_owned(),
        media_type: "text/plain".to_owned(),
        content: "the whole\n".repeat(1000).into(),
    };
    adapter.upload(&place, &file, &key("file")).await.unwrap();
    assert_eq!(stage.files(&place).await, [file.content.to_vec()]);

    stage
        .send_file(Who::Alice, &place, "notes.txt", "remember")
        .await;
    let came = wait_for(&mut batches, said, |happening| match &happening.what {
        What::Message { files, .. } => files.first().cloned(),
        What::Command { .. } | What::Press { .. } | What::Reaction { .. } => None,
    });
    let file: IncomingFile = came.await.1;
    assert_eq!(file.name, "notes.txt");
    assert_eq!(adapter.download(&file, 1000).await.unwrap(), "remember");
    let refused = adapter.download(&file, 3).await.unwrap_err();
    assert!(matches!(refused, Failure::Refused(_)), "{refused:?}");
}

/// Says things until one of them comes in, and returns the newest cursor.
async fn until_followed(stage: &impl Stage, batches: &mut mpsc::Receiver<Batch>) -> Option<String> {
    let mut cursor = None;
    let mut n = 0;
    eventually(PATIENCE, "the adapter follows", async || {
        n += 1;
        let text = format!("are you there? {n}");
        stage.say(Who::Alice, &stage.channel(), &text, true).await;
        let Ok(Some(batch)) = tokio::time::timeout(Duration::from_secs(2), batches.recv()).await
        else {
            return None;
        };
        let is_heard = !batch.happenings.is_empty();
        cursor = batch.cursor.clone().or(cursor.take());
        batch.taken();
        is_heard.then_some(())
    })
    .await;
    cursor
}

/// Takes what comes in until something is `wanted`; returns the newest cursor and that.
async fn wait_for<T>(
    batches: &mut mpsc::Receiver<Batch>,
    mut cursor: Option<String>,
    wanted: impl Fn(&Happening) -> Option<T>,
) -> (Option<String>, T) {
    let waiting = async {
        loop {
            let batch = batches.recv().await.expect("the adapter follows");
            let found = batch.happenings.iter().find_map(&wanted);
            cursor = batch.cursor.clone().or(cursor.take());
            batch.taken();
            if let Some(found) = found {
                return (cursor.take(), found);
            }
        }
    };
    let found = tokio::time::timeout(PATIENCE, waiting).await;
    found.expect("what is waited for comes in")
}

fn with_text(text: &str) -> impl Fn(&Happening) -> Option<Happening> {
    move |happening| match &happening.what {
        What::Message { text: said, .. } if said.contains(text) => Some(happening.clone()),
        What::Message { .. }
        | What::Command { .. }
        | What::Press { .. }
        | What::Reaction { .. } => None,
    }
}

async fn what_people_say_and_press_comes_in_once_and_goes_on_after_a_restart(stage: &impl Stage) {
    let adapter = stage.adapter();
    let (intake, mut batches) = Intake::new();
    let mut following = JoinSet::new();
    let follower = stage.adapter();
    following.spawn(async move { follower.follow(None, &intake).await });
    let cursor = until_followed(stage, &mut batches).await;

    let root = stage
        .say(Who::Alice, &stage.channel(), "start here", true)
        .await;
    let (cursor, came) = wait_for(&mut batches, cursor, with_text("start here")).await;
    assert_eq!(came.by.id, stage.id_of(Who::Alice));
    assert!(!came.is_direct && !came.by.is_bot);
    let What::Message {
        message,
        mentions_us,
        text,
        ..
    } = &came.what
    else {
        panic!("{came:?}")
    };
    assert_eq!(
        (message, *mentions_us, text.trim()),
        (&root, true, "start here")
    );

    let place = adapter
        .open_thread(&stage.channel(), &root, "t")
        .await
        .unwrap();
    let asked = card("press one");
    let id = adapter.send(&place, &asked, &key("press")).await.unwrap();
    stage.say(Who::Mallory, &place, "follow up", false).await;
    let (cursor, came) = wait_for(&mut batches, cursor, with_text("follow up")).await;
    assert_eq!(
        (&came.place, came.by.id.as_str()),
        (&place, stage.id_of(Who::Mallory).as_str())
    );
    stage.press(Who::Alice, &place, &id, &asked, 1).await;
    let kind = adapter.capabilities().buttons;
    let pressed = |happening: &Happening| match (&happening.what, kind) {
        (
            What::Press {
                payload, message, ..
            },
            Buttons::Native,
        ) => (payload == "p:0123456789:1" && *message == id).then(|| happening.clone()),
        (What::Reaction { message, sign }, Buttons::Reactions) => {
            (sign == "2️⃣" && *message == id).then(|| happening.clone())
        }
        _ => None,
    };
    let (cursor, press) = wait_for(&mut batches, cursor, pressed).await;
    assert_eq!(press.by.id, stage.id_of(Who::Alice));

    if stage.deliver_again().await {
        stage
            .say(Who::Alice, &place, "after the double", false)
            .await;
        assert_once(&mut batches, &press, pressed).await;
    }

    // A restart: what is not taken comes again, what is said meanwhile comes too.
    drop(batches);
    let ended = following.join_next().await.expect("one follower").unwrap();
    assert!(ended.is_ok(), "{ended:?}");
    stage.say(Who::Alice, &place, "said meanwhile", false).await;
    let (intake, mut batches) = Intake::new();
    let follower = stage.adapter();
    let from = cursor.clone();
    following.spawn(async move { follower.follow(from, &intake).await });
    if cursor.is_some() {
        wait_for(&mut batches, cursor, with_text("said meanwhile")).await;
    } else {
        until_followed(stage, &mut batches).await;
    }
}

/// Waits for what was said after a double delivery: whatever came of the pressing has one id.
async fn assert_once(
    batches: &mut mpsc::Receiver<Batch>,
    press: &Happening,
    pressed: impl Fn(&Happening) -> Option<Happening>,
) {
    let mut ids = vec![press.id.clone()];
    let waiting = async {
        loop {
            let batch = batches.recv().await.expect("the adapter follows");
            let last = batch
                .happenings
                .iter()
                .any(|it| with_text("after the double")(it).is_some());
            let doubles = batch.happenings.iter().filter(|it| pressed(it).is_some());
            ids.extend(doubles.map(|it| it.id.clone()));
            batch.taken();
            if last {
                return;
            }
        }
    };
    tokio::time::timeout(PATIENCE, waiting)
        .await
        .expect("it goes on");
    ids.dedup();
    assert_eq!(ids.len(), 1, "the same thing has the same id");
}

async fn direct_messages_are_told_apart_and_private_replies_are_private(stage: &impl Stage) {
    let adapter = stage.adapter();
    let (intake, mut batches) = Intake::new();
    let mut following = JoinSet::new();
    let follower = stage.adapter();
    following.spawn(async move { follower.follow(None, &intake).await });
    let cursor = until_followed(stage, &mut batches).await;
    stage.say_directly(Who::Alice, "between us").await;
    let (_, came) = wait_for(&mut batches, cursor, with_text("between us")).await;
    assert!(came.is_direct);
    let direct = adapter.direct(&stage.id_of(Who::Alice)).await.unwrap();
    assert_eq!(
        direct.channel, came.place.channel,
        "there is one such place"
    );
    adapter
        .send(&direct, &says("hello, Alice"), &key("dm"))
        .await
        .unwrap();

    let mallory = Pressed {
        place: stage.channel(),
        by: Person {
            id: stage.id_of(Who::Mallory),
            name: "Mallory".to_owned(),
            is_bot: false,
        },
        handle: None,
    };
    let before = stage.seen(&stage.channel()).await.len();
    let refused = adapter.reply_privately(&mallory, Tone::Refused, "you may not answer this");
    refused.await.unwrap();
    let whispers = stage.whispers(Who::Mallory).await;
    assert!(
        whispers.iter().any(|words| words.contains("you may not")),
        "{whispers:?}"
    );
    assert_eq!(stage.seen(&stage.channel()).await.len(), before);
}

async fn status_is_one_reaction(stage: &impl Stage) {
    let adapter = stage.adapter();
    let channel = stage.channel();
    let message = stage.say(Who::Alice, &channel, "do it", true).await;
    let mut former = None;
    for reaction in [Reaction::Working, Reaction::Waiting, Reaction::Done] {
        let reacted = adapter.react(&channel, &message, former, Some(reaction));
        reacted.await.unwrap();
        // Once more, as after a kill: the same is no error.
        let again = adapter.react(&channel, &message, former, Some(reaction));
        again.await.unwrap();
        former = Some(reaction);
    }
    adapter
        .react(&channel, &message, former, None)
        .await
        .unwrap();
}

async fn a_bad_channel_is_found_by_the_check(stage: &impl Stage) {
    let adapter = stage.adapter();
    let well = adapter.check(&[stage.channel().channel]).await;
    assert!(!well.is_empty());
    assert!(
        well.iter().all(|finding| finding.problem.is_none()),
        "{well:?}"
    );
    let wrong = adapter.check(&["!nowhere:localhost".to_owned()]).await;
    assert!(
        wrong.iter().any(|finding| finding.problem.is_some()),
        "{wrong:?}"
    );
}
