//! Turns on their way to the engine: written down first, named so that sending one again changes nothing.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use countersign_core::attachment::ImageType;
use countersign_core::id::TurnId;
use countersign_core::session::{Activity, Item, Session, Turn, TurnOutcome};
use countersign_core::time::Clock;
use countersign_engine::opencode::{ClientError, PromptContext, PromptText};
use countersign_store::{Attached, Store};

use crate::attachments::{in_words, pointed_at};
use crate::error::BrokerError;
use crate::standstill::{self, Step};
use crate::supervisor::Link;
use crate::supervisor::rules::impose;

/// What the engine is to call the message of a turn.
pub(crate) fn message_id(turn: TurnId) -> String {
    format!("msg_{}", digits(turn))
}

/// What the engine is to call the words in the message of a turn.
pub(crate) fn part_id(turn: TurnId) -> String {
    format!("prt_{}", digits(turn))
}

fn digits(turn: TurnId) -> String {
    let id = turn.to_string();
    id.split_once('_')
        .map_or(id.clone(), |(_, digits)| digits.to_owned())
}

/// A model's name, `provider/model`, in its two parts; a model's own name may have slashes in it.
pub(crate) fn split_model(model: &str) -> Option<(String, String)> {
    let (provider, model) = model.split_once('/')?;
    (!provider.is_empty() && !model.is_empty()).then(|| (provider.to_owned(), model.to_owned()))
}

/// Hands a turn that has just been written down to the engine, unless its session is at work or an earlier one waits: then
/// it waits in the ledger, where it can be taken back, until its session comes to rest.
pub(crate) async fn send_or_hold(
    store: &Store,
    clock: &Clock,
    link: &Link,
    session: &Session,
    turn: &Turn,
) -> Result<(), BrokerError> {
    // Read after the turn was written: a session that comes to rest from here on finds it.
    let now = store.session(session.id).await?;
    let is_busy = now.is_some_and(|it| it.activity == Activity::Busy);
    let queued = store.queued_turns(session.id).await?;
    let is_next = queued.first().is_none_or(|first| first.turn == turn.id);
    if is_busy || !is_next {
        return Ok(());
    }
    send_turn(store, clock, link, session, turn).await.map(drop)
}

/// Hands a turn that is in the ledger to the engine; says whether it went, which one that was taken back does not. One that
/// the engine does not take ends there and then.
pub(super) async fn send_turn(
    store: &Store,
    clock: &Clock,
    link: &Link,
    session: &Session,
    turn: &Turn,
) -> Result<bool, BrokerError> {
    if !store.send_off_turn(turn.id, clock.now()).await? {
        return Ok(false);
    }
    let item = Item::Prompt {
        text: turn.prompt.clone(),
        follows: turn.follows,
    };
    store
        .put_item(
            session.workspace,
            session.id,
            &part_id(turn.id),
            &item,
            clock.now(),
        )
        .await?;
    let attached = store.attachments(turn.id).await?;
    for (place, Attached { attachment, .. }) in (1..).zip(&attached) {
        let key = format!("{}/attachment/{place}", part_id(turn.id));
        let attachment = attachment.clone();
        let item = Item::Attachment { attachment };
        store
            .put_item(session.workspace, session.id, &key, &item, clock.now())
            .await?;
    }
    let prompt = PromptText {
        message_id: turn.native_id.clone(),
        text: turn.prompt.clone(),
        context: attached.into_iter().map(context).collect(),
        model: turn.model.as_deref().and_then(split_model),
        agent: turn.agent.clone(),
        // One that the model does not have is passed over by opencode; whoever started the job was told.
        variant: store.effort_of_turn(turn.id).await?,
    };
    standstill::before(Step::Prompt).await;
    let taken = match impose(store, clock, link, session).await {
        Ok(()) => say(link, session, &prompt).await,
        Err(BrokerError::Engine(error)) => Err(error),
        Err(error) => return Err(error),
    };
    standstill::after(Step::Prompt).await;
    if let Err(error) = taken {
        let outcome = TurnOutcome::Failed {
            reason: error.sentence(),
        };
        store
            .end_turn(session.workspace, turn.id, &outcome, clock.now())
            .await?;
        return Err(BrokerError::Engine(error));
    }
    store.mark_turn_sent(turn.id, clock.now()).await?;
    Ok(true)
}

/// Says a prompt. One that the engine may have taken without a word is stopped: it must not work at a turn that has failed
/// here.
async fn say(link: &Link, session: &Session, prompt: &PromptText) -> Result<(), ClientError> {
    let (directory, id) = (&session.directory, &session.native_id);
    let taken = link.client.prompt(directory, id, prompt).await;
    if matches!(taken, Err(ClientError::Unanswered { .. }))
        && let Err(error) = link.client.abort(directory, id).await
    {
        tracing::warn!(session.id = %session.id, "{}", error.sentence());
    }
    taken
}

/// What came along with a prompt, as opencode takes it: pictures as files with their content, everything else as words.
///
/// A file that opencode read itself would be read anew, into parts with other names, each time the turn is sent.
fn context(attached: Attached) -> PromptContext {
    let Attached { attachment, bytes } = attached;
    let media_type = attachment.media_type.clone();
    let image = media_type.filter(|it| ImageType::from_media_type(it).is_some());
    match (image, bytes) {
        (Some(media_type), Some(bytes)) => PromptContext::File {
            name: attachment.name,
            media_type,
            base64: BASE64_STANDARD.encode(bytes),
        },
        (_, Some(bytes)) => {
            let text = String::from_utf8_lossy(&bytes);
            PromptContext::Words(in_words(&attachment, &text))
        }
        (_, None) => PromptContext::Words(pointed_at(&attachment)),
    }
}
