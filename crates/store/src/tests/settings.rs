//! Settings of sessions: what is told is kept, and of what was chosen the newest stands that was not refused.

use countersign_core::event::EventBody;
use countersign_core::id::TurnId;
use countersign_core::settings::{
    Selection, SessionSettings, SettingName, SettingValue, SlashCommand,
};

use super::backend::each_backend;
use super::scene::{Scene, at};
use crate::{ChoiceFate, NewTurn, Store};

fn told(current: &str) -> SessionSettings {
    SessionSettings {
        modes: Some(Selection {
            current: current.to_owned(),
            choices: Vec::new(),
        }),
        commands: vec![SlashCommand {
            name: "help\0".to_owned(),
            description: String::new(),
            hint: String::new(),
        }],
        ..SessionSettings::default()
    }
}

fn mode(id: &str) -> (SettingName, SettingValue) {
    (SettingName::Mode, SettingValue::Selected(id.to_owned()))
}

/// The settings that stand, as `setting value`, each with whether this life took it.
async fn standing(store: &Store, scene: &Scene) -> Vec<(String, bool)> {
    let choices = store.choices(scene.session).await.unwrap();
    let spoken = choices.into_iter().map(|choice| {
        let name = choice.chosen.setting.spoken();
        let is_taken = choice.run == Some(scene.run);
        (format!("{name} {}", choice.chosen.value), is_taken)
    });
    spoken.collect()
}

#[tokio::test]
async fn what_is_told_is_kept_and_announced_when_it_is_news() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let (workspace, session) = (scene.workspace, scene.session);
        assert_eq!(store.settings(session).await.unwrap(), None);
        let before = store.refresh_head().await.unwrap();
        for (current, is_news) in [("ask", true), ("ask", false), ("plan", true)] {
            let told = told(current);
            let put = store.put_settings(workspace, session, &told, at(1));
            assert_eq!(put.await.unwrap(), is_news, "{current}");
        }
        assert_eq!(store.settings(session).await.unwrap(), Some(told("plan")));
        let events = store.events_after(before, 10).await.unwrap();
        let bodies: Vec<_> = events.into_iter().map(|event| event.body).collect();
        assert_eq!(bodies, vec![EventBody::SettingsChanged { session }; 2]);
    })
    .await;
}

#[tokio::test]
async fn of_what_was_chosen_the_newest_stands_that_was_not_refused() {
    each_backend(async |store| {
        let mut scene = Scene::new(&store).await;
        let (workspace, session) = (scene.workspace, scene.session);
        let choose = async |what, by, when| {
            let chosen = store.choose(workspace, session, what, by, at(when));
            chosen.await.unwrap()
        };
        let settle = async |chosen: &_, run, fate| {
            let settled = store.settle_choice(workspace, session, chosen, run, fate, at(9));
            settled.await.unwrap();
        };
        let first = choose(mode("ask"), &scene.ada, 1).await;
        settle(&first, scene.run, ChoiceFate::Taken).await;
        let pace = SettingName::Option("pace".to_owned());
        let fast = SettingValue::Selected("fast".to_owned());
        choose((pace, fast), &scene.ada, 2).await;
        let second = choose(mode("plan"), &scene.bob, 3).await;
        let both = [
            ("`pace` fast".to_owned(), false),
            ("the mode plan".to_owned(), false),
        ];
        assert_eq!(standing(&store, &scene).await, both);

        settle(&second, scene.run, ChoiceFate::Refused("not today")).await;
        let back = [
            ("the mode ask".to_owned(), true),
            ("`pace` fast".to_owned(), false),
        ];
        assert_eq!(standing(&store, &scene).await, back);

        // What was taken once stands, whatever a later life says to it: an older choice does not come back.
        let third = choose(mode("yolo"), &scene.bob, 4).await;
        settle(&third, scene.run, ChoiceFate::Taken).await;
        scene.restart_engine().await;
        settle(&third, scene.run, ChoiceFate::Refused("what is that?")).await;
        let stands = [
            ("`pace` fast".to_owned(), false),
            ("the mode yolo".to_owned(), false),
        ];
        assert_eq!(standing(&store, &scene).await, stands);
        let choices = store.choices(session).await.unwrap();
        assert_eq!(choices[1].chosen.by, scene.bob);

        let audit = store.audit(workspace, 0, 100).await.unwrap();
        let deeds = audit
            .iter()
            .filter(|entry| entry.action.starts_with("session.set"));
        let deeds: Vec<_> = deeds
            .map(|entry| format!("{} {}", entry.action, entry.actor.starts_with("person")))
            .collect();
        let expected = [
            "session.set true",
            "session.set true",
            "session.set true",
            "session.set_refused false",
            "session.set true",
            "session.set_refused false",
        ];
        assert_eq!(deeds, expected);
    })
    .await;
}

#[tokio::test]
async fn a_turn_knows_its_mode_and_who_began_it() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let id = TurnId::generate(at(1));
        assert_eq!(store.prompter(id).await.unwrap(), None);
        let new = NewTurn {
            id,
            session: scene.session,
            native_id: "m".to_owned(),
            prompt: "go".to_owned(),
            model: None,
            mode: Some("plan".to_owned()),
            agent: None,
            follows: None,
        };
        let begun = store.begin_turn(scene.workspace, new, &scene.bob, at(1));
        assert_eq!(begun.await.unwrap().0.mode.as_deref(), Some("plan"));
        assert_eq!(store.prompter(id).await.unwrap(), Some(scene.bob));
    })
    .await;
}
