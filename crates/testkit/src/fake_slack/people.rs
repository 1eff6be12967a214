//! What people do, and what they see.

use serde_json::{Value, json};

use super::{BOT, BOT_ID, FakeSlack, File, buttons};

impl FakeSlack {
    /// Somebody says something, in Slack's own notation; returns what the message is called.
    pub fn say(&self, user: &str, channel: &str, thread: Option<&str>, text: &str) -> String {
        let mut message = json!({"user": user, "text": text, "client_msg_id": "by-a-person"});
        if let Some(thread) = thread {
            message["thread_ts"] = json!(thread);
        }
        self.state().put(channel, message)
    }

    /// Returns the place where only this person and the app are.
    pub fn direct(&self, user: &str) -> String {
        self.state().direct(user)
    }

    /// Somebody sends a file.
    pub fn send_file(
        &self,
        user: &str,
        channel: &str,
        thread: Option<&str>,
        name: &str,
        content: &str,
    ) {
        let mut state = self.state();
        let id = format!("F{:08}", state.number());
        let address = format!("{}/files/{id}/{name}", state.address);
        let file = File {
            name: name.to_owned(),
            content: Some(content.into()),
        };
        state.files.insert(id.clone(), file);
        let mut message = json!({
            "user": user, "text": "", "subtype": "file_share",
            "files": [{
                "id": id, "name": name, "mimetype": "text/plain", "size": content.len(), "mode": "hosted",
                "url_private": address, "url_private_download": address,
            }],
        });
        if let Some(thread) = thread {
            message["thread_ts"] = json!(thread);
        }
        state.put(channel, message);
    }

    /// Somebody presses the button of this number, from zero, as it was when they saw it: `message` may have changed since.
    pub fn press(&self, user: &str, channel: &str, message: &Value, n: usize) {
        let mut state = self.state();
        let button = buttons(message)
            .get(n)
            .cloned()
            .unwrap_or_else(|| panic!("there is no button {n}: {message}"));
        let (number, at) = (state.number(), state.time());
        let address = format!("{}/response/{number}", state.address);
        let whom = json!({"user": user, "channel": channel, "thread_ts": message["thread_ts"]});
        state.responses.insert(number.to_string(), whom);
        let payload = json!({
            "type": "block_actions",
            "user": {"id": user, "username": user.to_lowercase(), "name": user.to_lowercase(), "team_id": "T0FAKE001"},
            "api_app_id": "A0FAKE001", "team": {"id": "T0FAKE001", "domain": "fake"},
            "container": {
                "type": "message", "message_ts": message["ts"], "channel_id": channel, "is_ephemeral": false,
                "thread_ts": message["thread_ts"],
            },
            "channel": {"id": channel, "name": "general"},
            "message": message,
            "trigger_id": format!("{number}.trigger"),
            "response_url": address,
            "actions": [{
                "type": "button", "action_id": button["action_id"], "block_id": "actions",
                "text": button["text"], "value": button["value"], "action_ts": at,
            }],
        });
        state.deliver("interactive", &payload);
    }

    /// Somebody gives a command.
    pub fn slash(&self, user: &str, channel: &str, text: &str) {
        let mut state = self.state();
        let number = state.number();
        let address = format!("{}/response/{number}", state.address);
        let whom = json!({"user": user, "channel": channel});
        state.responses.insert(number.to_string(), whom);
        let payload = json!({
            "command": "/countersign", "text": text, "channel_id": channel, "user_id": user,
            "user_name": user.to_lowercase(), "trigger_id": format!("{number}.trigger"), "response_url": address,
            "team_id": "T0FAKE001", "api_app_id": "A0FAKE001",
        });
        state.deliver("slash_commands", &payload);
    }

    /// Somebody who may deletes a message.
    pub fn delete(&self, channel: &str, ts: &str) {
        let mut state = self.state();
        let there = state.channels.get_mut(channel).expect("it is there");
        there.messages.retain(|message| message["ts"] != ts);
        let event = json!({
            "type": "message", "subtype": "message_deleted", "channel": channel, "deleted_ts": ts,
            "ts": "1.000000", "channel_type": "channel", "hidden": true,
        });
        state.tell(&event);
    }

    /// Returns a message as it is now.
    pub fn message(&self, channel: &str, ts: &str) -> Option<Value> {
        let state = self.state();
        let there = state.channels.get(channel)?;
        there.messages.iter().find(|it| it["ts"] == ts).cloned()
    }

    /// Returns the messages of the app in a channel or a thread of it, in order.
    pub fn of_app(&self, channel: &str, thread: Option<&str>) -> Vec<Value> {
        let state = self.state();
        let Some(there) = state.channels.get(channel) else {
            return Vec::new();
        };
        let is_there = |message: &&Value| {
            let root = message["thread_ts"].as_str();
            let root = root.filter(|root| message["ts"] != *root);
            message["bot_id"] == BOT_ID && root == thread
        };
        there.messages.iter().filter(is_there).cloned().collect()
    }

    /// Returns what is in the files of a message.
    pub fn files_of(&self, message: &Value) -> Vec<Vec<u8>> {
        let state = self.state();
        let files = message["files"].as_array().into_iter().flatten();
        files
            .filter_map(|file| state.files.get(file["id"].as_str()?)?.content.clone())
            .collect()
    }

    /// Returns the reactions of the app on a message.
    pub fn reactions(&self, channel: &str, ts: &str) -> Vec<String> {
        let Some(message) = self.message(channel, ts) else {
            return Vec::new();
        };
        let reactions = message["reactions"].as_array().into_iter().flatten();
        reactions
            .filter(|it| {
                it["users"]
                    .as_array()
                    .is_some_and(|users| users.iter().any(|user| user == BOT))
            })
            .filter_map(|it| it["name"].as_str().map(str::to_owned))
            .collect()
    }

    /// Returns what only this person saw, and nobody else.
    pub fn whispers(&self, user: &str) -> Vec<Value> {
        let state = self.state();
        let theirs = state.whispers.iter().filter(|it| it["user"] == user);
        theirs.cloned().collect()
    }
}
