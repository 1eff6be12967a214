//! A real Matrix homeserver with people on it: Synapse, on loopback and without any other server to talk to.

use std::path::Path;
use std::time::Duration;

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::process::Launch;
use crate::{Program, eventually, peers, ports};

/// How long it may take to start: the machine may be busy with other tests.
const PATIENCE: Duration = Duration::from_mins(2);
/// Any key does: nobody else has to know it.
const SIGNING_KEY: &str = "ed25519 a_test MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE\n";

/// A running Synapse. Dropping it kills it.
#[derive(Debug)]
pub struct Synapse {
    folder: TempDir,
    port: u16,
    program: Option<Program>,
    http: reqwest::Client,
}

/// A user of it, who is logged in.
#[derive(Debug, Clone)]
pub struct MatrixUser {
    /// Such as `@alice:localhost`.
    pub id: String,
    /// What they are let in with.
    pub token: String,
    url: String,
    http: reqwest::Client,
}

impl Synapse {
    /// Starts one, and waits until it answers.
    pub async fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let port = ports::free();
        let write = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).expect("a file can be written");
        };
        write("homeserver.yaml", &configuration(folder.path(), port));
        write("signing.key", SIGNING_KEY);
        let mut synapse = Self {
            folder,
            port,
            program: None,
            http: crate::http::client(),
        };
        synapse.restart().await;
        synapse
    }

    /// Returns its address without a trailing slash.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Kills it as a crash would.
    pub fn kill(&mut self) {
        self.program = None;
    }

    /// Starts it again, on what it had.
    pub async fn restart(&mut self) {
        self.kill();
        let folder = self.folder.path();
        let started = Launch::new(peers::synapse(), folder.join("synapse.log"))
            .arguments(["-c".as_ref(), folder.join("homeserver.yaml").as_os_str()])
            .inherit(&["PATH"])
            .variable("HOME", folder)
            .directory(folder)
            .start();
        self.program = Some(started.expect("Synapse can be started"));
        let health = format!("{}/health", self.url());
        eventually(PATIENCE, "Synapse answers", async || {
            let answer = self.http.get(&health).send().await.ok()?;
            answer.status().is_success().then_some(())
        })
        .await;
    }

    /// Makes a user.
    pub async fn user(&self, name: &str) -> MatrixUser {
        let nobody = MatrixUser {
            id: String::new(),
            token: String::new(),
            url: self.url(),
            http: self.http.clone(),
        };
        let wish = json!({
            "username": name,
            "password": format!("{name}-password"),
            "auth": {"type": "m.login.dummy"},
        });
        let made = nobody.post("register", &wish).await;
        let text = |field: &str| made[field].as_str().expect("a user is made").to_owned();
        MatrixUser {
            id: text("user_id"),
            token: text("access_token"),
            ..nobody
        }
    }
}

impl MatrixUser {
    /// Prepares a request; `path` comes after `/_matrix/client/v3/`, with everything in it encoded.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let url = format!("{}/_matrix/client/v3/{path}", self.url);
        let request = self.http.request(method, url);
        if self.token.is_empty() {
            request
        } else {
            request.bearer_auth(&self.token)
        }
    }

    async fn call(&self, request: RequestBuilder) -> Value {
        let answer = request.send().await.expect("Synapse answers");
        let status = answer.status();
        let body: Value = answer.json().await.unwrap_or_default();
        assert!(status.is_success(), "{status}: {body}");
        body
    }

    /// Asks for something.
    pub async fn get(&self, path: &str) -> Value {
        self.call(self.request(Method::GET, path)).await
    }

    /// Has something done.
    pub async fn post(&self, path: &str, body: &Value) -> Value {
        self.call(self.request(Method::POST, path).json(body)).await
    }

    /// Has something put in its place.
    pub async fn put(&self, path: &str, body: &Value) -> Value {
        self.call(self.request(Method::PUT, path).json(body)).await
    }

    /// Makes a room and invites others, who come.
    pub async fn room(&self, others: &[&Self], is_direct: bool) -> String {
        let invited: Vec<&str> = others.iter().map(|user| user.id.as_str()).collect();
        let wish = json!({"invite": invited, "is_direct": is_direct, "preset": "private_chat"});
        let made = self.post("createRoom", &wish).await;
        made["room_id"].as_str().expect("a room is made").to_owned()
    }

    /// The rooms that they are invited to and not in.
    pub async fn invitations(&self) -> Vec<String> {
        // Synapse answers the same question for two minutes as it did at first: no two are the same.
        let nobody = format!("@{:032x}:localhost", rand::random::<u128>());
        let filter = json!({"presence": {"not_senders": [nobody]}}).to_string();
        let path = format!("sync?timeout=0&filter={}", encoded(&filter));
        let sync = self.get(&path).await;
        let invited = sync["rooms"]["invite"].as_object();
        invited
            .into_iter()
            .flatten()
            .map(|it| it.0.clone())
            .collect()
    }

    /// Goes into a room.
    pub async fn join(&self, room: &str) {
        self.post(&format!("join/{}", encoded(room)), &json!({}))
            .await;
    }

    /// Sends an event and returns what it is called.
    pub async fn send(&self, room: &str, kind: &str, content: &Value) -> String {
        let transaction = format!("test{:032x}", rand::random::<u128>());
        let path = format!("rooms/{}/send/{kind}/{transaction}", encoded(room));
        let sent = self.put(&path, content).await;
        sent["event_id"].as_str().expect("it is sent").to_owned()
    }

    /// Says something, perhaps in a thread, perhaps to somebody in particular.
    pub async fn say(
        &self,
        room: &str,
        thread: Option<&str>,
        text: &str,
        mentioned: Option<&Self>,
    ) -> String {
        let body = match mentioned {
            Some(user) => format!("{}: {text}", user.id),
            None => text.to_owned(),
        };
        let ids: Vec<&str> = mentioned.iter().map(|user| user.id.as_str()).collect();
        let mut content =
            json!({"msgtype": "m.text", "body": body, "m.mentions": {"user_ids": ids}});
        if let Some(root) = thread {
            content["m.relates_to"] = json!({"rel_type": "m.thread", "event_id": root});
        }
        self.send(room, "m.room.message", &content).await
    }

    /// Reacts to a message.
    pub async fn react(&self, room: &str, message: &str, sign: &str) -> String {
        let content = json!({"m.relates_to": {
            "rel_type": "m.annotation", "event_id": message, "key": sign,
        }});
        self.send(room, "m.reaction", &content).await
    }

    /// Deletes a message.
    pub async fn delete(&self, room: &str, message: &str) {
        let transaction = format!("test{:032x}", rand::random::<u128>());
        let path = format!(
            "rooms/{}/redact/{}/{transaction}",
            encoded(room),
            encoded(message)
        );
        self.put(&path, &json!({})).await;
    }

    /// Everything that happened in a room, oldest first; a message that was changed is as it was, with the change in
    /// `unsigned`.
    pub async fn events(&self, room: &str) -> Vec<Value> {
        let path = format!("rooms/{}/messages?dir=f&limit=1000", encoded(room));
        let page = self.get(&path).await;
        page["chunk"].as_array().cloned().unwrap_or_default()
    }

    /// One message as it is now, with `content` as it was changed last.
    pub async fn message(&self, room: &str, message: &str) -> Value {
        let path = format!("rooms/{}/event/{}", encoded(room), encoded(message));
        let mut event = self.get(&path).await;
        let newer =
            event["unsigned"]["m.relations"]["m.replace"]["content"]["m.new_content"].take();
        if newer.is_object() {
            event["content"] = newer;
        }
        event
    }

    /// Uploads a file and returns its address.
    pub async fn upload(&self, name: &str, content: &str) -> String {
        let url = format!(
            "{}/_matrix/media/v3/upload?filename={}",
            self.url,
            encoded(name)
        );
        let request = self.http.post(url).bearer_auth(&self.token);
        let sent = self.call(
            request
                .header("content-type", "text/plain")
                .body(content.to_owned()),
        );
        let sent = sent.await;
        sent["content_uri"].as_str().expect("it is kept").to_owned()
    }

    /// Downloads a file.
    pub async fn download(&self, address: &str) -> Vec<u8> {
        let path = address.trim_start_matches("mxc://");
        let url = format!("{}/_matrix/client/v1/media/download/{path}", self.url);
        let answer = self.http.get(url).bearer_auth(&self.token).send().await;
        let answer = answer.expect("Synapse answers");
        assert!(answer.status().is_success(), "{}", answer.status());
        answer.bytes().await.expect("all of it comes").to_vec()
    }
}

/// An id as a part of a path.
pub fn encoded(id: &str) -> String {
    let encode = |byte: u8| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            char::from(byte).to_string()
        } else {
            format!("%{byte:02X}")
        }
    };
    id.bytes().map(encode).collect()
}

fn configuration(folder: &Path, port: u16) -> String {
    let folder = folder.display();
    let much = "{per_second: 100000, burst_count: 100000}";
    format!(
        "server_name: localhost
pid_file: {folder}/pid
listeners:
  - {{port: {port}, tls: false, type: http, bind_addresses: [127.0.0.1], resources: [{{names: [client]}}]}}
database: {{name: sqlite3, args: {{database: {folder}/homeserver.db}}}}
media_store_path: {folder}/media
signing_key_path: {folder}/signing.key
trusted_key_servers: []
suppress_key_server_warning: true
federation_domain_whitelist: []
report_stats: false
macaroon_secret_key: none
form_secret: none
enable_registration: true
enable_registration_without_verification: true
presence: {{enabled: false}}
rc_message: {much}
rc_registration: {much}
rc_login: {{address: {much}, account: {much}}}
rc_joins: {{local: {much}}}
rc_invites: {{per_room: {much}, per_user: {much}, per_issuer: {much}}}
rc_room_creation: {much}
"
    )
}
