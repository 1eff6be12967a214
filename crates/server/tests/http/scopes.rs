//! Every route × every role × a workspace that is the caller's own and one that is not.
//!
//! The routes, and every field by which a request could name something of another workspace, come from the OpenAPI
//! document: a route or a field that is not known here fails the test.

use std::collections::BTreeMap;

use countersign_core::actor::ActorKind;
use countersign_core::grant::Role;
use countersign_core::id::{TurnId, WorkspaceId};
use countersign_store::NewTurn;
use http::Method;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};

use crate::client::Client;
use crate::grants::{Operation, QUEUED, Wants, filled, operations, wants};
use crate::stage::{Stage, now};

/// What everything in the other workspace is called.
const MARK: &str = "neighbour";

/// How far a route reaches.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// It is the same for everybody, or about the caller alone.
    Anybody,
    /// It is about the whole server, and nothing for whoever is limited to one workspace.
    Server,
    /// It is about what is in workspaces.
    Workspace,
}

fn reach(operation: &str) -> Reach {
    match operation {
        "healthz" | "readyz" | "pair" | "me" | "sign_out" | "show_push" | "subscribe"
        | "unsubscribe" | "list_engines" => Reach::Anybody,
        "metrics" | "add_workspace" | "test_target" => Reach::Server,
        "list_workspaces"
        | "rename_workspace"
        | "remove_workspace"
        | "restart_engine"
        | "reload_engine"
        | "show_holdings"
        | "show_skill"
        | "export_workspace"
        | "preview_change"
        | "propose_change"
        | "list_earlier_sessions"
        | "list_asks"
        | "show_ask"
        | "answer_ask"
        | "settled_ask"
        | "list_sessions"
        | "start_session"
        | "show_session"
        | "list_items"
        | "prompt_session"
        | "cancel_session"
        | "take_back_prompt"
        | "search_transcripts"
        | "show_attachment"
        | "list_jobs"
        | "hand_in_job"
        | "heal_jobs"
        | "show_job"
        | "ended_job"
        | "cancel_job"
        | "job_log"
        | "job_diff"
        | "keep_job"
        | "discard_job"
        | "prioritise_job"
        | "retry_job"
        | "show_settings"
        | "change_settings"
        | "list_tokens"
        | "make_token"
        | "revoke_token"
        | "make_pairing"
        | "list_rules"
        | "make_rule"
        | "preview_rule"
        | "revoke_rule"
        | "expire_rule"
        | "list_audit"
        | "verify_audit"
        | "search_audit"
        | "list_chains"
        | "show_figures"
        | "list_alarms"
        | "list_notifications"
        | "retry_notifications"
        | "retry_notification"
        | "list_schedules"
        | "follow_events"
        | "begin_run"
        | "keep_run"
        | "end_run"
        | "hand_in"
        | "fetch_answer"
        | "report" => Reach::Workspace,
        other => panic!("the test does not know how far `{other}` reaches"),
    }
}

/// What the other workspace holds, by its name in requests.
struct Foreign {
    workspace: WorkspaceId,
    folder: String,
    session: String,
    native_session: String,
    turn: String,
    ask: String,
    job: String,
    /// Ids that no answer may have that did not come with the request.
    ids: Vec<String>,
}

impl Foreign {
    async fn of(stage: &Stage) -> Self {
        let owner = Client::local(&stage.socket);
        let ask = stage.ask(&format!("echo {MARK}")).await.id.to_string();
        let turn = begin_turn(stage, TurnId::generate(now()), MARK).await;
        let made = owner.post("/api/v1/jobs", &json!({
            "kind": "task", "prompt": MARK, "engine": "demo", "workspace": stage.workspace, "group": MARK,
        })).await;
        let job = made.json()["id"].as_str().unwrap().to_owned();
        // Once it has ended, nothing happens there by itself.
        owner.get(&format!("/api/v1/jobs/{job}/ended")).await;
        let rule = owner.post("/api/v1/rules", &json!({
            "tool": "edit", "verdict": "deny", "match": "glob", "pattern": format!("{MARK}/*"), "workspace": stage.workspace,
        })).await;
        let token = owner
            .post(
                "/api/v1/tokens",
                &json!({
                    "name": MARK, "role": "viewer", "workspace": stage.workspace,
                }),
            )
            .await;
        let everywhere = owner
            .post("/api/v1/tokens", &json!({ "name": MARK, "role": "owner" }))
            .await;
        let ids = [
            made.json()["id"].clone(),
            rule.json()["id"].clone(),
            token.json()["token"]["id"].clone(),
            everywhere.json()["token"]["id"].clone(),
            json!(stage.workspace),
            json!(stage.session),
            json!(ask),
            json!(turn),
        ];
        Self {
            workspace: stage.workspace,
            folder: stage.folder(),
            session: stage.session.to_string(),
            native_session: format!("ses_{MARK}"),
            turn: turn.to_string(),
            ask,
            job,
            ids: ids.map(|id| id.as_str().unwrap().to_owned()).into(),
        }
    }

    /// What a field of a request would say to name something of the other workspace; nothing if it names no such thing.
    #[expect(clippy::too_many_lines, reason = "a word for each field")]
    fn named(&self, operation: &str, field: &str) -> Vec<Value> {
        match (operation, field) {
            // What an engine calls a session is not what it is called here, and the caller's own word for its jobs is
            // whatever it says.
            ("hand_in", "session") | ("hand_in_job", "group") => vec![],
            (_, "workspace") => vec![json!(self.workspace)],
            (_, "directory") => vec![json!(self.folder)],
            (_, "session") => vec![json!(self.session)],
            (_, "turn") => vec![json!(self.turn)],
            (_, "earlier") => vec![json!(self.native_session)],
            (_, "group" | "text" | "q") => vec![json!(MARK)],
            (_, "resume") => vec![
                json!({ "job": self.job }),
                json!({ "session": self.session }),
            ],
            ("list_asks", "before") => vec![json!(self.ask)],
            ("hand_in_job" | "retry_job", "id") | ("list_jobs", "before") => {
                vec![json!(self.job)]
            }
            (
                _,
                "access"
                | "action"
                | "actor"
                | "after"
                | "agent"
                | "all"
                | "answer"
                | "ask_expires_seconds"
                | "attachments"
                | "before"
                | "bystander"
                | "change"
                | "choices"
                | "code"
                | "days"
                | "deadline_seconds"
                | "digest"
                | "dry_run"
                | "effort"
                | "endpoint"
                | "engine"
                | "expires_in_s"
                | "files"
                | "folder"
                | "idle_limit_seconds"
                | "input"
                | "keys"
                | "kind"
                | "last"
                | "limit"
                | "match"
                | "mode"
                | "model"
                | "name"
                | "on_ask"
                | "option"
                | "outcome"
                | "path"
                | "pattern"
                | "priority"
                | "process"
                | "program"
                | "prompt"
                | "read"
                | "reason"
                | "reply"
                | "request"
                | "role"
                | "scope"
                | "since"
                | "state"
                | "target_s"
                | "targets"
                | "timeout_s"
                | "title"
                | "tool"
                | "unended"
                | "until"
                | "utc_offset_min"
                | "value"
                | "verdict"
                | "version"
                | "wait_seconds"
                | "worktree",
            ) => vec![],
            (operation, field) => {
                panic!("the test does not know whether `{field}` of `{operation}` names anything")
            }
        }
    }
}

async fn begin_turn(stage: &Stage, id: TurnId, prompt: &str) -> TurnId {
    let turn = NewTurn {
        id,
        session: stage.session,
        native_id: id.to_string(),
        prompt: prompt.to_owned(),
        model: None,
        agent: None,
        follows: None,
        mode: None,
    };
    let ada = stage.store.actor(ActorKind::Person, "ada", now()).await;
    let ada = ada.unwrap();
    let begun = stage.store.begin_turn(stage.workspace, turn, &ada, now());
    begun.await.unwrap().0.id
}

/// The fields of an operation's query and of its body.
fn fields(operation: &Operation) -> (Vec<String>, Vec<String>) {
    let document = serde_json::to_value(countersign_server::openapi()).unwrap();
    let parameters = operation.said["parameters"].as_array();
    let query = parameters
        .into_iter()
        .flatten()
        .filter(|parameter| parameter["in"] == "query")
        .map(|parameter| parameter["name"].as_str().unwrap().to_owned());
    let schema = &operation.said["requestBody"]["content"]["application/json"]["schema"];
    let mut body = Vec::new();
    properties(&document, schema, &mut body);
    (query.collect(), body)
}

fn properties(document: &Value, schema: &Value, found: &mut Vec<String>) {
    if let Some(reference) = schema["$ref"].as_str() {
        let pointer = reference.trim_start_matches('#');
        properties(document, document.pointer(pointer).unwrap(), found);
    }
    for name in schema["properties"]
        .as_object()
        .into_iter()
        .flat_map(|it| it.keys())
    {
        if !found.contains(name) {
            found.push(name.clone());
        }
    }
    for parts in ["allOf", "oneOf", "anyOf"] {
        for part in schema[parts].as_array().into_iter().flatten() {
            properties(document, part, found);
        }
    }
}

/// One request, as text that can be looked through.
struct Request {
    method: Method,
    path: String,
    body: Value,
}

impl Request {
    async fn send(&self, client: &Client) -> (u16, String) {
        let client = client.with("content-type", "application/json");
        let body = if self.body.is_null() {
            String::new()
        } else {
            self.body.to_string()
        };
        let (response, _connection) = client
            .begin(self.method.clone(), &self.path, body.into())
            .await;
        let status = response.status().as_u16();
        if self.path.contains("/events") && status == 200 {
            return (status, String::new());
        }
        let said = response.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8_lossy(&said).into_owned())
    }

    fn text(&self) -> String {
        format!("{} {} {}", self.method, self.path, self.body)
    }
}

/// The same request, once for each way in which it could name something of the other workspace.
fn naming(operation: &Operation, body: &Value, path: &str, foreign: &Foreign) -> Vec<Request> {
    let (query, members) = fields(operation);
    let mut requests = Vec::new();
    for field in query {
        for value in foreign.named(&operation.id, &field) {
            let path = match path.split_once('?') {
                // A field is said once.
                Some((bare, said)) if said.starts_with(&format!("{field}=")) => bare,
                Some(_) | None => path,
            };
            let joint = if path.contains('?') { '&' } else { '?' };
            let value = value.as_str().unwrap();
            requests.push(Request {
                method: operation.method.clone(),
                path: format!("{path}{joint}{field}={value}"),
                body: body.clone(),
            });
        }
    }
    for field in members {
        for value in foreign.named(&operation.id, &field) {
            let mut body = body.clone();
            body[&field] = value;
            requests.push(Request {
                method: operation.method.clone(),
                path: path.to_owned(),
                body,
            });
        }
    }
    requests
}

/// What was done outside of the workspace of `home`: how long every other chain is.
async fn done_elsewhere(home: &Stage) -> BTreeMap<String, i64> {
    let chains = home.store.chains().await.unwrap();
    chains
        .into_iter()
        .filter(|chain| chain.workspace != home.workspace)
        .map(|chain| (chain.workspace.to_string(), chain.entries))
        .collect()
}

/// A life of a program that hands asks in, in the folder of `stage`, and an ask of it.
async fn door(stage: &Stage, agent: &Client) -> (String, String) {
    let life = json!({ "directory": stage.folder(), "program": "opencode", "version": "1.18.33" });
    let begun = agent.post("/api/v1/door/runs", &life).await;
    assert_eq!(begun.status, 201, "{begun:?}");
    let run = begun.json()["run"].as_str().unwrap().to_owned();
    let handed_in = agent
        .post(&format!("/api/v1/door/runs/{run}/asks"), &handed_in())
        .await;
    assert_eq!(handed_in.status, 201, "{handed_in:?}");
    let ask = handed_in.json()["ask"].as_str().unwrap().to_owned();
    (run, ask)
}

fn handed_in() -> Value {
    json!({
        "kind": "permission",
        "request": {
            "id": "per_1", "sessionID": "ses_1", "permission": "bash", "patterns": ["ls"],
            "metadata": { "command": "ls" }, "always": [],
        },
        "session": { "id": "ses_1", "title": "Fix the build", "agent": "build" },
    })
}

/// The path of an operation with what is there in the workspace of `stage`.
async fn path_in(stage: &Stage, operation: &Operation, agent: &Client) -> String {
    let path = &operation.path;
    if path.contains("{run}") {
        let (run, ask) = door(stage, agent).await;
        let path = path.replace("{run}", &run).replace("{ask}", &ask);
        return match operation.id.as_str() {
            "fetch_answer" => format!("{path}?timeout_s=1"),
            _ => path,
        };
    }
    filled(stage, &operation.id, path).await
}

/// The body of an operation that is meant for the workspace of `stage`.
fn body_in(stage: &Stage, operation: &str) -> Value {
    let (_, mut body) = wants(operation);
    match operation {
        "begin_run" => body["directory"] = json!(stage.folder()),
        "hand_in" => body = handed_in(),
        _ => {}
    }
    body
}

/// The statuses of a request that was understood, may be made, and found what it is about.
fn is_taken(operation: &str, status: u16) -> bool {
    match operation {
        // There are no skills; and the one workspace is needed for the rest, so that another id stands for it.
        "show_skill" => status == 404,
        "remove_workspace" => [403, 404].contains(&status),
        _ => ![401, 403, 404, 405, 500].contains(&status),
    }
}

struct Scene {
    home: Stage,
    foreign: Foreign,
    neighbour: Stage,
    /// An agent for every workspace, who is the same actor as the one that is limited.
    agent: Client,
}

impl Scene {
    async fn new() -> Self {
        let home = Stage::new().await;
        let neighbour = home.beside(MARK).await;
        // The prompt that is taken back is of the caller's own session.
        begin_turn(&home, QUEUED.parse().unwrap(), "look").await;
        Self {
            foreign: Foreign::of(&neighbour).await,
            agent: home.client(Role::Agent).await,
            home,
            neighbour,
        }
    }

    /// Sends a request on behalf of somebody who is limited to the home, and looks that nothing of the neighbour was
    /// told and nothing was done outside.
    async fn send(&self, request: &Request, caller: &Client, who: &str) -> (u16, String) {
        let before = done_elsewhere(&self.home).await;
        let (status, said) = request.send(caller).await;
        let sent = request.text();
        let needles = self.foreign.ids.iter().map(String::as_str).chain([MARK]);
        for needle in needles.filter(|needle| !sent.contains(needle)) {
            assert!(
                !said.contains(needle),
                "{who}: {sent} gave {status} and told of `{needle}`: {said}"
            );
        }
        assert_eq!(
            before,
            done_elsewhere(&self.home).await,
            "{who}: {sent} gave {status} and did something elsewhere: {said}"
        );
        (status, said)
    }

    async fn try_own(&self, operation: &Operation, role: Role, caller: &Client) {
        let who = format!("{} as {}", operation.id, role.name());
        let (wants, _) = wants(&operation.id);
        let request = Request {
            method: operation.method.clone(),
            path: path_in(&self.home, operation, &self.agent).await,
            body: body_in(&self.home, &operation.id),
        };
        let (status, said) = self.send(&request, caller, &who).await;
        match wants {
            Wants::Grant(grant) if !role.grants().contains(grant) => {
                assert_eq!(status, 403, "{who}: {said}");
            }
            Wants::Grant(_) if reach(&operation.id) == Reach::Server => {
                assert_eq!(status, 403, "{who}: {said}");
                assert!(said.contains("whole server"), "{who}: {said}");
            }
            Wants::Grant(_) | Wants::AnyCaller | Wants::Nothing => {
                assert!(
                    is_taken(&operation.id, status),
                    "{who} gave {status}: {said}"
                );
            }
        }
    }

    async fn try_foreign(&self, operation: &Operation, callers: &[(Role, Client)]) {
        let (wants, _) = wants(&operation.id);
        let own = body_in(&self.home, &operation.id);
        let mut requests = Vec::new();
        if operation.path.contains('{') {
            let path = match operation.id.as_str() {
                "remove_workspace" => format!("/api/v1/workspaces/{}", self.neighbour.workspace),
                _ => path_in(&self.neighbour, operation, &self.agent).await,
            };
            // An engine's name is the same everywhere.
            if operation.id != "list_earlier_sessions" {
                requests.push(Request {
                    method: operation.method.clone(),
                    path,
                    body: own.clone(),
                });
            }
        }
        let is_named_in_path = requests.len();
        let path = path_in(&self.home, operation, &self.agent).await;
        requests.extend(naming(operation, &own, &path, &self.foreign));
        for (place, request) in requests.iter().enumerate() {
            for (role, caller) in callers {
                let who = format!("{} as {}", operation.id, role.name());
                let (status, said) = self.send(request, caller, &who).await;
                assert_ne!(status, 500, "{who}: {} said {said}", request.text());
                let lacks = matches!(wants, Wants::Grant(grant) if !role.grants().contains(grant));
                // What a caller may not see is not there, or is not for it.
                if place < is_named_in_path {
                    assert!(
                        [403, 404].contains(&status),
                        "{who}: {} gave {status}: {said}",
                        request.text()
                    );
                } else if lacks {
                    assert_eq!(status, 403, "{who}: {} said {said}", request.text());
                }
            }
        }
    }
}

#[tokio::test]
async fn whoever_is_limited_to_one_workspace_is_nobody_elsewhere() {
    let scene = Scene::new().await;
    let mut callers = Vec::new();
    for role in Role::ALL {
        callers.push((role, scene.home.client_here(role).await));
    }
    for operation in operations() {
        if reach(&operation.id) == Reach::Workspace {
            scene.try_foreign(&operation, &callers).await;
        }
        for (role, caller) in &callers {
            scene.try_own(&operation, *role, caller).await;
        }
    }
}

#[tokio::test]
async fn an_owner_of_one_workspace_lets_people_into_that_one_alone() {
    let scene = Scene::new().await;
    let (home, neighbour) = (&scene.home, &scene.neighbour);
    let owner = home.client_here(Role::Owner).await;

    let new = json!({ "name": "eve", "role": "owner" });
    let made = owner.post("/api/v1/tokens", &new).await;
    assert_eq!(made.status, 201, "{made:?}");
    assert_eq!(made.json()["token"]["workspace"], json!(home.workspace));
    let secret = made.json()["secret"].as_str().unwrap().to_owned();
    let eve = home
        .nobody()
        .with("authorization", &format!("Bearer {secret}"));
    let hers = format!("/api/v1/asks/{}", scene.foreign.ask);
    assert_eq!(eve.get(&hers).await.status, 404);

    let pairing = owner.post("/api/v1/pairings", &new).await;
    assert_eq!(pairing.status, 201, "{pairing:?}");
    let paired = home.pair(pairing.json()["code"].as_str().unwrap()).await;
    assert_eq!(paired.json()["workspace"], json!(home.workspace));

    for (path, body) in [("/api/v1/tokens", &new), ("/api/v1/pairings", &new)] {
        let mut body = body.clone();
        body["workspace"] = json!(neighbour.workspace);
        let refused = owner.post(path, &body).await;
        assert_eq!(
            (refused.status, refused.code().as_str()),
            (403, "forbidden")
        );
    }
}

#[tokio::test]
async fn an_owner_of_one_workspace_sees_and_revokes_the_tokens_of_that_one_alone() {
    let scene = Scene::new().await;
    let (home, neighbour) = (&scene.home, &scene.neighbour);
    let owner = home.client_here(Role::Owner).await;
    let everywhere = Client::local(&home.socket);
    let token = async |client: &Client, body: Value| {
        let made = client.post("/api/v1/tokens", &body).await;
        made.json()["token"]["id"].as_str().unwrap().to_owned()
    };
    let own = token(&owner, json!({ "name": "bob", "role": "viewer" })).await;
    let whole = token(&everywhere, json!({ "name": "carol", "role": "viewer" })).await;
    let other = json!({ "name": "dan", "role": "viewer", "workspace": neighbour.workspace });
    let other = token(&everywhere, other).await;

    let listed = owner.get("/api/v1/tokens").await.json();
    let listed = listed["tokens"].as_array().unwrap();
    assert!(listed.iter().any(|token| token["id"] == own));
    assert!(
        listed
            .iter()
            .all(|token| token["workspace"] == json!(home.workspace)),
        "{listed:?}"
    );
    for id in [&whole, &other] {
        let refused = owner.delete(&format!("/api/v1/tokens/{id}")).await;
        assert_eq!(
            (refused.status, refused.code().as_str()),
            (404, "not_found")
        );
    }
    let revoked = owner.delete(&format!("/api/v1/tokens/{own}")).await;
    assert_eq!(revoked.status, 204, "{revoked:?}");
    // Who administers the workspace finds it in the workspace's own audit.
    let audit = owner.get("/api/v1/audit").await.json();
    let entries = audit["entries"].as_array().unwrap();
    let is_noted = |entry: &Value| entry["action"] == "token.revoke" && entry["subject"] == own;
    assert!(entries.iter().any(is_noted), "{audit}");
    let all = everywhere.get("/api/v1/tokens").await.json();
    let is_good = |id: &str| {
        let mut tokens = all["tokens"].as_array().unwrap().iter();
        let token = tokens.find(|token| token["id"] == id).unwrap();
        token.get("revoked_at").is_none_or(Value::is_null)
    };
    assert!(is_good(&whole) && is_good(&other) && !is_good(&own));
}

#[tokio::test]
async fn a_stream_for_one_workspace_tells_of_that_one_alone() {
    let scene = Scene::new().await;
    let viewer = scene.home.client_here(Role::Viewer).await;
    let mut events = viewer.events(Some(0)).await;
    scene.neighbour.ask(&format!("echo {MARK}")).await;
    let last = scene.home.ask("ls").await;
    loop {
        let frame = events.next().await.unwrap();
        let told = frame.data.to_string();
        let foreign = scene.foreign.ids.iter().find(|id| told.contains(*id));
        assert_eq!(foreign, None, "{told}");
        if frame.data["ask"] == json!(last.id) {
            return;
        }
    }
}
