use proptest::prelude::*;
use serde_json::json;

use super::*;

struct Scene {
    conversation: Conversation,
    opened: mpsc::Receiver<Arc<Asked>>,
    said: mpsc::Receiver<String>,
}

impl Scene {
    fn new() -> Self {
        let (sender, opened) = mpsc::channel(100);
        let (voice, said) = Voice::new();
        Self {
            conversation: Conversation::new(sender, voice),
            opened,
            said,
        }
    }

    fn agent(&self, message: &Value) {
        self.conversation.hear_agent(&message.to_string());
    }

    fn editor(&self, message: &Value) -> Passage {
        let line = format!("{message}\n");
        self.conversation.hear_editor(line.as_bytes())
    }

    fn asks(&mut self, id: &Value, session: &str) -> Option<Arc<Asked>> {
        let call = json!({ "toolCallId": "call" });
        let params = json!({ "sessionId": session, "toolCall": call, "options": [] });
        self.agent(&json!({ "id": id, "method": "session/request_permission", "params": params }));
        self.opened.try_recv().ok()
    }
}

fn reply(id: &Value) -> Value {
    json!({ "id": id, "result": { "outcome": { "outcome": "selected", "optionId": "yes" } } })
}

#[test]
fn whoever_is_second_is_not_heard() {
    let mut scene = Scene::new();
    let first = scene.asks(&json!(1), "s").unwrap();
    assert!(scene.conversation.take(&first));
    assert!(!scene.conversation.take(&first), "once");
    assert_eq!(scene.editor(&reply(&json!(1.0))), Passage::Drop);
    assert_eq!(
        scene.editor(&reply(&json!(1))),
        Passage::Pass,
        "it is none of ours"
    );

    let second = scene.asks(&json!("b"), "s").unwrap();
    assert_eq!(scene.editor(&reply(&json!("b"))), Passage::Pass);
    assert!(!scene.conversation.take(&second));
    assert_eq!(
        second.how_it_ended(),
        Some(Over::AnsweredInEditor("yes".to_owned()))
    );
}

#[test]
fn what_was_told_before_goes_with_the_ask() {
    let mut scene = Scene::new();
    scene.editor(&json!({ "id": 0, "method": "initialize", "params": {} }));
    scene.agent(&json!({ "id": 0, "result": { "agentInfo": { "name": "a", "title": "Agent" } } }));
    scene.editor(&json!({ "id": 1, "method": "session/new", "params": { "cwd": "/w" } }));
    scene.agent(&json!({ "id": 1, "result": { "sessionId": "s" } }));
    let words = json!([{ "type": "text", "text": "\nDo it\nnow" }]);
    let prompt = json!({ "sessionId": "s", "prompt": words });
    scene.editor(&json!({ "id": 2, "method": "session/prompt", "params": prompt }));
    let call = json!({ "sessionUpdate": "tool_call", "toolCallId": "call",
        "rawInput": { "command": "ls" } });
    let update = json!({ "sessionId": "s", "update": call });
    scene.agent(&json!({ "method": "session/update", "params": update }));
    let asked = scene.asks(&json!(7), "s").unwrap();
    assert_eq!(asked.session.directory.as_deref(), Some("/w"));
    assert_eq!(asked.session.title, "Do it");
    assert_eq!(asked.session.agent.as_deref(), Some("Agent"));
    let told = asked.request.tool_call.as_ref().unwrap();
    assert!(told.contains(r#""rawInput":{"command":"ls"}"#), "{told}");
    let other = scene.asks(&json!(8), "another session").unwrap();
    let told = other.request.tool_call.as_ref().unwrap();
    assert!(!told.contains("command"), "it is another's call: {told}");

    // The same act by other words is the same ask; another act is another ask for the same request.
    let tell = |scene: &Scene, change: Value| {
        let mut update = json!({ "sessionUpdate": "tool_call_update", "toolCallId": "call" });
        update
            .as_object_mut()
            .unwrap()
            .extend(change.as_object().unwrap().clone());
        let params = json!({ "sessionId": "s", "update": update });
        scene.agent(&json!({ "method": "session/update", "params": params }));
    };
    tell(&scene, json!({ "title": "List", "status": "in_progress" }));
    assert_eq!(asked.how_it_ended(), None);
    tell(&scene, json!({ "rawInput": { "command": "rm -r ." } }));
    assert_eq!(asked.how_it_ended(), Some(Over::Changed));
    assert!(
        !scene.conversation.take(&asked),
        "a leave for one act is none for another"
    );
    let anew = scene.opened.try_recv().unwrap();
    assert_eq!(anew.request.number, 2);
    assert!(anew.request.tool_call.as_ref().unwrap().contains("rm -r ."));
    assert!(scene.conversation.take(&anew));
    assert_eq!(scene.editor(&reply(&json!(7))), Passage::Drop);
    assert_eq!(other.how_it_ended(), None);
}

#[test]
fn a_cancelled_turn_and_an_ended_one_end_their_asks_alone() {
    let mut scene = Scene::new();
    let prompt = json!({ "sessionId": "s", "prompt": [] });
    scene.editor(&json!({ "id": 2, "method": "session/prompt", "params": prompt }));
    let cancelled = scene.asks(&json!(1), "s").unwrap();
    let other = scene.asks(&json!(2), "t").unwrap();
    scene.editor(&json!({ "method": "session/cancel", "params": { "sessionId": "s" } }));
    assert_eq!(cancelled.how_it_ended(), Some(Over::TurnCancelled));
    assert!(
        !scene.conversation.take(&cancelled),
        "a late yes reaches nobody"
    );
    assert_eq!(scene.editor(&reply(&json!(1))), Passage::Pass);
    let last = scene.asks(&json!(3), "s").unwrap();
    scene.agent(&json!({ "id": 2, "result": { "stopReason": "end_turn" } }));
    assert_eq!(last.how_it_ended(), Some(Over::Gone));
    assert_eq!(other.how_it_ended(), None);
    scene.agent(&json!({ "method": "$/cancel_request", "params": { "requestId": 2 } }));
    assert_eq!(other.how_it_ended(), Some(Over::Gone));
}

#[test]
fn a_prompt_that_was_only_taken_ends_no_ask() {
    let mut scene = Scene::new();
    let prompt = json!({ "sessionId": "s", "prompt": [] });
    scene.editor(&json!({ "id": 2, "method": "session/prompt", "params": prompt }));
    let asked = scene.asks(&json!(1), "s").unwrap();
    scene.agent(&json!({ "id": 2, "result": {} }));
    assert_eq!(asked.how_it_ended(), None);
}

#[test]
fn an_id_that_is_used_twice_leaves_both_to_the_editor() {
    let mut scene = Scene::new();
    let first = scene.asks(&json!(1), "s").unwrap();
    assert!(scene.asks(&json!(1), "s").is_none());
    assert_eq!(first.how_it_ended(), Some(Over::Gone));
    assert!(!scene.conversation.take(&first));
    for _ in 0..2 {
        assert_eq!(scene.editor(&reply(&json!(1))), Passage::Pass);
    }
    assert!(scene.said.try_recv().unwrap().contains("twice"));

    // The late reply to an ask that was answered from here is never one to the next ask with its id.
    let second = scene.asks(&json!(2), "s").unwrap();
    assert!(scene.conversation.take(&second));
    assert!(scene.asks(&json!(2), "s").is_none());
    assert_eq!(scene.editor(&reply(&json!(2))), Passage::Drop);
}

proptest! {
    #[test]
    fn in_any_order_an_ask_gets_one_reply(
        steps in proptest::collection::vec((0..4_u8, 0..3_usize), 1..60)
    ) {
        let mut scene = Scene::new();
        let mut asks: Vec<Arc<Asked>> = Vec::new();
        // Whether the editor has replied to it, and how many replies have reached the agent.
        let mut told: Vec<(bool, usize)> = Vec::new();
        for (step, which) in steps {
            let number = asks.len().checked_sub(which + 1);
            match (step, number) {
                (0, _) => {
                    asks.push(scene.asks(&json!(asks.len()), "s").unwrap());
                    told.push((false, 0));
                }
                (1, Some(number)) => {
                    told[number].1 += usize::from(scene.conversation.take(&asks[number]));
                }
                // An editor replies once to each request.
                (2, Some(number)) if !told[number].0 => {
                    let passage = scene.editor(&reply(&json!(number)));
                    told[number] = (true, told[number].1 + usize::from(passage == Passage::Pass));
                }
                (3, _) => scene.conversation.end_all(&Over::TurnCancelled),
                _ => {}
            }
        }
        for (has_replied, reached) in told {
            prop_assert!(reached <= 1);
            prop_assert!(reached == 1 || !has_replied, "nobody is left without a reply");
        }
    }

    #[test]
    fn whatever_is_said_nothing_breaks(agent in "\\PC{0,80}", editor in proptest::collection::vec(any::<u8>(), 0..80)) {
        let scene = Scene::new();
        scene.conversation.hear_agent(&agent);
        let _passage = scene.conversation.hear_editor(&editor);
    }
}
