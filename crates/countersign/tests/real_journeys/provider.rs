//! A model's provider that fails: turns go on when it works again, and end with its own words when it never will.

use serde_json::Value;

use crate::{Stage, allow_once};

#[tokio::test]
async fn a_provider_that_fails_for_a_time_is_tried_again_and_one_that_refuses_ends_the_turn() {
    let stage = Stage::set().await;
    let api = stage.api();
    let said = async |session: &str| Value::from(api.items(session).await).to_string();

    // It fails, drops the line in the middle, and works: the ask arrives all the same, and people are told why it took.
    let (session, ask) = stage
        .asked(
            "HTTPERR 503 1\nTOOL bash: touch at-last.txt\nSAY Half a\nDROP 1\nFINAL Done at last.",
        )
        .await;
    let told = said(&session).await;
    assert!(
        told.contains("provider failed, and opencode tries again"),
        "{told}"
    );
    stage.answered(&ask, &allow_once()).await;
    stage.turn_is(&session, "completed").await;
    assert!(stage.has("at-last.txt"));
    let told = said(&session).await;
    assert!(told.contains("Done at last."), "{told}");

    // One that refuses for good: the turn fails and says what the provider said; the next one is a new start.
    let session = api
        .start_and_prompt("HTTPERR 401\nTOOL bash: touch never.txt")
        .await;
    let outcome = api.turn_outcome(&session).await;
    assert_eq!(outcome["outcome"], "failed", "{outcome}");
    let reason = outcome["reason"].as_str().unwrap();
    assert!(reason.contains("401"), "{reason}");
    assert_eq!(api.open_asks().await, Vec::<Value>::new());
    api.prompt(&session, "FINAL Well again.").await;
    stage.turn_is(&session, "completed").await;
    assert!(!stage.has("never.txt"));
    stage.no_alarm().await;
}
