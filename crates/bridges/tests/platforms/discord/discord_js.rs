//! The fake itself, tried by a library that is not ours.

use countersign_testkit::fake_discord::TOKEN;
use countersign_testkit::process::Launch;
use countersign_testkit::{FakeDiscord, eventually, peers};
use serde_json::{Value, json};

use super::PATIENCE;

#[tokio::test]
async fn real_discord_js_finds_in_the_fake_what_it_expects_of_discord() {
    let discord = FakeDiscord::start();
    let alice = discord.person("alice");
    let folder = tempfile::tempdir().unwrap();
    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/platforms/data/discord_js_bot.cjs"
    );
    let module = peers::discord_js();
    let arguments = [script, &module.to_string_lossy(), &discord.url(), TOKEN];
    let _bot = Launch::new(peers::node(), folder.path().join("bot.log"))
        .arguments(arguments)
        .directory(folder.path())
        .start()
        .unwrap();
    let said = async |channel: &str, what: &str| {
        eventually(PATIENCE, &format!("it says `{what}`"), async || {
            let messages = discord.messages(channel);
            let is_it = |it: &Value| it["content"].as_str().unwrap().contains(what);
            messages.into_iter().find(is_it)
        })
        .await
    };
    eventually(PATIENCE, "it is there", async || {
        (discord.commands() == ["status"]).then_some(())
    })
    .await;
    let channel = discord.channel();
    let root = discord.say(&alice, &channel, "hello", true);
    said(&root, "thread 400 160004, nonce true, parent true").await;
    assert_eq!(discord.reactions(&root), ["👀"]);
    let asked = said(&root, "may I?").await;
    let asked = asked["id"].as_str().unwrap();
    assert_eq!(discord.pings(asked), Vec::<String>::new());
    discord.press(&alice, &root, asked, 1);
    // What it said, what was asked, what is fetched: the thread has three messages of its own by then.
    said(
        &root,
        "400 40060\n404 10062\n404 10008\n404 10003\n400 50035\n2 messages",
    )
    .await;
    assert_eq!(discord.whispers(&alice), ["you pressed p:1:1"]);
    let answered = said(&root, "Answered.").await;
    assert_eq!(answered["components"], json!([]));

    discord.command(&alice, &channel, "status", &[]);
    eventually(PATIENCE, "the command is answered", async || {
        discord
            .whispers(&alice)
            .contains(&"well".to_owned())
            .then_some(())
    })
    .await;
    discord.send_file(&alice, &channel, "notes.txt", "remember");
    eventually(PATIENCE, "the file comes back", async || {
        (discord.files(&channel) == [b"back: remember"]).then_some(())
    })
    .await;
    let direct = discord.say_directly(&alice, "psst");
    said(&direct, "in private: psst").await;

    // A session that is cut is resumed by it as well, and one that is forgotten is begun anew.
    discord.cut_gateway();
    discord.say_directly(&alice, "once more");
    said(&direct, "in private: once more").await;
    assert_eq!(discord.resumed(), 1);
}
