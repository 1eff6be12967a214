//! Sessions that agents had before: listed by an agent that is started for the question, and taken up with their past.
//!
//! Only what the agent lists for this workspace is taken up, so that nobody reads what was said in another one.

use std::time::Duration;

use countersign_core::actor::Actor;
use countersign_core::id::SessionId;
use countersign_core::session::{Activity, Item, Session, Workspace};
use countersign_engine::acp::agents::Agent;
use countersign_engine::acp::initialize::{Ability, AgentDescription};
use countersign_engine::acp::session::{self, ListedSession, read_list};
use countersign_store::{Earlier, TakenUp};

use crate::acp::adoption::put_away;
use crate::acp::driver::Driver;
use crate::acp::history::History;
use crate::acp::opening::{Begun, explain};
use crate::acp::talk::{Talk, place, refused};
use crate::acp::{Agents, prompting, unavailable};
use crate::error::BrokerError;

/// How many agents are started at once to list their sessions.
pub(super) const LISTINGS: usize = 4;
/// How long an agent may take to start and to list its sessions.
const LISTING_LIMIT: Duration = Duration::from_secs(25);
/// How long an agent may take to start, to list its sessions and to load one.
const TAKING_UP_LIMIT: Duration = Duration::from_secs(90);
/// The most pages that an agent is asked for.
const PAGES: usize = 20;
/// The most sessions that are listed.
const SESSIONS: usize = 200;
/// The longest id and the longest title of a session that are taken for one.
const ID_LIMIT: usize = 1_000;
const TITLE_LIMIT: usize = 300;
/// What stands in the transcript of a session whose agent goes on with it and does not tell it again.
const UNTOLD: &str =
    "What was said here before is known to the agent, which goes on with it but does not tell it.";

/// What an agent lists.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct EarlierListing {
    /// The sessions, in the agent's order.
    pub(crate) sessions: Vec<ListedSession>,
    /// Whether there are more than are listed.
    pub(crate) has_more: bool,
}

/// Why nothing came of it.
enum Why {
    /// The agent cannot do it, as a sentence about it.
    Unable(String),
    /// It did not work out.
    Failed(String),
}

impl Why {
    fn with_noise(self, talk: &Talk) -> Self {
        match self {
            Self::Unable(_) => self,
            Self::Failed(why) => Self::Failed(talk.with_noise(why)),
        }
    }
}

impl From<String> for Why {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}

impl Agents {
    /// The sessions that the agent called `name` had in a workspace.
    pub(crate) async fn earlier(
        &self,
        workspace: &Workspace,
        name: &str,
    ) -> Result<EarlierListing, BrokerError> {
        let agent = self.named(name)?;
        let (this, workspace) = (self.clone(), workspace.clone());
        // Whoever asked may not wait for it; what was begun is still brought to an end.
        let asked = self
            .shared()
            .tasks
            .spawn(async move { this.list_earlier(&workspace, &agent).await });
        asked
            .await
            .unwrap_or_else(|_| Err(unavailable("the sessions could not be listed")))
    }

    /// Takes up the session that the agent called `name` calls `native_id`; says whether it is new here.
    pub(crate) async fn take_up(
        &self,
        workspace: &Workspace,
        name: &str,
        native_id: &str,
        title: Option<&str>,
        by: &Actor,
    ) -> Result<(Session, bool), BrokerError> {
        let agent = self.named(name)?;
        let (this, workspace, by) = (self.clone(), workspace.clone(), by.clone());
        let (native_id, title) = (native_id.to_owned(), title.map(str::to_owned));
        let begun = self.shared().tasks.spawn(async move {
            Box::pin(this.take_up_with(&workspace, &agent, &native_id, title, &by)).await
        });
        begun
            .await
            .unwrap_or_else(|_| Err(unavailable("the session could not be taken up")))
    }

    fn named(&self, name: &str) -> Result<Agent, BrokerError> {
        let agent = self.0.roster.get(name).cloned();
        agent.ok_or_else(|| BrokerError::missing("engine", name))
    }

    async fn list_earlier(
        &self,
        workspace: &Workspace,
        agent: &Agent,
    ) -> Result<EarlierListing, BrokerError> {
        let Ok(_room) = self.0.listings.try_acquire() else {
            return Err(unavailable("others are just listing sessions; try again"));
        };
        let life = self.begin_life(workspace, agent).await?;
        // One that is not there is not there for the next who asks either.
        let life = life.map_err(BrokerError::Unable)?;
        let asked = self
            .within(LISTING_LIMIT, async {
                let mut talk = Talk::listen(&life.keeper).await?;
                let listed = talk.describe_and_list(agent, workspace).await;
                listed.map_err(|why| why.with_noise(&talk))
            })
            .await;
        match asked {
            Ok(listing) => {
                self.end_life(workspace.id, &life, "it has listed its sessions")
                    .await?;
                Ok(listing)
            }
            Err(why) => Err(self.give_up(workspace, agent, &life, why).await?),
        }
    }

    async fn take_up_with(
        &self,
        workspace: &Workspace,
        agent: &Agent,
        native_id: &str,
        title: Option<String>,
        by: &Actor,
    ) -> Result<(Session, bool), BrokerError> {
        let life = self.begin_life(workspace, agent).await?;
        // One that is not there is not there for the next who asks either.
        let life = life.map_err(BrokerError::Unable)?;
        let talked = self
            .within(TAKING_UP_LIMIT, async {
                let mut talk = Talk::listen(&life.keeper).await?;
                let taken_up = talk.take_up(&life, agent, workspace, native_id).await;
                let (past, description) = taken_up.map_err(|why| why.with_noise(&talk))?;
                Ok((talk, past, description))
            })
            .await;
        let (talk, past, description) = match talked {
            Ok(talked) => talked,
            Err(why) => return Err(self.give_up(workspace, agent, &life, why).await?),
        };
        let now = self.shared().clock.now();
        let (run, taken) = (life.run.id, talk.taken);
        let earlier = Earlier {
            session: Session {
                id: SessionId::generate(now),
                workspace: workspace.id,
                engine: agent.name.clone(),
                native_id: native_id.to_owned(),
                parent: None,
                title: title.unwrap_or(past.title).replace('\0', "\u{fffd}"),
                directory: workspace.path.clone(),
                agent: agent.title.clone(),
                activity: Activity::Idle,
                started_at: now,
                changed_at: now,
            },
            items: past.items,
            run: Some((run, taken)),
            takes: Some(prompting::takes(&description)),
        };
        let life = self
            .goes_on(life, workspace, agent, talk, &description)
            .await?;
        let store = &self.shared().store;
        match store.take_up_session(&earlier, by, now).await {
            Ok(TakenUp::Fresh(session)) => {
                self.converse(Driver::new(self.clone(), session.clone(), life, taken));
                Ok((session, true))
            }
            // Somebody took it up at the same moment: theirs is the one that lives.
            Ok(TakenUp::Known(session)) => {
                put_away(self, &life, "its session was taken up already").await?;
                Ok((session, false))
            }
            Err(error) => {
                put_away(self, &life, "the ledger failed").await?;
                Err(error.into())
            }
        }
    }

    /// Talks with an agent, up to a limit or until Countersign ends.
    async fn within<T>(
        &self,
        limit: Duration,
        talk: impl Future<Output = Result<T, Why>>,
    ) -> Result<T, Why> {
        tokio::select! {
            talked = tokio::time::timeout(limit, Box::pin(talk)) => talked.unwrap_or_else(|_| {
                Err(Why::Failed(format!("it did not answer within {} s", limit.as_secs())))
            }),
            () = self.shared().ending.cancelled() => {
                Err(Why::Failed("Countersign was stopped".to_owned()))
            }
        }
    }

    /// Ends a life that nothing came of, and says why.
    async fn give_up(
        &self,
        workspace: &Workspace,
        agent: &Agent,
        life: &Begun,
        why: Why,
    ) -> Result<BrokerError, BrokerError> {
        let error = match why {
            Why::Unable(why) => BrokerError::Unable(format!("{} {why}", agent.title)),
            Why::Failed(why) => {
                let why = explain(agent, &life.keeper, &life.directory, &why).await;
                BrokerError::EngineUnavailable(why)
            }
        };
        self.end_life(workspace.id, life, &error.to_string())
            .await?;
        Ok(error)
    }
}

/// What is known of the past of a session.
struct Past {
    title: String,
    items: Vec<(String, Item)>,
}

impl Talk {
    async fn describe_and_list(
        &mut self,
        agent: &Agent,
        workspace: &Workspace,
    ) -> Result<EarlierListing, Why> {
        let description = self.describe(agent).await?;
        self.list(agent, &description, workspace).await
    }

    /// Has the agent list its sessions in a workspace.
    async fn list(
        &mut self,
        agent: &Agent,
        description: &AgentDescription,
        workspace: &Workspace,
    ) -> Result<EarlierListing, Why> {
        if !description.can(Ability::List) {
            let why = "cannot list its earlier sessions".to_owned();
            return Err(Why::Unable(why));
        }
        let directory = place(workspace).directory;
        let mut listing = EarlierListing::default();
        let mut cursor: Option<String> = None;
        for page in 1..=PAGES {
            let id = format!("session/list-{page}");
            let line = session::list(&id, &directory, cursor.as_deref());
            let result = self.request(&id, line).await?;
            let result = result.map_err(|error| refused(agent, "session/list", &error))?;
            let (sessions, next) = read_list(&result);
            for session in sessions {
                if listing.sessions.len() == SESSIONS {
                    listing.has_more = true;
                    return Ok(listing);
                }
                // Agents need not heed the directory that they are asked about.
                let is_here =
                    session.directory.trim_end_matches('/') == workspace.path.trim_end_matches('/');
                let is_new = |known: &ListedSession| known.session != session.session;
                if is_here && is_id(&session.session) && listing.sessions.iter().all(is_new) {
                    listing.sessions.push(shortened(session));
                }
            }
            listing.has_more = next.is_some();
            if next.is_none() || next == cursor {
                break;
            }
            cursor = next;
        }
        Ok(listing)
    }

    /// Has the agent go on with an earlier session and, if it can, tell what was said in it.
    async fn take_up(
        &mut self,
        life: &Begun,
        agent: &Agent,
        workspace: &Workspace,
        native_id: &str,
    ) -> Result<(Past, AgentDescription), Why> {
        let description = self.describe(agent).await?;
        let (can_load, can_resume) = (
            description.can(Ability::Load),
            description.can(Ability::Resume),
        );
        if !can_load && !can_resume {
            let why = "can neither load nor resume an earlier session".to_owned();
            return Err(Why::Unable(why));
        }
        let listing = self.list(agent, &description, workspace).await?;
        let listed = listing
            .sessions
            .into_iter()
            .find(|listed| listed.session == native_id)
            .ok_or_else(|| {
                Why::Unable(format!(
                    "lists no earlier session `{native_id}` in this workspace"
                ))
            })?;
        let place = place(workspace);
        if can_load {
            self.history = Some(History::new(life.run.id, native_id));
            let line = session::load("session/load", native_id, &place);
            let loaded = self.request("session/load", line).await?;
            match loaded {
                Ok(result) => {
                    self.hear_out().await?;
                    self.told.take_offer(session::read_opened(&result).settings);
                    let told = self.history.take().map(History::finish);
                    let (items, title) = told.unwrap_or_default();
                    let title = title.filter(|title| !title.is_empty());
                    let title = title.map_or(listed.title, |title| cut(&title));
                    return Ok((Past { title, items }, description));
                }
                Err(error) if !can_resume => {
                    return Err(refused(agent, "session/load", &error).into());
                }
                Err(_) => self.history = None,
            }
        }
        let line = session::resume("session/resume", native_id, &place);
        let resumed = self.request("session/resume", line).await?;
        let result = resumed.map_err(|error| refused(agent, "session/resume", &error))?;
        self.told.take_offer(session::read_opened(&result).settings);
        let text = UNTOLD.to_owned();
        let past = Past {
            title: listed.title,
            items: vec![(format!("{}/untold", life.run.id), Item::Notice { text })],
        };
        Ok((past, description))
    }
}

/// Whether something can be the id of a session.
pub(crate) fn is_id(text: &str) -> bool {
    !text.is_empty() && text.len() <= ID_LIMIT && !text.contains('\0')
}

fn shortened(session: ListedSession) -> ListedSession {
    ListedSession {
        title: cut(&session.title),
        updated_at: session.updated_at.chars().take(40).collect(),
        ..session
    }
}

fn cut(title: &str) -> String {
    title
        .replace('\0', "\u{fffd}")
        .chars()
        .take(TITLE_LIMIT)
        .collect()
}
