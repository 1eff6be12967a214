//! Sessions that are taken up again in another process: by resuming, else by loading, and never by beginning another.

use countersign_testkit::scripted_agent::{Deed, Manner};
use serde_json::Value;

use crate::scene::Scene;

/// An agent that cannot do these, and does this at those.
fn manner(cannot: &[&str], deeds: &[(&str, Deed)]) -> Manner {
    Manner {
        cannot: cannot.iter().map(|word| (*word).to_owned()).collect(),
        deeds: deeds
            .iter()
            .map(|(method, deed)| ((*method).to_owned(), deed.clone()))
            .collect(),
        ..Manner::default()
    }
}

/// Has the agent end, prompts it again, and returns how that ended.
async fn comes_back(scene: &Scene) -> Value {
    scene.play(&["EXIT 0"]).await;
    assert_eq!(scene.outcome().await, "failed");
    scene.play(&["are you there"]).await;
    scene.outcome_of("are you there").await
}

#[tokio::test]
async fn an_agent_that_can_neither_resume_nor_load_says_so_and_begins_nothing() {
    let mut scene = Scene::with(manner(&["resume", "load"], &[]), "").await;
    let ended = comes_back(&scene).await;
    assert_eq!(ended["outcome"], "failed");
    let reason = ended["reason"].as_str().expect("it has a reason");
    assert!(reason.contains("begin a new one"), "{reason}");
    assert!(reason.contains("neither resume nor load"), "{reason}");
    // Nobody is told something new in an old session's name.
    assert_eq!(scene.count("session/new"), 1);
    assert_eq!(scene.prompts(), ["EXIT 0"]);
    scene.server.stop().await;
}

#[tokio::test]
async fn a_session_is_loaded_where_resuming_it_is_refused() {
    let scene = Scene::with(manner(&[], &[("session/resume", Deed::Refuse)]), "").await;
    assert_eq!(comes_back(&scene).await["outcome"], "completed");
    assert_eq!(scene.count("session/load"), 1);
    assert_eq!(scene.count("session/new"), 1);
}

#[tokio::test]
async fn a_session_whose_agent_dies_of_resuming_it_is_loaded_by_another_process() {
    let mut scene = Scene::with(manner(&[], &[("session/resume", Deed::Exit)]), "").await;
    assert_eq!(comes_back(&scene).await["outcome"], "completed");
    assert_eq!(scene.count("session/resume"), 1);
    assert_eq!(scene.count("session/load"), 1);
    assert_eq!(scene.count("session/new"), 1);
    scene.server.stop().await;
}

#[tokio::test]
async fn an_agent_that_dies_of_loading_is_not_started_for_ever() {
    let deeds = [("session/resume", Deed::Exit), ("session/load", Deed::Exit)];
    let mut scene = Scene::with(manner(&[], &deeds), "").await;
    let ended = comes_back(&scene).await;
    assert_eq!(ended["outcome"], "failed");
    let reason = ended["reason"].as_str().expect("it has a reason");
    assert!(reason.contains("ended before it was ready"), "{reason}");
    assert_eq!(
        scene.count("initialize"),
        3,
        "the first life, and two tries"
    );
    assert_eq!(scene.count("session/new"), 1);
    scene.server.stop().await;
}

#[tokio::test]
async fn slow_a_session_whose_agent_is_silent_over_resuming_it_is_loaded_by_another_process() {
    let mut scene = Scene::with(manner(&[], &[("session/resume", Deed::Silence)]), "").await;
    scene.play(&["EXIT 0"]).await;
    assert_eq!(scene.outcome().await, "failed");
    scene.play(&["are you there"]).await;
    assert_eq!(scene.outcome_later().await["outcome"], "completed");
    assert_eq!(scene.count("session/load"), 1);
    scene.server.stop().await;
}

#[tokio::test]
async fn slow_silence_over_loading_ends_the_turn_and_the_process() {
    let deeds = [("session/load", Deed::Silence)];
    let mut scene = Scene::with(manner(&["resume"], &deeds), "").await;
    scene.play(&["EXIT 0"]).await;
    assert_eq!(scene.outcome().await, "failed");
    scene.play(&["are you there"]).await;
    let ended = scene.outcome_later().await;
    assert_eq!(ended["outcome"], "failed");
    let reason = ended["reason"].as_str().expect("it has a reason");
    assert!(reason.contains("did not answer `session/load`"), "{reason}");
    assert!(scene.server.agents().is_empty());
    assert_eq!(scene.count("session/new"), 1);
    scene.server.stop().await;
}
