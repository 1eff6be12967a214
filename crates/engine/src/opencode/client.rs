//! A client of opencode's HTTP API. Every call has a limit; none is repeated here.

use std::collections::HashMap;
use std::time::Duration;

use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::address::percent_encoded;
use crate::opencode::client_error::{ClientError, said_in};
use crate::opencode::delegation::Agent;
use crate::opencode::endpoint::Endpoint;
use crate::opencode::offers::{ListedAgent, Offers};
use crate::opencode::policy::ask_rules;
use crate::opencode::prompt::PromptText;
use crate::opencode::stream::Frames;
use crate::opencode::wire::{
    ListedSession, Message, Part, Permission, PermissionRule, QuestionRequest, Session, Status,
    ToolReference,
};

/// How long opencode may take to answer; the first call for a directory sets a lot of things up.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);
/// How long opencode may take to answer what is read again and again: without it, what is known already goes on.
const READ_PATIENCE: Duration = Duration::from_secs(10);
/// How long a probe may take: a server that is not quite up takes requests and never answers them.
const PROBE_PATIENCE: Duration = Duration::from_secs(1);
const DIRECTORY_HEADER: &str = "x-opencode-directory";

/// An answer of opencode's and the call that it answers.
struct Answered {
    call: String,
    response: Response,
}

/// What a permission can be told. Never `always`: that would reach further than anybody was shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// Go on, this once.
    Once,
    /// No, and this is why.
    Reject {
        /// What the model gets to read.
        message: String,
    },
}

/// What became of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replied {
    /// opencode took it; whether it did anything with it is another matter.
    Accepted,
    /// opencode does not know the request, or no longer.
    Unknown,
}

/// An opencode server.
#[derive(Debug, Clone)]
pub struct Opencode {
    http: reqwest::Client,
    endpoint: Endpoint,
}

#[derive(Deserialize)]
struct Health {
    #[serde(default)]
    version: String,
}

#[derive(Deserialize)]
struct MessageWithParts {
    info: Message,
    #[serde(default)]
    parts: Vec<Value>,
}

impl Opencode {
    /// A client for the server at `endpoint`.
    pub fn new(endpoint: Endpoint) -> Result<Self, ClientError> {
        let http = reqwest::Client::builder()
            .connect_timeout(Duration::from_secs(5))
            // A request must end where it was sent: an engine's redirect could lead anywhere.
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .build()
            .map_err(ClientError::Setup)?;
        Ok(Self { http, endpoint })
    }

    /// Where the server listens.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// The version of a server that is up; a new connection each time, and little patience.
    pub async fn version(&self) -> Result<String, ClientError> {
        let request = self
            .request(Method::GET, "/global/health")
            .timeout(PROBE_PATIENCE)
            .header("connection", "close");
        let health: Health = self.json(request).await?;
        Ok(health.version)
    }

    /// Subscribes to everything that is announced.
    pub async fn events(&self) -> Result<Frames, ClientError> {
        // No limit for the whole: this one is to stay open. The frames have a limit of their own.
        let request = self.request(Method::GET, "/global/event");
        let response = tokio::time::timeout(PATIENCE, self.send(request))
            .await
            .map_err(|_| ClientError::NoStream)??
            .response;
        Ok(Frames::new(response.bytes_stream()))
    }

    /// The rules that a session in `directory` has to get last.
    pub async fn ask_rules(&self, directory: &str) -> Result<Vec<PermissionRule>, ClientError> {
        let config: Value = self.get("/config", directory).await?;
        // A server without these lists has no such tools to ask for.
        let tools: Vec<String> = optional(self.get("/experimental/tool/ids", directory).await)?;
        let servers: HashMap<String, Value> = optional(self.get("/mcp", directory).await)?;
        // What an agent may do has to be known: a list that cannot be read is no list of careful agents.
        let agents: Vec<Agent> = match self.get("/agent", directory).await {
            Err(ClientError::NotFound { .. }) => Vec::new(),
            read => read?,
        };
        Ok(ask_rules(
            &config,
            tools.iter().map(String::as_str),
            servers.keys().map(String::as_str),
            &agents,
        ))
    }

    /// The names of the agents that a person can talk to in `directory`.
    pub async fn agent_names(&self, directory: &str) -> Result<Vec<String>, ClientError> {
        let agents: Vec<ListedAgent> = optional(self.get("/agent", directory).await)?;
        let names = agents.into_iter().filter_map(ListedAgent::talkative);
        Ok(names.map(|agent| agent.id).collect())
    }

    /// What can be chosen and said in `directory`. A server without one of the lists offers nothing of it.
    pub async fn offers(&self, directory: &str) -> Result<Offers, ClientError> {
        Ok(Offers::new(
            &optional(self.get("/config", directory).await)?,
            &optional(self.get("/config/providers", directory).await)?,
            optional(self.get("/agent", directory).await)?,
            optional(self.get("/command", directory).await)?,
        ))
    }

    /// The variants that a model has in `directory`; nothing if the model is not known. Without a model the one of the
    /// configuration is meant.
    pub async fn variants(
        &self,
        directory: &str,
        model: Option<&str>,
    ) -> Result<Option<Vec<String>>, ClientError> {
        let usual: Value = match model {
            Some(_) => Value::Null,
            None => self.get("/config", directory).await?,
        };
        let model = model.or_else(|| usual["model"].as_str());
        let Some((provider, model)) = model.and_then(|model| model.split_once('/')) else {
            return Ok(None);
        };
        let listed: Value = self.get("/config/providers", directory).await?;
        let providers = listed["providers"].as_array();
        let mut providers = providers.into_iter().flatten();
        let found = providers.find(|it| it["id"] == provider);
        let found = found.and_then(|provider| provider["models"].get(model));
        Ok(found.map(|model| {
            let variants = model["variants"].as_object();
            variants
                .map(|all| all.keys().cloned().collect())
                .unwrap_or_default()
        }))
    }

    /// Makes a session that has `rules` last.
    pub async fn create_session(
        &self,
        directory: &str,
        title: Option<&str>,
        rules: &[PermissionRule],
    ) -> Result<Session, ClientError> {
        let mut body = json!({ "permission": rules });
        if let Some(title) = title {
            body["title"] = title.into();
        }
        self.json(
            self.in_directory(Method::POST, "/session", directory)
                .json(&body),
        )
        .await
    }

    /// Adds `rules` behind a session's own.
    pub async fn add_rules(
        &self,
        directory: &str,
        session: &str,
        rules: &[PermissionRule],
    ) -> Result<(), ClientError> {
        let path = format!("/session/{session}");
        let body = json!({ "permission": rules });
        self.send(
            self.in_directory(Method::PATCH, &path, directory)
                .json(&body),
        )
        .await
        .map(drop)
    }

    /// The newest sessions in a directory that nobody started for a sub-agent.
    pub async fn sessions(
        &self,
        directory: &str,
        limit: u32,
    ) -> Result<Vec<ListedSession>, ClientError> {
        let path = format!("/session?roots=true&limit={limit}");
        let mut sessions: Vec<ListedSession> = self.get(&path, directory).await?;
        sessions.retain(|ListedSession { session, .. }| {
            session.parent_id.is_none() && session.directory == directory
        });
        Ok(sessions)
    }

    /// A session, if there is one of that name.
    pub async fn session(
        &self,
        directory: &str,
        session: &str,
    ) -> Result<Option<Session>, ClientError> {
        found(self.read(&format!("/session/{session}"), directory).await)
    }

    /// Says something; returns as soon as opencode has taken it.
    pub async fn prompt(
        &self,
        directory: &str,
        session: &str,
        prompt: &PromptText,
    ) -> Result<(), ClientError> {
        let path = format!("/session/{session}/prompt_async");
        self.send(
            self.in_directory(Method::POST, &path, directory)
                .json(&prompt.body()),
        )
        .await
        .map(drop)
    }

    /// Stops what a session is doing.
    pub async fn abort(&self, directory: &str, session: &str) -> Result<(), ClientError> {
        let path = format!("/session/{session}/abort");
        self.send(self.in_directory(Method::POST, &path, directory))
            .await
            .map(drop)
    }

    /// Has what the engine knows of a directory thrown away, so that it reads the configuration there anew.
    pub async fn dispose(&self, directory: &str) -> Result<(), ClientError> {
        self.send(self.in_directory(Method::POST, "/instance/dispose", directory))
            .await
            .map(drop)
    }

    /// The permission requests that wait, each with what was sent.
    pub async fn permissions(
        &self,
        directory: &str,
    ) -> Result<Vec<(Permission, Value)>, ClientError> {
        self.list("/permission", directory).await
    }

    /// The questions that wait, each with what was sent.
    pub async fn questions(
        &self,
        directory: &str,
    ) -> Result<Vec<(QuestionRequest, Value)>, ClientError> {
        self.list("/question", directory).await
    }

    /// What the sessions that are not idle are doing.
    pub async fn statuses(&self, directory: &str) -> Result<HashMap<String, Status>, ClientError> {
        self.read("/session/status", directory).await
    }

    /// The newest messages of a session, oldest of them first, each with its readable parts. A session that
    /// is gone has none.
    pub async fn messages(
        &self,
        directory: &str,
        session: &str,
        limit: u32,
    ) -> Result<Vec<(Message, Vec<Part>)>, ClientError> {
        let path = format!("/session/{session}/message?limit={limit}");
        let messages: Option<Vec<MessageWithParts>> = found(self.read(&path, directory).await)?;
        Ok(messages
            .unwrap_or_default()
            .into_iter()
            .map(|message| {
                let parts = message
                    .parts
                    .iter()
                    .filter_map(|part| Part::deserialize(part).ok())
                    .collect();
                (message.info, parts)
            })
            .collect())
    }

    /// The tool call that `tool` points at, if it is there.
    pub async fn tool_call(
        &self,
        directory: &str,
        session: &str,
        tool: &ToolReference,
    ) -> Result<Option<Part>, ClientError> {
        let path = format!("/session/{session}/message/{}", tool.message_id);
        let message: Option<MessageWithParts> = found(self.read(&path, directory).await)?;
        Ok(message.and_then(|message| {
            message
                .parts
                .iter()
                .filter_map(|part| Part::deserialize(part).ok())
                .find(|part| part.call_id == tool.call_id)
        }))
    }

    /// Answers a permission request.
    pub async fn reply_permission(
        &self,
        directory: &str,
        request: &str,
        reply: &Reply,
    ) -> Result<Replied, ClientError> {
        let body = match reply {
            Reply::Once => json!({ "reply": "once" }),
            Reply::Reject { message } => json!({ "reply": "reject", "message": message }),
        };
        self.reply(&format!("/permission/{request}/reply"), directory, &body)
            .await
    }

    /// Answers a question: for each part, what was chosen or written.
    pub async fn reply_question(
        &self,
        directory: &str,
        request: &str,
        choices: &[Vec<String>],
    ) -> Result<Replied, ClientError> {
        self.reply(
            &format!("/question/{request}/reply"),
            directory,
            &json!({ "answers": choices }),
        )
        .await
    }

    /// Declines a question.
    pub async fn reject_question(
        &self,
        directory: &str,
        request: &str,
    ) -> Result<Replied, ClientError> {
        self.reply(
            &format!("/question/{request}/reject"),
            directory,
            &json!({}),
        )
        .await
    }

    async fn reply(
        &self,
        path: &str,
        directory: &str,
        body: &Value,
    ) -> Result<Replied, ClientError> {
        match self
            .send(self.in_directory(Method::POST, path, directory).json(body))
            .await
        {
            Ok(_) => Ok(Replied::Accepted),
            Err(ClientError::NotFound { .. }) => Ok(Replied::Unknown),
            Err(error) => Err(error),
        }
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self
            .http
            .request(method, format!("{}{path}", self.endpoint.base_url));
        match &self.endpoint.credentials {
            Some((user, password)) => request.basic_auth(user, Some(password)),
            None => request,
        }
    }

    fn in_directory(&self, method: Method, path: &str, directory: &str) -> RequestBuilder {
        self.request(method, path)
            .timeout(PATIENCE)
            .header(DIRECTORY_HEADER, percent_encoded(directory))
    }

    async fn get<T: DeserializeOwned>(
        &self,
        path: &str,
        directory: &str,
    ) -> Result<T, ClientError> {
        self.json(self.in_directory(Method::GET, path, directory))
            .await
    }

    /// Reads what is read again and again.
    async fn read<T: DeserializeOwned>(
        &self,
        path: &str,
        directory: &str,
    ) -> Result<T, ClientError> {
        let request = self.in_directory(Method::GET, path, directory);
        self.json(request.timeout(READ_PATIENCE)).await
    }

    /// Reads each entry of a list and keeps it as it came. One that cannot be read fails the whole: a list
    /// with a hole would look as if that ask were gone.
    async fn list<T: DeserializeOwned>(
        &self,
        path: &str,
        directory: &str,
    ) -> Result<Vec<(T, Value)>, ClientError> {
        let list: Vec<Value> = self.read(path, directory).await?;
        let read = |raw: Value| match T::deserialize(&raw) {
            Ok(entry) => Ok((entry, raw)),
            Err(source) => Err(ClientError::Unreadable {
                call: format!("GET {path}"),
                source,
            }),
        };
        list.into_iter().map(read).collect()
    }

    async fn json<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, ClientError> {
        let Answered { call, response } = self.send(request).await?;
        let body = match response.bytes().await {
            Ok(body) => body,
            Err(source) => return Err(ClientError::Unanswered { call, source }),
        };
        serde_json::from_slice(&body).map_err(|source| ClientError::Unreadable { call, source })
    }

    async fn send(&self, request: RequestBuilder) -> Result<Answered, ClientError> {
        let (client, request) = request.build_split();
        let request = request.map_err(ClientError::Setup)?;
        let call = format!("{} {}", request.method(), request.url().path());
        let response = match client.execute(request).await {
            Ok(response) => response,
            Err(source) if source.is_connect() => {
                return Err(ClientError::Unreachable {
                    base_url: self.endpoint.base_url.clone(),
                    source,
                });
            }
            Err(source) => return Err(ClientError::Unanswered { call, source }),
        };
        let status = response.status();
        if status.is_success() {
            return Ok(Answered { call, response });
        }
        let message = said_in(&response.text().await.unwrap_or_default());
        Err(match status {
            StatusCode::UNAUTHORIZED => ClientError::Unauthorized,
            StatusCode::NOT_FOUND => ClientError::NotFound { call, message },
            _ => ClientError::Refused {
                call,
                status: status.as_u16(),
                message,
            },
        })
    }
}

/// Nothing where there is no such thing.
fn found<T>(result: Result<T, ClientError>) -> Result<Option<T>, ClientError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(ClientError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Nothing where the server does not have the list, or not in a form that is known.
fn optional<T: Default>(result: Result<T, ClientError>) -> Result<T, ClientError> {
    match result {
        Err(
            ClientError::NotFound { .. }
            | ClientError::Unreadable { .. }
            | ClientError::Refused { .. },
        ) => Ok(T::default()),
        other => other,
    }
}
