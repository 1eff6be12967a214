//! Answers over HTTP: one stands, and everybody else is told which.

use countersign_core::ask::Withdrawal;
use countersign_core::grant::Role;
use countersign_core::id::AskId;
use serde_json::json;

use crate::client::Client;
use crate::stage::{Stage, now};

fn path(ask: AskId) -> String {
    format!("/api/v1/asks/{ask}/answer")
}

#[tokio::test]
async fn an_ask_that_is_nested_deeply_hides_no_other() {
    let stage = Stage::new().await;
    let client = stage.client(Role::Collaborator).await;
    let (deep, other) = (stage.deep().await, stage.ask("cargo test").await);
    // Reading it with the limit that readers have is the test.
    let listed = client.get("/api/v1/asks?state=open").await.json();
    let ids = listed["asks"].as_array().unwrap().iter();
    let ids = ids.map(|ask| ask["id"].as_str().unwrap().to_owned());
    assert_eq!(
        ids.collect::<Vec<_>>(),
        [other.id.to_string(), deep.id.to_string()]
    );
    let shown = client
        .get(&format!("/api/v1/asks/{}", deep.id))
        .await
        .json();
    assert!(shown["raw"].to_string().contains("core"), "{shown}");
    let denied = client
        .post(&path(deep.id), &json!({ "answer": "deny" }))
        .await;
    assert_eq!(denied.status, 200, "{denied:?}");
}

#[tokio::test]
async fn the_first_answer_stands_and_the_second_is_told_who_was_first() {
    let stage = Stage::new().await;
    let collaborator = stage.browser(Role::Collaborator).await;
    let page = collaborator.with("origin", &format!("http://{}", stage.address));
    let approver = stage.client(Role::Approver).await;
    let ask = stage.ask("cargo test").await.id;

    let won = page
        .post(&path(ask), &json!({ "answer": "allow_once" }))
        .await;
    assert_eq!(won.status, 200, "{won:?}");
    assert_eq!(won.json()["state"], "answered");
    assert_eq!(won.json()["answer"]["surface"], "web");

    let lost = approver
        .post(&path(ask), &json!({ "answer": "deny", "reason": "no" }))
        .await;
    assert_eq!(
        (lost.status, lost.code().as_str()),
        (409, "already_answered")
    );
    assert_eq!(
        lost.json()["details"]["ask"]["answer"]["answer"],
        "allow_once"
    );
    assert_eq!(lost.json()["details"]["ask"]["answer"]["by"]["name"], "ada");

    let again = page
        .post(&path(ask), &json!({ "answer": "allow_once" }))
        .await;
    assert_eq!(
        again.status, 200,
        "the same answer by the same actor is no rival: {again:?}"
    );
    let changed = page.post(&path(ask), &json!({ "answer": "deny" })).await;
    assert_eq!(changed.status, 409);
}

#[tokio::test]
async fn an_answer_without_an_open_ask_is_404_or_410() {
    let stage = Stage::new().await;
    let owner = stage.client(Role::Owner).await;
    let unknown = owner
        .post(&path(AskId::generate(now())), &json!({ "answer": "deny" }))
        .await;
    assert_eq!(
        (unknown.status, unknown.code().as_str()),
        (404, "not_found")
    );

    let ask = stage.ask("make").await.id;
    stage
        .store
        .withdraw(ask, &Withdrawal::TurnCancelled, now())
        .await
        .unwrap();
    let over = owner
        .post(&path(ask), &json!({ "answer": "allow_once" }))
        .await;
    assert_eq!((over.status, over.code().as_str()), (410, "over"));
    assert_eq!(over.json()["details"]["ask"]["state"], "withdrawn");
    assert_eq!(
        over.json()["details"]["ask"]["why"],
        "the turn was cancelled"
    );
}

#[tokio::test]
async fn who_may_not_answer_is_told_which_grant_is_missing_and_changes_nothing() {
    let stage = Stage::new().await;
    let ask = stage.ask("make").await.id;
    for role in [Role::Viewer, Role::Agent] {
        let client = stage.client(role).await;
        let reply = client
            .post(&path(ask), &json!({ "answer": "allow_once" }))
            .await;
        assert_eq!((reply.status, reply.code().as_str()), (403, "forbidden"));
        assert_eq!(reply.json()["details"]["grant"], "answer");
    }
    let viewer = stage.client(Role::Viewer).await;
    let seen = viewer.get(&format!("/api/v1/asks/{ask}")).await.json();
    assert_eq!(seen["state"], "open");
    assert_eq!(seen["may_answer"], false);
}

#[tokio::test]
async fn an_always_with_a_pattern_settles_what_is_like_it_from_then_on() {
    let stage = Stage::new().await;
    let owner = stage.client(Role::Owner).await;
    let collaborator = stage.client(Role::Collaborator).await;
    let ask = stage.edit("src/a.rs").await.id;
    let always = json!({ "answer": "allow_always", "scope": "workspace", "pattern": "src/**" });
    let taken = collaborator.post(&path(ask), &always).await;
    assert_eq!(taken.status, 200, "{taken:?}");
    assert_eq!(taken.json()["answer"]["pattern"], "src/**");
    // The same again is no rival; another reach is.
    assert_eq!(collaborator.post(&path(ask), &always).await.status, 200);
    let wider = json!({ "answer": "allow_always", "scope": "workspace", "pattern": "**" });
    assert_eq!(collaborator.post(&path(ask), &wider).await.status, 409);

    let rules = owner.get("/api/v1/rules").await.json();
    let rule = &rules["rules"][0];
    assert_eq!(rules["rules"].as_array().unwrap().len(), 1, "{rules}");
    assert_eq!(
        (&rule["match"], &rule["pattern"], &rule["tool"]),
        (&json!("glob"), &json!("src/**"), &json!("edit"))
    );
    for (target, state) in [("src/deep/b.rs", "answered"), ("build.rs", "open")] {
        assert_eq!(stage.edit(target).await.state.phase().name(), state);
    }
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_422() {
    let stage = Stage::new().await;
    let owner = stage.client(Role::Owner).await;
    let ask = stage.ask("make").await.id;
    let question = stage.question().await.id;
    let edit = stage.edit("src/a.rs").await.id;
    for (ask, body) in [
        (ask, json!({ "answer": "maybe" })),
        (ask, json!({ "answer": "allow_always", "pattern": "ma*" })),
        (edit, json!({ "answer": "allow_once", "pattern": "src/**" })),
        (
            edit,
            json!({ "answer": "allow_always", "pattern": "docs/**" }),
        ),
        (
            edit,
            json!({ "answer": "allow_always", "pattern": "src/[" }),
        ),
        (edit, json!({ "answer": "allow_always", "pattern": "" })),
        (ask, json!({ "answer": "allow_once", "reason": "because" })),
        (ask, json!({ "answer": "choices", "choices": [["sqlite"]] })),
        (
            ask,
            json!({ "answer": "option", "option": "never offered" }),
        ),
        (ask, json!({ "answer": "allow_always", "expires_in_s": 0 })),
        (ask, json!({ "answer": "deny", "reason": "a\u{0}b" })),
        (
            ask,
            json!({ "answer": "deny", "reason": "x".repeat(20_000) }),
        ),
        (question, json!({ "answer": "allow_once" })),
        (question, json!({ "answer": "choices", "choices": [] })),
        (
            question,
            json!({ "answer": "choices", "choices": [["a", "b"]] }),
        ),
    ] {
        let reply = owner.post(&path(ask), &body).await;
        assert_eq!(
            (reply.status, reply.code().as_str()),
            (422, "unprocessable"),
            "{body}"
        );
    }
    let chosen = json!({ "answer": "choices", "choices": [["sqlite"]] });
    assert_eq!(owner.post(&path(question), &chosen).await.status, 200);
    // A reason about the character is not the character.
    let escaped = json!({ "answer": "deny", "reason": r"write \u0000 instead" });
    assert_eq!(owner.post(&path(ask), &escaped).await.status, 200);
}

#[tokio::test]
async fn asks_are_listed_newest_first_in_pages() {
    let stage = Stage::new().await;
    let viewer = stage.client(Role::Viewer).await;
    let mut opened = Vec::new();
    for number in 0..5 {
        opened.push(stage.ask(&format!("echo {number}")).await.id.to_string());
    }
    opened.reverse();
    let mut listed = Vec::new();
    let mut query = "?state=open&limit=2".to_owned();
    loop {
        let page = viewer.get(&format!("/api/v1/asks{query}")).await.json();
        let ids = page["asks"]
            .as_array()
            .unwrap()
            .iter()
            .map(|ask| ask["id"].clone());
        listed.extend(ids.map(|id| id.as_str().unwrap().to_owned()));
        match page["next"].as_str() {
            Some(next) => query = format!("?state=open&limit=2&before={next}"),
            None => break,
        }
    }
    assert_eq!(listed, opened);
    for query in ["limit=0", "limit=501"] {
        assert_eq!(
            viewer.get(&format!("/api/v1/asks?{query}")).await.status,
            422,
            "{query}"
        );
    }
    for query in [
        "limit=many",
        "state=lost",
        "before=x",
        "session=ask_1",
        "limit=1&limit=2",
    ] {
        let reply = viewer.get(&format!("/api/v1/asks?{query}")).await;
        assert_eq!(
            (reply.status, reply.code().as_str()),
            (400, "bad_request"),
            "{query}"
        );
    }
}

#[tokio::test]
async fn waiting_for_an_ask_ends_with_the_ask() {
    let stage = Stage::new().await;
    let viewer = stage.client(Role::Viewer).await;
    let ask = stage.ask("make").await.id;
    let settled = format!("/api/v1/asks/{ask}/settled");
    let early = viewer.get(&format!("{settled}?timeout_s=1")).await;
    assert_eq!(
        (early.status, early.json()["state"].as_str()),
        (200, Some("open"))
    );

    let waiting = viewer.get(&settled);
    let withdrawing = async {
        stage
            .store
            .withdraw(ask, &Withdrawal::EngineGone, now())
            .await
            .unwrap();
    };
    let (settled, ()) = tokio::join!(waiting, withdrawing);
    assert_eq!(settled.json()["state"], "withdrawn");
}

#[tokio::test]
async fn eight_racers_have_one_winner() {
    let stage = Stage::new().await;
    let mut clients: Vec<Client> = Vec::new();
    for role in [Role::Owner, Role::Collaborator, Role::Approver] {
        clients.push(stage.client(role).await);
    }
    for number in 0..20 {
        let ask = stage.ask(&format!("echo {number}")).await.id;
        let path = path(ask);
        let answers = [
            json!({ "answer": "allow_once" }),
            json!({ "answer": "deny" }),
        ];
        let racers = (0..8).map(|racer| {
            clients[racer % clients.len()].post(&path, &answers[racer % answers.len()])
        });
        let replies = futures_util::future::join_all(racers).await;
        let ledger = stage.store.ask(ask).await.unwrap().unwrap();
        let winner = ledger.state.answer().unwrap();
        for reply in replies {
            let answer = match reply.status {
                200 => reply.json()["answer"].clone(),
                409 => reply.json()["details"]["ask"]["answer"].clone(),
                other => panic!("a racer got {other}"),
            };
            assert_eq!(answer["by"]["id"], winner.by.id.to_string());
            assert_eq!(answer["answer"], winner.choice.name());
        }
    }
}
