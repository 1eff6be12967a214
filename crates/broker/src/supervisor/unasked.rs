//! Tool calls that act without an ask: opencode lets some pass, and whoever has its password lets all.

use countersign_core::ask::Ask;
use countersign_core::session::Session;
use countersign_engine::opencode::{Part, ToolState, asked_as};
use countersign_store::AskFilter;
use serde_json::Value;

use crate::error::BrokerError;
use crate::supervisor::run::EngineRun;

/// How many asks of a session are looked at to find the one of a tool call. A session that has more cannot be judged by them.
const ASKS: i64 = 2_000;

impl EngineRun {
    /// Raises the alarm about a tool call that acted, or acts, and was never asked for here. On an engine that somebody else
    /// runs that is theirs to say: the call is in the transcript.
    pub(super) async fn check_call(
        &self,
        session: &Session,
        part: &Part,
    ) -> Result<(), BrokerError> {
        let Some(state) = part.state.as_ref().filter(|_| self.link.ours) else {
            return Ok(());
        };
        let Some(permission) = asked_as(&part.tool, &state.input) else {
            return Ok(());
        };
        let is_trusted = self.shared.settings.unasked_tools.contains(&part.tool);
        if !has_acted(state) || is_trusted || !self.is_news(part.id.clone()) {
            return Ok(());
        }
        let filter = AskFilter {
            session: Some(session.id),
            ..AskFilter::default()
        };
        let asks = self.shared.store.asks(filter, ASKS).await?;
        let is_asked = asks.iter().any(|ask| is_of(ask, part, permission));
        let may_be_older = i64::try_from(asks.len()).is_ok_and(|count| count >= ASKS);
        if is_asked || may_be_older || self.may_act(session).await? {
            return Ok(());
        }
        let what = format!(
            "`{}` ran without an ask: {}",
            part.tool,
            brief(&state.input)
        );
        self.alarm(None, session.id, &what).await
    }

    /// Whether a session is a sub-agent's of which somebody was told that it may act without asking, and allowed it.
    async fn may_act(&self, session: &Session) -> Result<bool, BrokerError> {
        let Some(parent) = session.parent else {
            return Ok(false);
        };
        let filter = AskFilter {
            session: Some(parent),
            ..AskFilter::default()
        };
        let asks = self.shared.store.asks(filter, ASKS).await?;
        Ok(asks.iter().any(|ask| is_leave_for(ask, &session.agent)))
    }
}

/// Whether an ask was for the start of the sub-agent `agent`, and was allowed.
fn is_leave_for(ask: &Ask, agent: &str) -> bool {
    let answer = ask.state.answer();
    ask.subject.tool() == "task"
        && ask.raw["patterns"][0] == agent
        && answer.is_some_and(|answer| answer.choice.is_yes())
}

/// Whether a tool call has had an effect. One that failed may have failed before it could ask.
fn has_acted(state: &ToolState) -> bool {
    let shows_output = state.metadata["output"]
        .as_str()
        .is_some_and(|it| !it.is_empty());
    match state.status.as_str() {
        "completed" => true,
        "running" => shows_output,
        _ => false,
    }
}

/// Whether an ask is the one for a tool call. The engine names messages itself, and the model the calls in them.
fn is_of(ask: &Ask, part: &Part, permission: &str) -> bool {
    let tool = &ask.raw["tool"];
    tool["callID"] == *part.call_id
        && tool["messageID"] == *part.message_id
        && ask.subject.tool() == permission
}

/// What a tool was given, in a line.
fn brief(input: &Value) -> String {
    let text = match input["command"].as_str() {
        Some(command) => command.to_owned(),
        None => input.to_string(),
    };
    let mut brief: String = text.chars().take(200).collect();
    if brief.len() < text.len() {
        brief.push('…');
    }
    brief
}
