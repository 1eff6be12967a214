//! Replays the recordings: the same servers, the same requests, and what came of them in the same form.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use countersign_testkit::process::Launch;
use countersign_testkit::{Program, ports};

use crate::json::Json;
use crate::normal::Names;
use crate::upstream::Upstream;
use crate::wire::{self, Response};
use crate::{fixture, jsonc, server};

const HOST_TOKEN: &str = "host-token-456";
const PATIENCE: Duration = Duration::from_secs(20);

/// Steps before which requests are sent that stay pending, by their names in the recordings, and whether somebody has
/// to be asked about them. The recordings have them where they ended.
const PENDING: &[(&str, &[&str], bool)] = &[
    ("pending list", &["a"], true),
    ("pending list config.patch", &["b"], true),
    ("pending list shows traversal path", &["c"], false),
    ("pending list commands.delete", &["d"], true),
    ("pending list in order of creation", &["e", "f"], true),
    (
        "pending list config.import names only the two config files",
        &["g"],
        true,
    ),
    ("pending list engine.reload", &["h"], true),
];

/// Listings that come in the order in which a folder is read: they are compared as sets.
const UNORDERED: [&str; 6] = [
    "skills",
    "commands",
    "plugins",
    "inbox",
    "artifacts",
    "export",
];

/// What came of a step, in the form in which it is compared.
#[derive(Debug, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) status: u16,
    pub(crate) body: Json,
    headers: Vec<(String, Json)>,
    pub(crate) disk: BTreeMap<String, File>,
    upstream: Vec<Json>,
}

/// What became of a file.
#[derive(Debug, PartialEq)]
pub(crate) enum File {
    Gone,
    Appended(String),
    Text(String),
    /// JSON with comments: what it means, not how it is set.
    Meaning(serde_json::Value, Vec<String>),
}

/// A step of the recordings and both its outcomes.
pub(crate) struct Step {
    pub(crate) name: String,
    pub(crate) profile: String,
    pub(crate) recorded: Outcome,
    pub(crate) replayed: Outcome,
}

struct Server {
    profile: String,
    port: u16,
    _program: Program,
}

struct Pending {
    request: JoinHandle<Response>,
    before: BTreeMap<String, String>,
}

/// Replays the recordings `golden` against `binary`, with `folder` to itself.
pub(crate) fn replay(golden: &str, binary: &Path, folder: &Path) -> Vec<Step> {
    let records: Vec<Json> = golden
        .lines()
        .map(|line| Json::read(line).unwrap())
        .collect();
    let upstream = Upstream::start();
    let mut run = Run {
        binary: binary.to_owned(),
        data: folder.join("state"),
        log: folder.join("server.log"),
        names: Names::new(&folder.join("fixture"), &upstream),
        upstream,
        server: None,
        pending: BTreeMap::new(),
    };
    let mut steps = Vec::new();
    for record in &records {
        run.prepare(record, &records);
        let replayed = run.step(record);
        let name = |key| record.at(key).as_str().unwrap().to_owned();
        steps.push(Step {
            name: name("step"),
            profile: name("profile"),
            recorded: recorded(record),
            replayed,
        });
    }
    steps
}

struct Run {
    binary: PathBuf,
    data: PathBuf,
    log: PathBuf,
    names: Names,
    upstream: Upstream,
    server: Option<Server>,
    pending: BTreeMap<String, Pending>,
}

impl Run {
    /// Brings about what a step was recorded in.
    fn prepare(&mut self, record: &Json, records: &[Json]) {
        let step = record.at("step").as_str().unwrap();
        let profile = record.at("profile").as_str().unwrap();
        if self
            .server
            .as_ref()
            .is_none_or(|server| server.profile != profile)
        {
            self.start(profile, record.at("server"));
        }
        if step.starts_with("jsonc shape") {
            let content = record
                .get("note")
                .and_then(Json::as_str)
                .unwrap_or_default();
            std::fs::write(self.names.root.join("ws5/opencode.jsonc"), content).unwrap();
        }
        self.upstream.fail(match step {
            "engine reload upstream 500 json" => Some((500, r#"{"err": "boom"}"#)),
            "engine reload upstream 503 text" => Some((503, "plain text")),
            _ => None,
        });
        for (_, letters, is_asked) in PENDING.iter().filter(|(before, ..)| *before == step) {
            for (count, letter) in letters.iter().enumerate() {
                let same =
                    |record: &&Json| record.get("background") == Some(&Json::string(*letter));
                self.send_pending(letter, records.iter().find(same).unwrap());
                if *is_asked {
                    self.wait_for_approvals(count + 1);
                }
            }
        }
    }

    fn start(&mut self, profile: &str, server: &Json) {
        self.server = None;
        fixture::build(&self.names.root);
        if self.data.exists() {
            std::fs::remove_dir_all(&self.data).unwrap();
        }
        let port = ports::free();
        let arguments = server.at("args").items().iter();
        let arguments = arguments.map(|text| self.names.expand(text.as_str().unwrap()));
        let variables = server.at("env").fields().iter();
        let variables =
            variables.map(|(name, value)| (name, self.names.expand(value.as_str().unwrap())));
        let program = Launch::new(&self.binary, &self.log)
            .arguments(["openwork-server"])
            .arguments(arguments)
            .arguments(["--port", &port.to_string()])
            .inherit(&["PATH"])
            .variable("HOME", self.names.root.join("home"))
            .variable("OPENWORK_DATA_DIR", self.names.root.join("data"))
            .variable("OPENWORK_LOG_REQUESTS", "0")
            .variable("COUNTERSIGN_DATA", &self.data)
            .variables(variables)
            .start()
            .unwrap();
        server::wait_until_up(port, &program);
        self.server = Some(Server {
            profile: profile.to_owned(),
            port,
            _program: program,
        });
    }

    fn port(&self) -> u16 {
        self.server.as_ref().unwrap().port
    }

    /// Sends the request of `record` on a thread of its own.
    fn send(&self, record: &Json) -> JoinHandle<Response> {
        let request = record.at("request");
        let text = |key| self.names.expand(request.at(key).as_str().unwrap());
        let headers = request.at("headers").fields().iter();
        let headers: Vec<_> = headers
            .map(|(name, value)| (name.clone(), self.names.expand(value.as_str().unwrap())))
            .collect();
        let body = request
            .get("json")
            .map(|json| self.names.expand(&json.to_string()));
        let body = body.or_else(|| request.get("raw").map(|_| text("raw")));
        let (port, method, path) = (self.port(), text("method"), text("path"));
        std::thread::spawn(move || {
            wire::send(port, &method, &path, &headers, body.as_deref()).unwrap()
        })
    }

    fn send_pending(&mut self, letter: &str, record: &Json) {
        let before = fixture::snapshot(&self.names.root);
        self.upstream.forget();
        let request = self.send(record);
        self.pending
            .insert(letter.to_owned(), Pending { request, before });
    }

    /// Waits until so many are asked for, and learns what they are called.
    fn wait_for_approvals(&mut self, count: usize) {
        let header = [("X-OpenWork-Host-Token".to_owned(), HOST_TOKEN.to_owned())];
        let begun = Instant::now();
        loop {
            let listed = wire::send(self.port(), "GET", "/approvals", &header, None).unwrap();
            let listed = Json::read(&listed.body).unwrap();
            let ids = listed.at("items").items().iter();
            let ids: Vec<_> = ids
                .map(|item| item.at("id").as_str().unwrap().to_owned())
                .collect();
            if ids.len() >= count {
                self.names.learnt = ["APPROVAL", "A1"].map(|name| (name, ids[0].clone())).into();
                self.names
                    .learnt
                    .extend(ids.get(1).map(|id| ("A2", id.clone())));
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "nothing is asked: {listed}");
            std::thread::yield_now();
        }
    }

    fn step(&mut self, record: &Json) -> Outcome {
        let background = record.get("background").and_then(Json::as_str);
        let pending = background.and_then(|letter| self.pending.remove(letter));
        let (response, before) = if let Some(pending) = pending {
            (pending.request.join().unwrap(), pending.before)
        } else {
            let before = fixture::snapshot(&self.names.root);
            self.upstream.forget();
            (self.send(record).join().unwrap(), before)
        };
        let mut outcome = self.outcome(&response, path_of(record));
        // What a pending write does may happen at any moment; it counts where that write ends.
        if self.pending.is_empty() {
            outcome.disk = self.changes(&before);
            let requests = self.upstream.requests();
            outcome.upstream = requests
                .iter()
                .map(|request| self.names.value(request, None))
                .collect();
        }
        outcome
    }

    fn outcome(&self, response: &Response, path: &str) -> Outcome {
        let body = match Json::read(&response.body) {
            Some(json) => self.names.value(&json, None),
            None => Json::String(self.names.text(&response.body)),
        };
        Outcome {
            status: response.status,
            body: as_set(body, path),
            headers: headers(|name| response.header(name).map(Json::string)),
            disk: BTreeMap::new(),
            upstream: Vec::new(),
        }
    }

    fn changes(&self, before: &BTreeMap<String, String>) -> BTreeMap<String, File> {
        let after = fixture::snapshot(&self.names.root);
        let gone = before.keys().filter(|path| !after.contains_key(*path));
        let mut changes: BTreeMap<_, _> = gone
            .map(|path| (self.names.fold(path), File::Gone))
            .collect();
        for (path, text) in &after {
            let change = match before.get(path) {
                Some(old) if old == text => continue,
                Some(old) if has_ending(path, &["jsonl"]) => {
                    File::Appended(self.names.text(text.get(old.len()..).unwrap_or(text)))
                }
                Some(_) | None => File::of(path, self.names.text(text)),
            };
            changes.insert(self.names.fold(path), change);
        }
        changes
    }
}

impl File {
    fn of(path: &str, text: String) -> Self {
        let is_json = has_ending(path, &["json", "jsonc"]);
        match is_json.then(|| jsonc::meaning(&text)).flatten() {
            Some((data, comments)) => Self::Meaning(data, comments),
            None => Self::Text(text),
        }
    }
}

fn has_ending(path: &str, endings: &[&str]) -> bool {
    let ending = Path::new(path).extension();
    ending.is_some_and(|ending| endings.iter().any(|known| ending == *known))
}

fn path_of(record: &Json) -> &str {
    let path = record.at("request").at("path").as_str().unwrap();
    path.split('?').next().unwrap()
}

/// The headers that are compared.
fn headers(get: impl Fn(&str) -> Option<Json>) -> Vec<(String, Json)> {
    [
        "content-type",
        "access-control-allow-origin",
        "access-control-allow-headers",
        "access-control-allow-methods",
        "vary",
    ]
    .into_iter()
    .filter_map(|name| get(name).map(|value| (name.to_owned(), value)))
    .collect()
}

/// Sorts listings whose order is nobody's intention.
fn as_set(mut body: Json, path: &str) -> Json {
    let last = path.rsplit('/').next().unwrap();
    if let Json::Object(fields) = &mut body
        && UNORDERED.contains(&last)
    {
        for (key, value) in fields {
            if let Json::Array(items) = value
                && matches!(key.as_str(), "items" | "skills" | "commands")
            {
                items.sort_by_key(ToString::to_string);
            }
        }
    }
    body
}

/// The outcome that was recorded.
fn recorded(record: &Json) -> Outcome {
    let response = record.at("response");
    let body = response
        .get("json")
        .or_else(|| response.get("text"))
        .unwrap();
    let header = |name: &str| match name {
        "content-type" => {
            Some(response.at("contentType").clone()).filter(|value| *value != Json::Null)
        }
        name => response
            .get("cors")
            .and_then(|cors| cors.get(name))
            .cloned(),
    };
    let disk = record.get("disk").map_or(&[][..], Json::fields).iter();
    let disk = disk.map(|(path, change)| {
        let change = match change {
            Json::Null => File::Gone,
            Json::String(text) => File::of(path, text.clone()),
            Json::Object(_) | Json::Array(_) | Json::Bool(_) | Json::Number(_) => {
                File::Appended(change.at("appended").as_str().unwrap().to_owned())
            }
        };
        (path.clone(), change)
    });
    let Json::Number(status) = response.at("status") else {
        panic!("a status is a number")
    };
    Outcome {
        status: u16::try_from(status.as_u64().unwrap()).unwrap(),
        body: as_set(body.clone(), path_of(record)),
        headers: headers(header),
        disk: disk.collect(),
        upstream: record
            .get("upstream")
            .map_or_else(Vec::new, |log| log.items().to_vec()),
    }
}
