//! Each of opencode's routes fails in turn, in every way: what can go on does, and what cannot ends in time and says why.

use countersign_core::answer::Choice;
use countersign_core::ask::{AskState, Withdrawal};
use countersign_core::delivery::{DeliveryState, Undeliverable};
use countersign_core::event::EnginePhase;
use countersign_core::session::TurnOutcome;
use countersign_testkit::scripted_opencode::{Faults, RouteFaultKind};

use crate::BrokerError;
use crate::supervisor::tests::scene::Scene;

const KINDS: [RouteFaultKind; 4] = [
    RouteFaultKind::BadRequest,
    RouteFaultKind::Broken,
    RouteFaultKind::Hangs,
    RouteFaultKind::Garbage,
];

/// What is read of the engine again and again, and needed for no delivery.
const READ: [&str; 6] = [
    "/permission",
    "/question",
    "/session/status",
    "/session/*",
    "/session/*/message",
    "/session/*/message/*",
];

fn deny() -> Choice {
    Choice::Deny {
        reason: Some("not now".to_owned()),
    }
}

fn why(state: &AskState) -> &Undeliverable {
    if let AskState::Undeliverable(_, delivery) = state
        && let DeliveryState::Undeliverable { why, .. } = &delivery.state
    {
        return why;
    }
    panic!("{state:?}")
}

#[tokio::test]
async fn answers_arrive_whatever_of_the_engine_cannot_be_read() {
    for path in READ {
        for kind in KINDS {
            let mut scene = Scene::set().await;
            let (yes, no) = (scene.ask("make").await, scene.ask("make install").await);
            let question = scene.ask_question().await;
            let after = scene.ask("make clean").await;
            scene.opencode.break_route("GET", path, kind);

            scene.answer(&yes, Choice::AllowOnce).await;
            let settled = scene.settled(yes.id).await;
            assert!(
                matches!(settled.state, AskState::Delivered(..)),
                "{path} {kind:?}: {settled:?}"
            );

            // The next server finds the route as it is.
            scene.restart().await;
            let choice = Choice::Choices {
                choices: vec![vec!["this".to_owned()]],
            };
            scene.answer(&question, choice).await;
            scene.answer(&after, Choice::AllowOnce).await;
            scene.answer(&no, deny()).await;
            for ask in [&question, &after, &no] {
                let settled = scene.settled(ask.id).await;
                assert!(
                    matches!(settled.state, AskState::Delivered(..)),
                    "{path} {kind:?}: {settled:?}"
                );
            }
            scene.is_ready().await;
        }
    }
}

#[tokio::test]
async fn a_list_that_cannot_be_read_is_named_until_it_can_be() {
    let scene = Scene::set().await;
    let ask = scene.ask("make").await;
    let kind = RouteFaultKind::BadRequest;
    scene.opencode.break_route("GET", "/permission", kind);
    let named = scene.until("it is said", async || {
        let message = scene.engine().message;
        message.contains("GET /permission").then_some(message)
    });
    let named = named.await;
    assert!(
        named.contains("opencode answered 400 to GET /permission"),
        "{named}"
    );
    assert!(
        named.contains("Expected JSON value, got undefined"),
        "{named}"
    );
    assert_eq!(scene.engine().phase, EnginePhase::Ready);

    // What is opened meanwhile arrives by the stream.
    let meanwhile = scene.ask("make install").await;
    scene.opencode.set_faults(Faults::default());
    scene
        .until("it is said no more", async || {
            let message = scene.engine().message;
            (!message.contains("GET /permission")).then_some(())
        })
        .await;
    for ask in [ask, meanwhile] {
        scene.answer(&ask, Choice::AllowOnce).await;
        let settled = scene.settled(ask.id).await;
        assert!(
            matches!(settled.state, AskState::Delivered(..)),
            "{settled:?}"
        );
    }
}

#[tokio::test]
async fn an_answer_that_the_engine_never_confirms_ends_undeliverable_and_stops_its_turn() {
    for (method, path, choice) in [
        ("POST", "/permission/*/reply", Choice::AllowOnce),
        ("POST", "/permission/*/reply", deny()),
    ] {
        for kind in KINDS {
            let scene = Scene::set().await;
            let ask = scene.ask("make").await;
            scene.opencode.break_route(method, path, kind);
            scene.answer(&ask, choice.clone()).await;
            let settled = scene.settled(ask.id).await;
            match (kind, why(&settled.state)) {
                (RouteFaultKind::BadRequest, Undeliverable::Refused { message }) => {
                    assert!(
                        message.contains("opencode answered 400 to POST"),
                        "{message}"
                    );
                }
                (RouteFaultKind::Broken, Undeliverable::Unconfirmed { message }) => {
                    assert!(
                        message.contains("opencode answered 500 to POST"),
                        "{message}"
                    );
                }
                (RouteFaultKind::Hangs, Undeliverable::Unconfirmed { message }) => {
                    assert!(
                        message.contains("opencode did not answer POST"),
                        "{message}"
                    );
                }
                (RouteFaultKind::Garbage, Undeliverable::Unconfirmed { message }) => {
                    assert!(message.contains("never announced"), "{message}");
                }
                (kind, why) => panic!("{kind:?}: {why:?}"),
            }
            scene
                .until("the turn is stopped", async || {
                    (!scene.opencode.is_busy(scene.native())).then_some(())
                })
                .await;
        }
    }
}

#[tokio::test]
async fn a_question_that_cannot_be_answered_at_the_engine_says_so() {
    for (path, choice) in [
        (
            "/question/*/reply",
            Choice::Choices {
                choices: vec![vec!["this".to_owned()]],
            },
        ),
        ("/question/*/reject", deny()),
    ] {
        let scene = Scene::set().await;
        let ask = scene.ask_question().await;
        let kind = RouteFaultKind::Broken;
        scene.opencode.break_route("POST", path, kind);
        scene.answer(&ask, choice).await;
        let settled = scene.settled(ask.id).await;
        let Undeliverable::Unconfirmed { message } = why(&settled.state) else {
            panic!("{settled:?}")
        };
        assert!(message.contains("opencode answered 500"), "{message}");
    }
}

#[tokio::test]
async fn answers_wait_for_an_event_stream_that_does_not_open_and_people_are_told() {
    for kind in KINDS {
        let scene = Scene::set().await;
        let ask = scene.ask("make").await;
        scene.opencode.break_route("GET", "/global/event", kind);
        scene.opencode.drop_events();
        scene
            .until("people are told", async || {
                (scene.engine().phase == EnginePhase::Unreachable).then_some(())
            })
            .await;
        let message = scene.engine().message;
        assert!(message.contains("event"), "{kind:?}: {message}");
        scene.answer(&ask, Choice::AllowOnce).await;
        scene.opencode.set_faults(Faults::default());
        let settled = scene.settled(ask.id).await;
        assert!(
            matches!(settled.state, AskState::Delivered(..)),
            "{kind:?}: {settled:?}"
        );
    }
}

#[tokio::test]
async fn a_prompt_that_the_engine_does_not_take_fails_and_says_why() {
    for kind in [
        RouteFaultKind::BadRequest,
        RouteFaultKind::Broken,
        RouteFaultKind::Hangs,
    ] {
        let scene = Scene::set().await;
        let path = "/session/*/prompt_async";
        scene.opencode.break_route("POST", path, kind);
        let mut prompted = std::pin::pin!(scene.prompt("HOLD"));
        let refused = scene.until("the prompt fails", async || {
            tokio::select! {
                biased;
                prompted = &mut prompted => Some(prompted),
                () = std::future::ready(()) => None,
            }
        });
        let refused = refused.await.unwrap_err();
        assert!(matches!(refused, BrokerError::Engine(_)), "{refused:?}");
        assert!(refused.to_string().contains("prompt_async"), "{refused}");
        let turn = scene.newest_turn().await;
        let Some(TurnOutcome::Failed { reason }) = turn.outcome else {
            panic!("{turn:?}")
        };
        assert!(reason.contains("prompt_async"), "{reason}");
    }
}

#[tokio::test]
async fn a_turn_whose_end_cannot_be_read_ends_all_the_same_and_says_why() {
    for kind in KINDS {
        let scene = Scene::set().await;
        scene.prompt("ASK 1").await.unwrap();
        let ask = scene.until("it is asked", async || {
            (scene.open_asks().await == 1).then_some(())
        });
        ask.await;
        scene
            .opencode
            .break_route("GET", "/session/*/message", kind);
        let all = scene
            .broker
            .asks(&scene.ada, crate::AskFilter::default(), 10);
        let ask = all.await.unwrap().remove(0).ask;
        scene.answer(&ask, Choice::AllowOnce).await;
        let outcome = scene.until("the turn ends", async || scene.newest_turn().await.outcome);
        let TurnOutcome::Failed { reason } = outcome.await else {
            panic!("nothing is known of it")
        };
        assert!(reason.contains("how it ended is not known"), "{reason}");
        assert!(reason.contains("GET /session/"), "{reason}");
    }
}

#[tokio::test]
async fn a_turn_that_cannot_be_stopped_is_said_to_go_on() {
    for kind in [RouteFaultKind::BadRequest, RouteFaultKind::Broken] {
        let scene = Scene::set().await;
        scene.ask("make").await;
        scene.opencode.break_route("POST", "/session/*/abort", kind);
        let refused = scene.broker.cancel(&scene.ada, scene.session).await;
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("/abort"), "{refused}");
        assert_eq!(scene.open_asks().await, 0, "nobody can allow it any more");
    }
}

#[tokio::test]
async fn an_ask_of_which_nothing_can_be_found_out_ends_as_lost() {
    let scene = Scene::set().await;
    let ask = scene.ask("make").await;
    let deaf = Faults {
        refuse_listeners: true,
        ..Faults::default()
    };
    scene.opencode.set_faults(deaf);
    scene.opencode.drop_events();
    scene
        .until("nobody listens", async || {
            (scene.engine().phase == EnginePhase::Unreachable).then_some(())
        })
        .await;
    assert!(scene.opencode.reply_as_foreigner(&ask.native_id));
    let kind = RouteFaultKind::Broken;
    scene
        .opencode
        .break_route("GET", "/session/*/message/*", kind);
    let settled = scene.settled(ask.id).await;
    let AskState::Withdrawn {
        why: Withdrawal::Lost { message },
        ..
    } = &settled.state
    else {
        panic!("{settled:?}")
    };
    assert!(message.contains("opencode answered 500"), "{message}");
}
