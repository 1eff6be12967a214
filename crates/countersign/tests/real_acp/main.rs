//! Real ACP agents behind the whole program: each asks, is answered by a person, and does what it was answered.

mod draft;
mod scene;

use std::time::Duration;

use countersign_testkit::{RealAgent, eventually};
use serde_json::{Value, json};

use scene::{PATIENCE, Scene, engine, id};

/// How long after an answer the turn is cancelled: before it, on its heels, and while it may be at work.
const HEADSTARTS: [Duration; 4] = [
    Duration::ZERO,
    Duration::from_millis(1),
    Duration::from_millis(4),
    Duration::from_millis(20),
];

/// What is allowed runs; what is denied does not, and its reason is the next prompt; what is always allowed is answered by a
/// rule of ours the next time.
async fn what_is_answered_is_what_happens(agent: RealAgent) {
    let scene = Scene::set(agent).await;
    let ask = scene.ask("touch allowed.txt").await;
    assert!(!scene.has("allowed.txt"));
    scene.allow(&ask).await;
    assert_eq!(scene.comes_to_rest().await, "completed");
    assert!(scene.has("allowed.txt"));

    let ask = scene.ask("touch denied.txt").await;
    let denial = json!({ "answer": "deny", "reason": "use the other folder" });
    assert_eq!(scene.answer(&ask, &denial).await["state"], "delivered");
    eventually(PATIENCE, "the reason was said", async || {
        let session = scene.server.api().session(&scene.session).await;
        let prompt = session["turn"]["prompt"].as_str()?;
        prompt.contains("use the other folder").then_some(())
    })
    .await;
    scene.comes_to_rest().await;
    assert!(!scene.has("denied.txt"));
    let heard = scene.model.conversations().into_iter();
    let mut prompts = heard.map(|conversation| conversation.prompt);
    assert!(prompts.any(|prompt| prompt.contains("use the other folder")));

    let ask = scene.ask("touch denied.txt").await;
    let denial = json!({ "answer": "deny" });
    assert_eq!(scene.answer(&ask, &denial).await["state"], "delivered");
    let ended = scene.comes_to_rest().await;
    match agent {
        RealAgent::Opencode | RealAgent::Claude | RealAgent::Gemini => {
            assert_eq!(ended, "completed");
        }
        // The only refusal that it offers ends the turn, of which the person is told before.
        RealAgent::Codex => {
            assert_eq!(ended, "denied");
            assert!(note(&ask, "deny").contains("ends its turn"), "{ask}");
        }
    }
    assert!(!scene.has("denied.txt"));

    always_is_our_own_rule(&scene).await;
    the_agents_own_always_is_sent_when_somebody_picks_it(&scene).await;
    scene.comes_to_an_end().await;
}

/// What a person is told about the option of a kind.
fn note<'a>(ask: &'a Value, kind: &str) -> &'a str {
    let options = ask["options"].as_array().expect("it offers something");
    let option = options.iter().find(|option| option["kind"] == kind);
    option.unwrap_or_else(|| panic!("{ask:#}"))["note"]
        .as_str()
        .unwrap_or_default()
}

/// The option goes to the agent as it is, with its scope explained before, and the agent keeps it in its own way.
async fn the_agents_own_always_is_sent_when_somebody_picks_it(scene: &Scene) {
    const COMMAND: &str = "echo kept > kept.txt";
    let ask = scene.ask(COMMAND).await;
    assert!(!note(&ask, "allow_always").is_empty(), "{ask}");
    let offered = scene.agent.shell_options().into_iter();
    let mut lasting = offered.filter(|option| option.kind == "allow_always");
    let id = lasting.next().expect("it offers one").id;
    let picked = json!({ "answer": "option", "option": id });
    let settled = scene.answer(&ask, &picked).await;
    assert_eq!(settled["state"], "delivered");
    assert_eq!(settled["answer"]["id"], id, "{settled}");
    assert_eq!(scene.comes_to_rest().await, "completed");
    assert!(scene.has("kept.txt"));
    let kept = |file: std::path::PathBuf| {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(text.contains("echo"), "{}: {text}", file.display());
    };
    match scene.agent {
        RealAgent::Claude => kept(scene.server.workspace().join(".claude/settings.local.json")),
        RealAgent::Codex => kept(scene.home.path().join(".codex/rules/default.rules")),
        RealAgent::Opencode | RealAgent::Gemini => {
            let asks = scene.asks().await;
            let file = scene.server.workspace().join("kept.txt");
            std::fs::remove_file(file).expect("it is there");
            scene.prompt(COMMAND).await;
            assert_eq!(scene.comes_to_rest().await, "completed");
            assert!(scene.has("kept.txt"));
            assert_eq!(scene.asks().await, asks, "it asked again");
        }
    }
}

/// The agent is told "once" and goes on asking; it is us who do not ask a second time.
async fn always_is_our_own_rule(scene: &Scene) {
    const COMMAND: &str = "echo again >> again.txt";
    let ask = scene.ask(COMMAND).await;
    let always = json!({ "answer": "allow_always", "scope": "session" });
    if scene.agent == RealAgent::Gemini {
        // It says what will run nowhere but in its title, which no rule trusts.
        let refused = scene.server.api().answer(id(&ask), &always).await;
        refused.expect(422);
        scene.allow(&ask).await;
        scene.comes_to_rest().await;
        return;
    }
    assert_eq!(scene.answer(&ask, &always).await["state"], "delivered");
    scene.comes_to_rest().await;
    scene.prompt(COMMAND).await;
    assert_eq!(scene.comes_to_rest().await, "completed");
    let made = std::fs::read_to_string(scene.server.workspace().join("again.txt"))
        .expect("it can be read");
    assert_eq!(made, "again\nagain\n");
    let path = format!("/api/v1/asks?session={}", scene.session);
    let asks = scene.server.api().get(&path).await;
    let newest = &asks["asks"][0];
    assert!(
        newest["summary"]
            .as_str()
            .expect("it is a text")
            .contains(COMMAND)
    );
    assert_ne!(newest["id"], ask["id"], "the agent did not ask again");
    assert_eq!(newest["answer"]["by"]["kind"], "rule", "{newest}");
}

/// What is cancelled does not run, and what is cancelled while it is answered runs only if the ledger says so.
async fn a_cancelled_turn_runs_nothing_more(agent: RealAgent) {
    let scene = Scene::set(agent).await;
    let life = scene.life();
    let ask = scene.ask("touch cancelled.txt").await;
    scene.cancel().await.expect(200);
    let ask = scene.server.api().settled(id(&ask)).await;
    assert_eq!(ask["state"], "withdrawn");
    assert_eq!(scene.comes_to_rest().await, "cancelled");

    // What there is of each file when the turn is over is what there will be.
    let mut files = vec![("cancelled.txt".to_owned(), false)];
    for (round, headstart) in HEADSTARTS.into_iter().enumerate() {
        let file = format!("race-{round}.txt");
        let ask = scene.ask(&format!("touch {file}")).await;
        let allow = json!({ "answer": "allow_once" });
        let cancel = async {
            tokio::time::sleep(headstart).await;
            scene.cancel().await
        };
        let (answered, cancelled) =
            tokio::join!(scene.server.api().answer(id(&ask), &allow), cancel);
        cancelled.expect(200);
        let settled = scene.server.api().settled(id(&ask)).await;
        let ended = scene.comes_to_rest().await;
        let was_made = match settled["state"].as_str().expect("it is a text") {
            // The agent may have been at it, and is not to begin with it later.
            "delivered" if ended == "cancelled" => scene.has(&file),
            "delivered" => {
                assert_eq!(ended, "completed");
                true
            }
            "withdrawn" => {
                assert_eq!(answered.status, 410, "{}", answered.body);
                assert_eq!(ended, "cancelled");
                false
            }
            "undeliverable" => {
                assert_eq!(ended, "cancelled");
                false
            }
            other => panic!("{other}: {settled}"),
        };
        files.push((file, was_made));
        assert_eq!(
            scene.life(),
            life,
            "it took too long to stop, and was ended"
        );
    }
    // The agent is as good as before.
    let ask = scene.ask("touch after.txt").await;
    scene.allow(&ask).await;
    assert_eq!(scene.comes_to_rest().await, "completed");
    assert!(scene.has("after.txt"));
    assert_eq!(scene.life(), life);
    for (file, was_made) in files {
        assert_eq!(scene.has(&file), was_made, "{file}");
    }
    scene.comes_to_an_end().await;
}

/// An ask outlives the server; that of an agent that dies is withdrawn, and the next prompt goes on with the session.
async fn deaths_lose_nothing(agent: RealAgent) {
    let mut scene = Scene::set(agent).await;
    scene.ask_outlives_the_server().await;

    let lost = scene.ask("touch lost.txt").await;
    let before = scene.server.agents().remove(0);
    before.kill();
    let lost = scene.server.api().settled(id(&lost)).await;
    assert_eq!(lost["state"], "withdrawn");
    assert_eq!(lost["why"], "the engine is gone");
    assert_eq!(scene.comes_to_rest().await, "failed");

    let heard = scene.model.requests().len();
    let told = scene.told().await;
    scene.prompt("touch found.txt").await;
    if agent == RealAgent::Gemini {
        // It forgets that it has asked, and so its model wants the first command once more.
        let again = scene.asked("touch lost.txt").await;
        scene.answer(&again, &json!({ "answer": "deny" })).await;
    }
    let ask = scene.asked("touch found.txt").await;
    assert_ne!(scene.server.agents().remove(0).run, before.run);
    // It is the same session: the model hears what was said in the life before.
    let later = &scene.model.requests()[heard..];
    let remembers = |request: &Value| request.to_string().contains("touch late.txt");
    assert!(later.iter().any(remembers));
    scene.allow(&ask).await;
    assert_eq!(scene.comes_to_rest().await, "completed");
    assert!(scene.has("found.txt") && !scene.has("lost.txt"));
    assert_eq!(
        scene.told().await,
        told + 1,
        "what was said before is told once"
    );
    scene.comes_to_an_end().await;
}

#[tokio::test]
async fn every_agent_that_is_installed_is_found_as_the_one_that_is_known() {
    let scene = Scene::set(RealAgent::Claude).await;
    let listed = scene.server.api().get("/api/v1/engines").await;
    let engines = listed["engines"].as_array().expect("it is a list");
    for agent in RealAgent::ALL {
        let listed = engines
            .iter()
            .find(|listed| listed["name"] == engine(agent));
        let program = &listed.expect("it is known")["program"];
        let programs = scene.home.path().join("programs");
        let program = program.as_str().map(std::path::PathBuf::from);
        assert!(
            program.is_some_and(|it| it.starts_with(programs)),
            "{agent:?}"
        );
    }
    scene.comes_to_an_end().await;
}

/// An agent that has its host write what it was just allowed is not asked about it again, and one whose write is denied
/// writes nothing.
#[tokio::test]
async fn opencode_has_its_host_write_what_it_was_allowed() {
    let abilities = "[[agents]]\nname = 'opencode-acp'\ncapabilities = { files = 'read_write', terminal = true }\n";
    let scene = Scene::with(RealAgent::Opencode, abilities).await;
    let path = scene.server.workspace().join("notes.txt");
    std::fs::write(&path, "one\ntwo\nthree\n").expect("it can be written");
    let asks_to_edit = async |change: &str| {
        let prompt = format!("TOOL read: {0}\nTOOL edit: {0}<<<{change}", path.display());
        scene.server.api().prompt(&scene.session, &prompt).await;
        scene.asked("notes.txt").await
    };
    let ask = asks_to_edit("two>>>2").await;
    assert_eq!(ask["subject"]["tool"], "edit", "{ask}");
    scene.allow(&ask).await;
    assert_eq!(scene.comes_to_rest().await, "completed");
    let written = std::fs::read_to_string(&path).expect("it can be read");
    assert_eq!(written, "one\n2\nthree\n");
    let items = scene.server.api().items(&scene.session).await;
    let hosted = |item: &&Value| item["tool"] == "fs/write_text_file";
    let hosted: Vec<&Value> = items.iter().filter(hosted).collect();
    assert_eq!(hosted.len(), 1, "{items:#?}");
    assert_eq!(hosted[0]["status"], "completed");
    assert_eq!(scene.asks().await, 1, "it was asked once");

    let ask = asks_to_edit("three>>>3").await;
    scene.answer(&ask, &json!({ "answer": "deny" })).await;
    scene.comes_to_rest().await;
    let written = std::fs::read_to_string(&path).expect("it can be read");
    assert_eq!(written, "one\n2\nthree\n");
    scene.comes_to_an_end().await;
}

macro_rules! with_each_agent {
    ($($agent:ident => $variant:ident),*) => {
        $(mod $agent {
            use super::*;

            #[tokio::test]
            async fn does_what_it_is_answered() {
                what_is_answered_is_what_happens(RealAgent::$variant).await;
            }

            #[tokio::test]
            async fn runs_nothing_that_is_cancelled() {
                a_cancelled_turn_runs_nothing_more(RealAgent::$variant).await;
            }

            #[tokio::test]
            async fn loses_nothing_when_the_server_or_the_agent_is_killed() {
                deaths_lose_nothing(RealAgent::$variant).await;
            }
        })*
    };
}

with_each_agent!(opencode => Opencode, claude => Claude, codex => Codex, gemini => Gemini);
