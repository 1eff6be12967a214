//! What the agent does with each message: requests are answered, turns run beside each other, one in each session.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1::{
    AgentCapabilities, AgentResponse, AuthenticateResponse, AvailableCommand,
    AvailableCommandsUpdate, CancelNotification, ClientCapabilities, CloseSessionRequest,
    CloseSessionResponse, DeleteSessionRequest, DeleteSessionResponse, Error, Implementation,
    InitializeRequest, InitializeResponse, ListSessionsRequest, ListSessionsResponse,
    LoadSessionRequest, LoadSessionResponse, NewSessionRequest, NewSessionResponse,
    PromptCapabilities, PromptRequest, PromptResponse, RequestId, ResumeSessionRequest,
    ResumeSessionResponse, SessionCapabilities, SessionCloseCapabilities,
    SessionDeleteCapabilities, SessionId, SessionListCapabilities, SessionResumeCapabilities,
    SessionUpdate, SetSessionConfigOptionRequest, SetSessionConfigOptionResponse,
    SetSessionModeRequest, SetSessionModeResponse,
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::task::JoinSet;

use crate::archive::Archive;
use crate::connection::Connection;
use crate::prompt::Prompt;
use crate::session::{Record, Session};
use crate::settings::Mode;
use crate::turn::{Host, Turn};

/// The agent of one client.
#[derive(Debug)]
pub(crate) struct Agent {
    connection: Connection,
    archive: Archive,
    client: ClientCapabilities,
    sessions: HashMap<SessionId, Arc<Session>>,
    turns: JoinSet<()>,
}

impl Agent {
    pub(crate) fn new(connection: Connection, archive: Archive) -> Self {
        Self {
            connection,
            archive,
            client: ClientCapabilities::default(),
            sessions: HashMap::new(),
            turns: JoinSet::new(),
        }
    }

    /// Takes one line of the client's in.
    pub(crate) async fn take(&mut self, line: &[u8]) {
        while self.turns.try_join_next().is_some() {}
        let line = line.trim_ascii();
        if line.is_empty() {
            return;
        }
        let Ok(Value::Object(mut message)) = serde_json::from_slice(line) else {
            let refusal = Err(Error::parse_error());
            return self.connection.respond(RequestId::Null, refusal).await;
        };
        let id = message
            .remove("id")
            .map(serde_json::from_value::<RequestId>);
        let params = message.remove("params").unwrap_or_default();
        match (message.get("method").and_then(Value::as_str), id) {
            (Some(method), None) => self.take_notification(method, params),
            (Some(method), Some(Ok(id))) => self.take_request(method, id, params).await,
            (None, Some(Ok(id))) => {
                let answer = match message.remove("error") {
                    None => Ok(message.remove("result").unwrap_or_default()),
                    Some(error) => Err(parse(error).unwrap_or_else(|error| error)),
                };
                self.connection.take_answer(&id, answer);
            }
            (_, Some(Err(_)) | None) => {
                let refusal = Err(Error::invalid_request());
                self.connection.respond(RequestId::Null, refusal).await;
            }
        }
    }

    /// Ends every turn, and what it runs.
    pub(crate) async fn stop(&mut self) {
        self.turns.shutdown().await;
        for session in self.sessions.values() {
            session.keep();
        }
    }

    /// Unknown notifications are ignored, as the protocol wants it.
    fn take_notification(&self, method: &str, params: Value) {
        if method == "session/cancel"
            && let Ok(cancel) = parse::<CancelNotification>(params)
            && let Some(session) = self.sessions.get(&cancel.session_id)
        {
            session.cancel();
        }
    }

    async fn take_request(&mut self, method: &str, id: RequestId, params: Value) {
        let outcome = match method {
            "initialize" => parse(params).map(|request| self.initialize(request)),
            // There is nothing to sign in to.
            "authenticate" => Ok(AgentResponse::AuthenticateResponse(
                AuthenticateResponse::new(),
            )),
            "session/new" => match parse(params).and_then(|request| self.new_session(&request)) {
                Ok(session) => return self.welcome(id, &session).await,
                Err(error) => Err(error),
            },
            "session/load" => match parse(params) {
                Ok(request) => self.load_session(request).await,
                Err(error) => Err(error),
            },
            "session/resume" => parse(params).and_then(|request| self.resume_session(&request)),
            "session/list" => parse(params).map(|request| self.list_sessions(&request)),
            "session/close" => parse(params).and_then(|request| self.close_session(&request)),
            "session/delete" => parse(params).and_then(|request| self.delete_session(&request)),
            "session/set_mode" => parse(params).and_then(|request| self.set_mode(&request)),
            "session/set_config_option" => {
                parse(params).and_then(|request| self.set_option(&request))
            }
            "session/prompt" => match parse(params).and_then(|request| self.prompt(&id, request)) {
                // The turn answers when it ends.
                Ok(()) => return,
                Err(error) => Err(error),
            },
            _ => Err(Error::method_not_found()),
        };
        self.connection.respond(id, outcome).await;
    }

    fn initialize(&mut self, request: InitializeRequest) -> AgentResponse {
        self.client = request.client_capabilities;
        let sessions = SessionCapabilities::new()
            .list(SessionListCapabilities::new())
            .resume(SessionResumeCapabilities::new())
            .close(SessionCloseCapabilities::new())
            .delete(SessionDeleteCapabilities::new());
        let capabilities = AgentCapabilities::new()
            .load_session(true)
            .prompt_capabilities(PromptCapabilities::new().image(true).embedded_context(true))
            .session_capabilities(sessions);
        let agent = Implementation::new("countersign-demo-agent", env!("CARGO_PKG_VERSION"))
            .title("Countersign demo agent".to_owned());
        AgentResponse::InitializeResponse(
            // Whatever was offered: this is the version that is spoken here.
            InitializeResponse::new(ProtocolVersion::V1)
                .agent_capabilities(capabilities)
                .agent_info(agent),
        )
    }

    fn new_session(&mut self, request: &NewSessionRequest) -> Result<Arc<Session>, Error> {
        check_directory(&request.cwd)?;
        let session = self.open(Record::new(request.cwd.clone()), &request.cwd);
        session.keep();
        Ok(session)
    }

    /// Answers `session/new`, and then says which commands there are: no client can place that before it knows the id.
    async fn welcome(&self, id: RequestId, session: &Session) {
        let settings = session.settings();
        let opened = NewSessionResponse::new(session.id.clone())
            .modes(settings.modes())
            .config_options(settings.options(&self.client));
        let opened = AgentResponse::NewSessionResponse(opened);
        self.connection.respond(id, Ok(opened)).await;
        self.offer_commands(session).await;
    }

    async fn offer_commands(&self, session: &Session) {
        let help = AvailableCommand::new("help", "Explain what the demo agent does");
        let offer = AvailableCommandsUpdate::new(vec![help]);
        let offer = SessionUpdate::AvailableCommandsUpdate(offer);
        self.connection.tell(&session.id, offer).await;
    }

    async fn load_session(&mut self, request: LoadSessionRequest) -> Result<AgentResponse, Error> {
        let session = self.reopen(&request.session_id, &request.cwd)?;
        for update in session.history() {
            self.connection.tell(&session.id, update).await;
        }
        self.offer_commands(&session).await;
        let settings = session.settings();
        let loaded = LoadSessionResponse::new()
            .modes(settings.modes())
            .config_options(settings.options(&self.client));
        Ok(AgentResponse::LoadSessionResponse(loaded))
    }

    fn resume_session(&mut self, request: &ResumeSessionRequest) -> Result<AgentResponse, Error> {
        let session = self.reopen(&request.session_id, &request.cwd)?;
        let settings = session.settings();
        let resumed = ResumeSessionResponse::new()
            .modes(settings.modes())
            .config_options(settings.options(&self.client));
        Ok(AgentResponse::ResumeSessionResponse(resumed))
    }

    fn list_sessions(&self, request: &ListSessionsRequest) -> AgentResponse {
        let sessions = self.archive.list(request.cwd.as_deref());
        AgentResponse::ListSessionsResponse(ListSessionsResponse::new(sessions))
    }

    /// Closes a session; it can be loaded again.
    fn close_session(&mut self, request: &CloseSessionRequest) -> Result<AgentResponse, Error> {
        let session = self.session(&request.session_id)?;
        session.cancel();
        session.keep();
        self.sessions.remove(&request.session_id);
        Ok(AgentResponse::CloseSessionResponse(
            CloseSessionResponse::new(),
        ))
    }

    fn delete_session(&mut self, request: &DeleteSessionRequest) -> Result<AgentResponse, Error> {
        if let Some(open) = self.sessions.remove(&request.session_id) {
            open.cancel();
        }
        let forgotten = self.archive.forget(&request.session_id);
        forgotten.map_err(Error::into_internal_error)?;
        Ok(AgentResponse::DeleteSessionResponse(
            DeleteSessionResponse::new(),
        ))
    }

    fn set_mode(&self, request: &SetSessionModeRequest) -> Result<AgentResponse, Error> {
        let session = self.session(&request.session_id)?;
        let mode = Mode::named(&request.mode_id.0)
            .ok_or_else(|| refused(format!("there is no mode `{}`", request.mode_id)))?;
        session.set(|settings| settings.mode = mode);
        Ok(AgentResponse::SetSessionModeResponse(
            SetSessionModeResponse::new(),
        ))
    }

    fn set_option(&self, request: &SetSessionConfigOptionRequest) -> Result<AgentResponse, Error> {
        let session = self.session(&request.session_id)?;
        session
            .set(|settings| settings.set(&request.config_id.0, &request.value))
            .map_err(refused)?;
        let options = session.settings().options(&self.client);
        Ok(AgentResponse::SetSessionConfigOptionResponse(
            SetSessionConfigOptionResponse::new(options),
        ))
    }

    /// Begins a turn, which answers the request itself.
    fn prompt(&mut self, id: &RequestId, request: PromptRequest) -> Result<(), Error> {
        let session = self.session(&request.session_id)?;
        let Some(cancelled) = session.begin_turn() else {
            let running = "a turn is running already in this session".to_owned();
            return Err(Error::invalid_request().data(Value::from(running)));
        };
        let turn = Turn {
            session: Arc::clone(&session),
            connection: self.connection.clone(),
            cancelled,
            forms: self.takes_forms(),
            host: Host::of(&self.client),
        };
        let id = id.clone();
        self.turns.spawn(async move {
            let reason = turn.run(&Prompt::read(request.prompt)).await;
            // First: the client may prompt again as soon as it has the answer.
            session.end_turn();
            session.keep();
            let ended = AgentResponse::PromptResponse(PromptResponse::new(reason));
            turn.connection.respond(id, Ok(ended)).await;
        });
        Ok(())
    }

    fn takes_forms(&self) -> bool {
        let elicitation = self.client.elicitation.as_ref();
        elicitation.is_some_and(|elicitation| elicitation.form.is_some())
    }

    fn session(&self, id: &SessionId) -> Result<Arc<Session>, Error> {
        let session = self.sessions.get(id).map(Arc::clone);
        session.ok_or_else(|| unknown(id))
    }

    /// Takes up an earlier session, of this process or another's.
    fn reopen(&mut self, id: &SessionId, directory: &Path) -> Result<Arc<Session>, Error> {
        check_directory(directory)?;
        if let Some(open) = self.sessions.get(id) {
            return Ok(Arc::clone(open));
        }
        let mut record = self.archive.find(id).ok_or_else(|| unknown(id))?;
        record.close_open_tool_calls();
        Ok(self.open(record, directory))
    }

    fn open(&mut self, record: Record, directory: &Path) -> Arc<Session> {
        let session = Arc::new(Session::open(self.archive.clone(), record, directory));
        self.sessions
            .insert(session.id.clone(), Arc::clone(&session));
        session
    }
}

fn parse<T: DeserializeOwned>(params: Value) -> Result<T, Error> {
    serde_json::from_value(params).map_err(|error| refused(error.to_string()))
}

fn refused(reason: String) -> Error {
    Error::invalid_params().data(Value::from(reason))
}

fn unknown(id: &SessionId) -> Error {
    Error::resource_not_found(Some(id.to_string()))
}

fn check_directory(directory: &Path) -> Result<(), Error> {
    if directory.is_absolute() && directory.is_dir() {
        return Ok(());
    }
    Err(refused(format!(
        "`{}` is not the absolute path of a directory",
        directory.display()
    )))
}
