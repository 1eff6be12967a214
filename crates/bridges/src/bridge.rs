//! One bridge at work: it follows its platform, works off what came in, says what is to be said, and follows the ledger.
//!
//! All of these are tasks that only meet in the ledger; each can be killed at any instant and goes on where it was.

use std::sync::Arc;
use std::time::Duration;

use countersign_broker::{
    Broker, BrokerError, ChatPlace, NewBridgeMessage, NewInbound, Store, StoreError,
};
use countersign_core::actor::ActorKind;
use countersign_core::grant::{Caller, Grant, Grants, Role};
use countersign_core::id::WorkspaceId;
use countersign_core::time::Clock;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::adapter::{Adapter, Failure, MessageId, Outgoing, Place, Reaction};
use crate::intake::{Batch, Intake};
use crate::schedules;
use crate::settings::{BridgeSettings, ChannelSettings, People};

/// How long to wait before the platform is followed again, at first and at most.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// One bridge. Clones are of the same.
#[derive(Clone)]
pub(crate) struct Bridge {
    pub(crate) adapter: Arc<dyn Adapter>,
    pub(crate) broker: Broker,
    pub(crate) store: Store,
    pub(crate) clock: Clock,
    pub(crate) settings: Arc<BridgeSettings>,
    /// Something came in.
    pub(crate) came: Arc<Notify>,
    /// Something was said to an agent, or what held that up is over.
    pub(crate) said: Arc<Notify>,
    /// Something is to be said.
    pub(crate) to_say: Arc<Notify>,
    pub(crate) ending: CancellationToken,
}

/// What a row of the outbox holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Saying {
    /// A message.
    Say(Outgoing),
    /// A file of text.
    File { name: String, text: String },
    /// A file that an agent made.
    Bytes { name: String, base64: String },
    /// A reaction of ours on somebody's message.
    React {
        message: MessageId,
        reaction: Option<Reaction>,
    },
}

impl Saying {
    const fn kind(&self) -> &'static str {
        match self {
            Self::Say(_) => "say",
            Self::File { .. } | Self::Bytes { .. } => "file",
            Self::React { .. } => "react",
        }
    }
}

/// What is said, besides the words.
#[derive(Debug, Clone, Default)]
pub(crate) struct About {
    /// What it is about: an ask or a turn.
    pub(crate) subject: Option<String>,
    /// What its buttons carry.
    pub(crate) token: Option<String>,
}

impl Bridge {
    /// Its name in the ledger.
    pub(crate) fn name(&self) -> &'static str {
        self.settings.platform.name()
    }

    /// Starts the tasks, which end when the server does.
    pub(crate) fn begin(&self, tasks: &TaskTracker) {
        tasks.spawn(self.clone().follow_platform());
        tasks.spawn(self.clone().work_off_inbox());
        tasks.spawn(self.clone().work_off_prompts());
        tasks.spawn(self.clone().work_off_outbox());
        tasks.spawn(self.clone().follow_ledger());
        tasks.spawn(self.clone().stream());
        tasks.spawn(self.clone().keep_reminding());
    }

    /// Follows the platform, and after a failure once more from where it was.
    async fn follow_platform(self) {
        let mut pause = FIRST_PAUSE;
        while !self.ending.is_cancelled() {
            let outcome = tokio::select! {
                () = self.ending.cancelled() => return,
                outcome = self.follow_once() => outcome,
            };
            match outcome {
                Ok(()) => pause = FIRST_PAUSE,
                Err(problem) => {
                    tracing::warn!(
                        bridge = self.name(),
                        problem,
                        "the platform cannot be followed"
                    );
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
            }
            tokio::select! {
                () = self.ending.cancelled() => return,
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    async fn follow_once(&self) -> Result<(), String> {
        let told = |error: StoreError| error.to_string();
        let cursor = self.store.bridge_cursor(self.name()).await.map_err(told)?;
        let (intake, mut batches) = Intake::new();
        let following = self.adapter.follow(cursor, &intake);
        let mut has_taken = false;
        let taking = async {
            while let Some(batch) = batches.recv().await {
                self.take(batch).await?;
                has_taken = true;
            }
            Ok::<(), StoreError>(())
        };
        let outcome = tokio::select! {
            outcome = following => outcome,
            taken = taking => return taken.map_err(told),
        };
        match outcome {
            Ok(_) => Ok(()),
            Err(Failure::Later { after, .. }) => {
                tokio::time::sleep(after).await;
                Ok(())
            }
            // It went well for a time: then the next try is made soon.
            Err(failure) if has_taken => {
                tracing::info!(bridge = self.name(), %failure, "the platform is followed again");
                Ok(())
            }
            Err(failure) => Err(failure.to_string()),
        }
    }

    /// Writes down what came in.
    async fn take(&self, batch: Batch) -> Result<(), StoreError> {
        let came: Vec<NewInbound> = batch
            .happenings
            .iter()
            .map(|happening| NewInbound {
                id: happening.id.clone(),
                place: self.chat_place(&happening.place),
                body: serde_json::to_string(happening).expect("a happening is JSON"),
            })
            .collect();
        let cursor = batch.cursor.as_deref();
        let now = self.clock.now();
        let new = self.store.take_in(self.name(), &came, cursor, now).await?;
        batch.taken();
        if new > 0 {
            self.came.notify_one();
        }
        Ok(())
    }

    pub(crate) fn chat_place(&self, place: &Place) -> ChatPlace {
        ChatPlace {
            bridge: self.name().to_owned(),
            channel: place.channel.clone(),
            thread: place.thread.clone().unwrap_or_default(),
        }
    }

    /// Has something said; the same key again changes what was said.
    pub(crate) async fn say(
        &self,
        key: &str,
        place: &ChatPlace,
        route: &str,
        saying: &Saying,
        about: About,
    ) -> Result<(), StoreError> {
        let new = NewBridgeMessage {
            id: format!("cs_{:032x}", rand::random::<u128>()),
            key: key.to_owned(),
            place: place.clone(),
            kind: saying.kind().to_owned(),
            subject: about.subject,
            token: about.token,
            route: route.to_owned(),
            body: serde_json::to_string(saying).expect("what is said is JSON"),
        };
        self.store.say_in_chat(&new, self.clock.now()).await?;
        self.to_say.notify_one();
        Ok(())
    }

    /// The channel whose settings hold for `channel`: its own, or the first one's for a direct message.
    pub(crate) fn route(&self, channel: &str, is_direct: bool) -> Option<&ChannelSettings> {
        let channels = &self.settings.channels;
        let own = channels.iter().find(|it| it.id == channel);
        own.or_else(|| channels.first().filter(|_| is_direct))
    }

    /// The channel that is called so.
    pub(crate) fn route_called(&self, id: &str) -> Option<&ChannelSettings> {
        self.settings.channels.iter().find(|it| it.id == id)
    }

    /// Who may answer in a channel, in their order.
    pub(crate) fn approvers<'a>(&'a self, route: &'a ChannelSettings) -> &'a [crate::Approver] {
        route
            .approvers
            .as_deref()
            .unwrap_or(&self.settings.approvers)
    }

    /// The caller that a person is who may answer in a channel; nobody else is one.
    pub(crate) async fn approver(
        &self,
        route: &ChannelSettings,
        person: &str,
    ) -> Result<Option<Caller>, StoreError> {
        let found = self.approvers(route).iter().find(|it| it.id == person);
        let Some(approver) = found else {
            return Ok(None);
        };
        let now = self.clock.now();
        let actor = self.store.actor(ActorKind::Person, &approver.actor, now);
        let grants = [Role::Approver.grants(), Role::Collaborator.grants()];
        let grants = grants.iter().flat_map(Grants::iter).collect();
        let surface = self.settings.platform.surface();
        Ok(Some(Caller::new(actor.await?, grants, None, surface)))
    }

    /// The caller for whom somebody talks: the person that they are here, or the bridge itself.
    pub(crate) async fn talker(
        &self,
        route: &ChannelSettings,
        person: &str,
    ) -> Result<Option<Caller>, StoreError> {
        if let Some(caller) = self.approver(route, person).await? {
            return Ok(Some(caller));
        }
        if person == schedules::PERSON {
            return self.own_caller().await.map(Some);
        }
        let may_talk = match route.people.as_ref().unwrap_or(&self.settings.people) {
            People::Approvers => false,
            People::Named(ids) => ids.iter().any(|id| id == person),
            People::Everybody => true,
        };
        if !may_talk {
            return Ok(None);
        }
        self.own_caller().await.map(Some)
    }

    /// The bridge itself, which reads and passes on what people say, and answers nothing.
    pub(crate) async fn own_caller(&self) -> Result<Caller, StoreError> {
        let now = self.clock.now();
        let actor = self
            .store
            .actor(ActorKind::Bridge, self.name(), now)
            .await?;
        let grants = [Grant::Read, Grant::Prompt].into_iter().collect();
        let surface = self.settings.platform.surface();
        Ok(Caller::new(actor, grants, None, surface))
    }
}

/// The workspace that has this path or name; none has to be named.
pub(crate) fn workspace_called(
    broker: &Broker,
    named: Option<&str>,
) -> Result<Option<WorkspaceId>, BrokerError> {
    let Some(named) = named else {
        return Ok(None);
    };
    let workspaces = broker.workspaces();
    let found = workspaces
        .iter()
        .find(|(it, _)| it.path == named || it.name == named);
    match found {
        Some((workspace, _)) => Ok(Some(workspace.id)),
        None => Err(BrokerError::EngineUnavailable(format!(
            "the workspace `{named}` is not served"
        ))),
    }
}

/// A place as adapters know it.
pub(crate) fn place_of(place: &ChatPlace) -> Place {
    Place {
        channel: place.channel.clone(),
        thread: (!place.thread.is_empty()).then(|| place.thread.clone()),
    }
}
