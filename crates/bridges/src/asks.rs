//! Asks in chats: their cards, and who answers them.

use countersign_broker::{Answered, BridgeMessage, BrokerError, ChatPlace, StoreError};
use countersign_core::answer::Choice;
use countersign_core::ask::{Ask, AskPhase, AskState, Subject};
use countersign_core::grant::Caller;
use countersign_core::id::AskId;

use crate::adapter::{Person, Place, Pressed, Tone};
use crate::bridge::{About, Bridge, Saying};
use crate::card::{self, Address};
use crate::saying::DIRECT;
use crate::settings::{AsksGo, ChannelSettings};
use crate::text::{Block, Span, Text};

/// Why something with an ask did not come off.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AskError {
    /// The ledger failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The application refuses.
    #[error(transparent)]
    Broker(#[from] BrokerError),
}

impl AskError {
    /// Fails if it may go better next time. What the application refuses it refuses again: that is logged, and what it was
    /// about is left, so that nothing else waits for it.
    pub(crate) fn unless_lasting(self) -> Result<(), Self> {
        match self {
            Self::Store(_) | Self::Broker(BrokerError::Store(_) | BrokerError::Stopping) => {
                Err(self)
            }
            Self::Broker(error) => {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(error, "something of a chat is left undone");
                Ok(())
            }
        }
    }
}

impl Bridge {
    /// Puts an ask that was opened where it belongs, and brings every card of it to how it stands.
    pub(crate) async fn show_ask(&self, id: AskId) -> Result<(), AskError> {
        let caller = self.own_caller().await?;
        let context = match self.broker.ask(&caller, id).await {
            Ok(context) => context,
            Err(BrokerError::Missing { .. }) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let (ask, siblings) = (context.ask, context.siblings.len());
        let cards = self.cards_of(id).await?;
        if cards.is_empty() {
            if ask.state == AskState::Open {
                self.place_cards(&ask, siblings).await?;
            }
            return Ok(());
        }
        for card in cards {
            if let Some(route) = self.route_called(&card.route) {
                self.put_card(
                    &ask,
                    siblings,
                    route,
                    &card.place,
                    &card.key,
                    card.token.as_deref(),
                )
                .await?;
            }
        }
        Ok(())
    }

    async fn cards_of(&self, id: AskId) -> Result<Vec<BridgeMessage>, StoreError> {
        let id = id.to_string();
        let about = self.store.chat_messages_about(self.name(), &id).await?;
        let cards = about.into_iter();
        Ok(cards.filter(|row| row.token.is_some()).collect())
    }

    /// The first cards of an ask.
    async fn place_cards(&self, ask: &Ask, siblings: usize) -> Result<(), AskError> {
        let Some((thread, route)) = self.home_of(ask).await? else {
            return Ok(());
        };
        let approvers = self.approvers(route);
        let is_direct = match route.asks {
            AsksGo::Channel => false,
            AsksGo::Direct | AsksGo::Both => !approvers.is_empty(),
        };
        if route.asks != AsksGo::Direct || !is_direct {
            let key = format!("card:{}:{}:{}", ask.id, thread.channel, thread.thread);
            self.put_card(ask, siblings, route, &thread, &key, None)
                .await?;
        }
        if is_direct {
            // With escalation only the first is asked, and the next after a time.
            let asked = match route.patience.escalate_after {
                Some(_) => 1,
                None => approvers.len(),
            };
            for approver in approvers.iter().take(asked) {
                self.put_direct_card(ask, siblings, route, &approver.id)
                    .await?;
            }
        }
        Ok(())
    }

    /// A card in the direct messages of somebody.
    pub(crate) async fn put_direct_card(
        &self,
        ask: &Ask,
        siblings: usize,
        route: &ChannelSettings,
        person: &str,
    ) -> Result<(), AskError> {
        let place = ChatPlace {
            bridge: self.name().to_owned(),
            channel: format!("{DIRECT}{person}"),
            thread: String::new(),
        };
        let key = format!("card:{}:{DIRECT}{person}", ask.id);
        self.put_card(ask, siblings, route, &place, &key, None)
            .await
    }

    /// Where an ask belongs: the thread of its session, or of the one that started it, or the channel that wants all asks
    /// of the workspace.
    async fn home_of(&self, ask: &Ask) -> Result<Option<(ChatPlace, &ChannelSettings)>, AskError> {
        for session in [Some(ask.session), ask.parent_session]
            .into_iter()
            .flatten()
        {
            let thread = self.store.bridge_thread_of(self.name(), session).await?;
            if let Some(thread) = thread
                && let Some(route) = self.route_called(&thread.route)
            {
                return Ok(Some((thread.place, route)));
            }
        }
        let workspaces = self.broker.workspaces();
        let found = workspaces.iter().find(|(it, _)| it.id == ask.workspace);
        let Some((workspace, _)) = found else {
            return Ok(None);
        };
        let first = workspaces
            .first()
            .is_some_and(|(first, _)| first.id == ask.workspace);
        let wants = |route: &&ChannelSettings| {
            let is_here = match &route.workspace {
                Some(named) => *named == workspace.path || *named == workspace.name,
                None => first,
            };
            route.workspace_asks && is_here
        };
        let route = self.settings.channels.iter().find(wants);
        Ok(route.map(|route| {
            let place = Place::channel(&route.id);
            (self.chat_place(&place), route)
        }))
    }

    async fn put_card(
        &self,
        ask: &Ask,
        siblings: usize,
        route: &ChannelSettings,
        place: &ChatPlace,
        key: &str,
        token: Option<&str>,
    ) -> Result<(), AskError> {
        let approvers = self.approvers(route);
        let called = match place.channel.strip_prefix(DIRECT) {
            Some(_) => Vec::new(),
            None if route.patience.escalate_after.is_some() => {
                approvers.iter().take(1).map(|it| it.id.as_str()).collect()
            }
            None => approvers.iter().map(|it| it.id.as_str()).collect(),
        };
        let workspaces = self.broker.workspaces();
        let workspace = workspaces.iter().find(|(it, _)| it.id == ask.workspace);
        let made;
        let token = if let Some(token) = token {
            token
        } else {
            made = new_token();
            &made
        };
        let address = Address {
            token,
            called,
            has_approvers: !approvers.is_empty(),
            sign: self.adapter.capabilities().command_sign,
            workspace: workspace.map_or("", |(it, _)| it.name.as_str()),
            siblings,
        };
        let longest = self.adapter.capabilities().longest;
        let fits = |text: &Text| longest.holds(&self.adapter.render(text));
        let (outgoing, enclosures) = card::card(ask, &address, fits);
        let about = About {
            subject: Some(ask.id.to_string()),
            token: Some(token.to_owned()),
        };
        self.say(key, place, &route.id, &Saying::Say(outgoing), about)
            .await?;
        for (n, enclosure) in enclosures.into_iter().enumerate() {
            let file = Saying::File {
                name: enclosure.name,
                text: enclosure.text,
            };
            let key = format!("{key}:file:{n}");
            self.say(&key, place, &route.id, &file, About::default())
                .await?;
        }
        Ok(())
    }

    /// Somebody pressed the button of number `n` of a card, or reacted so.
    pub(crate) async fn press(
        &self,
        by: &Person,
        place: &Place,
        handle: Option<String>,
        card: Option<BridgeMessage>,
        n: usize,
    ) -> Result<(), AskError> {
        let pressed = Pressed {
            place: place.clone(),
            by: by.clone(),
            handle,
        };
        let Some((ask, route)) = self.ask_of(card.as_ref()).await? else {
            self.tell(&pressed, Tone::Refused, "This is no open ask of ours.")
                .await;
            return Ok(());
        };
        let Some(offer) = card::offers(&ask).into_iter().nth(n) else {
            self.tell(&pressed, Tone::Refused, "There is no such option.")
                .await;
            return Ok(());
        };
        self.answer(&pressed, route, &ask, offer.choice).await
    }

    /// The ask of a card, and the channel whose approvers may answer it.
    pub(crate) async fn ask_of(
        &self,
        card: Option<&BridgeMessage>,
    ) -> Result<Option<(Ask, &ChannelSettings)>, AskError> {
        let Some(card) = card else {
            return Ok(None);
        };
        let subject = card.subject.as_deref().unwrap_or_default();
        let (Ok(id), Some(route)) = (subject.parse::<AskId>(), self.route_called(&card.route))
        else {
            return Ok(None);
        };
        let caller = self.own_caller().await?;
        match self.broker.ask(&caller, id).await {
            Ok(context) => Ok(Some((context.ask, route))),
            Err(BrokerError::Missing { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Answers for whoever pressed, if they may, and tells them what came of it.
    pub(crate) async fn answer(
        &self,
        pressed: &Pressed,
        route: &ChannelSettings,
        ask: &Ask,
        choice: Choice,
    ) -> Result<(), AskError> {
        let caller: Option<Caller> = if pressed.by.is_bot {
            None
        } else {
            self.approver(route, &pressed.by.id).await?
        };
        let Some(caller) = caller else {
            let text = "You may not answer this ask: you are not among the approvers of this channel. \
                 Nothing was changed.";
            tracing::info!(bridge = self.name(), ask.id = %ask.id, "somebody who may not answer tried to");
            self.tell(pressed, Tone::Refused, text).await;
            return Ok(());
        };
        let answered = match self.broker.answer(&caller, ask, choice).await {
            Ok(answered) => answered,
            Err(BrokerError::Store(error)) => return Err(error.into()),
            Err(error) => {
                let text = format!("That is no answer to this ask: {error}.");
                self.tell(pressed, Tone::Refused, &text).await;
                return Ok(());
            }
        };
        let (tone, text) = match answered {
            Answered::Won(ask) => (Tone::Done, card::outcome(&ask)),
            Answered::Repeated(ask) => (
                Tone::Done,
                format!("You had answered so before. {}", card::outcome(&ask)),
            ),
            Answered::Lost(ask) => (
                Tone::Refused,
                format!("Somebody was faster. {}", card::outcome(&ask)),
            ),
            Answered::Over(ask) => (
                Tone::Refused,
                format!("It is over. {}", card::outcome(&ask)),
            ),
            Answered::Missing => (Tone::Refused, "There is no such ask.".to_owned()),
        };
        self.tell(pressed, tone, &text).await;
        Ok(())
    }

    /// Tells somebody alone. A platform that does not take it now is not asked again: the card says it too.
    pub(crate) async fn tell(&self, pressed: &Pressed, tone: Tone, text: &str) {
        if let Err(failure) = self.adapter.reply_privately(pressed, tone, text).await {
            tracing::info!(bridge = self.name(), %failure, "somebody could not be told");
        }
    }

    /// Reminds people of asks that are open, and asks the next ones, until the server ends.
    pub(crate) async fn keep_reminding(self) {
        const LOOK: std::time::Duration = std::time::Duration::from_secs(2);
        let patience = |route: &ChannelSettings| {
            route.patience.remind_after.is_some() || route.patience.escalate_after.is_some()
        };
        if !self.settings.channels.iter().any(patience) {
            return;
        }
        loop {
            tokio::select! {
                () = self.ending.cancelled() => return,
                () = tokio::time::sleep(LOOK) => {}
            }
            if let Err(error) = self.remind().await {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(bridge = self.name(), error, "nobody can be reminded");
            }
        }
    }

    /// Says what is due. A reminder is a message like others: its key says which it is, so that it is said once, over
    /// restarts too.
    async fn remind(&self) -> Result<(), AskError> {
        const LOOKED_AT: i64 = 200;
        let caller = self.own_caller().await?;
        let filter = countersign_broker::AskFilter {
            phase: Some(AskPhase::Open),
            ..countersign_broker::AskFilter::default()
        };
        let now = self.clock.now();
        for context in self.broker.asks(&caller, filter, LOOKED_AT).await? {
            let (ask, siblings) = (context.ask, context.siblings.len());
            let cards = self.cards_of(ask.id).await?;
            let Some(card) = cards.first() else {
                continue;
            };
            let Some(route) = self.route_called(&card.route) else {
                continue;
            };
            let age = now.since(ask.opened_at);
            let approvers = self.approvers(route);
            if let (Some(after), Some(first)) = (route.patience.remind_after, approvers.first())
                && age >= after
            {
                let key = format!("remind:{}", ask.id);
                let words = "still waits for an answer, and with it the agent.";
                self.call_upon(&key, card, route, &first.id, words).await?;
            }
            let Some(after) = route
                .patience
                .escalate_after
                .filter(|after| !after.is_zero())
            else {
                continue;
            };
            let passed = usize::try_from(age.as_millis() / after.as_millis().max(1)).unwrap_or(0);
            for (n, approver) in approvers.iter().enumerate().skip(1).take(passed) {
                if route.asks != AsksGo::Direct {
                    let key = format!("escalate:{}:{n}", ask.id);
                    let words = "was not answered by those before you.";
                    self.call_upon(&key, card, route, &approver.id, words)
                        .await?;
                }
                if route.asks != AsksGo::Channel {
                    let has = format!("card:{}:{DIRECT}{}", ask.id, approver.id);
                    if !cards.iter().any(|card| card.key == has) {
                        self.put_direct_card(&ask, siblings, route, &approver.id)
                            .await?;
                    }
                }
            }
        }
        Ok(())
    }

    async fn call_upon(
        &self,
        key: &str,
        card: &BridgeMessage,
        route: &ChannelSettings,
        person: &str,
        words: &str,
    ) -> Result<(), AskError> {
        let token = card.token.as_deref().unwrap_or_default();
        let text = Text::default().with(Block::paragraph([
            Span::Person(person.to_owned()),
            Span::plain(": the ask "),
            Span::code(token),
            Span::plain(&format!(" {words}")),
        ]));
        let saying = Saying::Say(crate::adapter::Outgoing::plain(text));
        self.say(key, &card.place, &route.id, &saying, About::default())
            .await?;
        Ok(())
    }
}

/// The choice that the words of a command make of an ask: the number of an option, or the words of an answer. A number that
/// is no choice answers nothing.
pub(crate) fn choice_of_words(ask: &Ask, words: &str) -> Option<Choice> {
    let offers = card::offers(ask);
    if let Ok(number) = words.parse::<usize>() {
        let offer = number.checked_sub(1).and_then(|n| offers.get(n));
        if offer.is_some() || !takes_numbers_as_words(ask) {
            return offer.map(|offer| offer.choice.clone());
        }
    }
    match &ask.subject {
        Subject::Question { questions } if !words.is_empty() => {
            let parts: Vec<&str> = match questions.as_slice() {
                [_] => vec![words],
                _ => words.split('|').map(str::trim).collect(),
            };
            let said = |(n, part): (usize, &&str)| {
                let chosen = questions.get(n).map(|question| question.choose(part));
                match chosen.transpose().ok()?.flatten() {
                    Some(labels) => Some(labels),
                    None => Some(vec![(*part).to_owned()]),
                }
            };
            let choices: Option<Vec<_>> = parts.iter().enumerate().map(said).collect();
            choices.map(|choices| Choice::Choices { choices })
        }
        Subject::Question { .. } => None,
        Subject::Permission { .. } | Subject::WorkspaceWrite { .. } => {
            // Without a number it is the least that is a yes.
            let is_once = |choice: &Choice| match choice {
                Choice::AllowOnce => true,
                Choice::Option { kind, .. } => {
                    *kind == countersign_core::ask::OptionKind::AllowOnce
                }
                Choice::AllowAlways { .. } | Choice::Deny { .. } | Choice::Choices { .. } => false,
            };
            let mut offers = offers.into_iter().map(|offer| offer.choice);
            words.is_empty().then(|| offers.find(is_once)).flatten()
        }
    }
}

/// Whether a number that is none of the offers can be an answer: where a question suggests nothing.
fn takes_numbers_as_words(ask: &Ask) -> bool {
    match &ask.subject {
        Subject::Question { questions } => {
            matches!(questions.as_slice(), [only] if only.options.is_empty())
        }
        Subject::Permission { .. } | Subject::WorkspaceWrite { .. } => false,
    }
}

/// What a card is known by: letters that are not mistaken for each other.
fn new_token() -> String {
    const LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
    (0..8)
        .map(|_| char::from(LETTERS[usize::from(rand::random::<u8>() % 32)]))
        .collect()
}
