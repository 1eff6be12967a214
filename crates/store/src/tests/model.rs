//! The ledger against a model of it: whatever order things happen in, both tell the same.

use std::time::Duration;

use countersign_core::answer::{Answer, Choice};
use countersign_core::ask::{AskPhase, AskState, Step, Withdrawal};
use countersign_core::delivery::{DeliveryState, Undeliverable};
use countersign_core::id::AskId;
use countersign_core::time::Timestamp;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::backend::each_backend;
use super::scene::{START, Scene, announced, deny, says};
use crate::database::Db;
use crate::{Answered, NewAsk, Opened};

/// How many different requests an engine makes in one life.
const REQUESTS: usize = 5;

/// Something that happens; the numbers choose among the asks there are.
#[derive(Debug, Clone)]
enum Deed {
    Open { request: usize, lasts: Option<u8> },
    Answer { ask: usize, by_bob: bool, yes: bool },
    Withdraw { ask: usize },
    Expire,
    Send { ask: usize },
    Deliver { ask: usize },
    GiveUp { ask: usize },
    RestartEngine,
}

fn deeds() -> impl Strategy<Value = Deed> {
    let ask = || 0..16_usize;
    prop_oneof![
        6 => (0..REQUESTS, prop::option::of(1..20_u8))
            .prop_map(|(request, lasts)| Deed::Open { request, lasts }),
        6 => (ask(), any::<bool>(), prop::bool::weighted(0.8))
            .prop_map(|(ask, by_bob, yes)| Deed::Answer { ask, by_bob, yes }),
        1 => ask().prop_map(|ask| Deed::Withdraw { ask }),
        1 => Just(Deed::Expire),
        3 => ask().prop_map(|ask| Deed::Send { ask }),
        3 => ask().prop_map(|ask| Deed::Deliver { ask }),
        1 => ask().prop_map(|ask| Deed::GiveUp { ask }),
        2 => Just(Deed::RestartEngine),
    ]
}

/// What the model knows of an ask.
#[derive(Debug, Clone)]
struct Known {
    id: AskId,
    life: usize,
    request: usize,
    expires_at: Option<Timestamp>,
    previous: Option<AskId>,
    state: AskState,
    /// What the engine still has to be told about an ask that nobody answered.
    notice: bool,
}

impl Known {
    /// Takes `step` if the rules let it, and says whether they did.
    fn advance(&mut self, step: Step) -> bool {
        let next = self.state.advance(step);
        next.map(|state| self.state = state).is_ok()
    }

    fn expire(&mut self, now: Timestamp) -> bool {
        let due = self.expires_at.is_some_and(|end| end <= now);
        let expired = due && self.advance(Step::Expire(now));
        self.notice |= expired;
        expired
    }

    /// Whether an ask of a later life would be the repetition of this one.
    fn fell_with_its_engine(&self) -> bool {
        match &self.state {
            AskState::Withdrawn { why, .. } => *why == Withdrawal::EngineGone,
            AskState::Undeliverable(_, delivery) => matches!(
                delivery.state,
                DeliveryState::Undeliverable {
                    why: Undeliverable::EngineGone,
                    ..
                }
            ),
            AskState::Open
            | AskState::Answered(..)
            | AskState::Delivered(..)
            | AskState::Expired { .. } => false,
        }
    }
}

/// The ledger and its model, side by side.
struct Pair {
    scene: Scene,
    life: usize,
    now: Timestamp,
    asks: Vec<Known>,
}

impl Pair {
    async fn apply(&mut self, deed: Deed) -> Result<(), TestCaseError> {
        self.now = self.now.after(Duration::from_secs(1));
        match deed {
            Deed::Open { request, lasts } => self.open(request, lasts).await,
            Deed::Answer { ask, by_bob, yes } => {
                let actor = if by_bob {
                    &self.scene.bob
                } else {
                    &self.scene.ada
                };
                let choice = if yes { Choice::AllowOnce } else { deny() };
                let answer = Answer {
                    at: self.now,
                    ..says(actor, choice)
                };
                self.answer(ask, answer).await
            }
            Deed::Withdraw { ask } => {
                let Some(index) = self.index(ask) else {
                    return Ok(());
                };
                let why = Withdrawal::TurnCancelled;
                let done = self
                    .scene
                    .store
                    .withdraw(self.asks[index].id, &why, self.now);
                let done = done.await.unwrap();
                let step = Step::Withdraw(self.now, why);
                prop_assert_eq!(done, self.asks[index].advance(step));
                Ok(())
            }
            Deed::Expire => {
                self.scene.store.expire_due(self.now).await.unwrap();
                let now = self.now;
                self.asks.iter_mut().for_each(|ask| {
                    ask.expire(now);
                });
                Ok(())
            }
            Deed::Send { ask } => {
                let Some(index) = self.index(ask) else {
                    return Ok(());
                };
                let done = self
                    .scene
                    .store
                    .begin_sending(self.asks[index].id, self.now, self.now);
                let done = done.await.unwrap();
                let expected = self.asks[index].advance(Step::Send(self.now));
                prop_assert_eq!(done, expected || self.asks[index].notice);
                Ok(())
            }
            Deed::Deliver { ask } => {
                let Some(index) = self.index(ask) else {
                    return Ok(());
                };
                let id = self.asks[index].id;
                let evidence = announced();
                let done = self.scene.store.mark_delivered(id, &evidence, self.now);
                let done = done.await.unwrap();
                self.settled(index, Step::Deliver(self.now, evidence), done)
            }
            Deed::GiveUp { ask } => {
                let Some(index) = self.index(ask) else {
                    return Ok(());
                };
                let why = Undeliverable::Forgotten;
                let done = self
                    .scene
                    .store
                    .give_up(self.asks[index].id, &why, self.now);
                let done = done.await.unwrap();
                self.settled(index, Step::GiveUp(self.now, why), done)
            }
            Deed::RestartEngine => {
                self.restart().await;
                Ok(())
            }
        }
    }

    fn index(&self, ask: usize) -> Option<usize> {
        (!self.asks.is_empty()).then(|| ask % self.asks.len())
    }

    fn settled(&mut self, index: usize, step: Step, done: bool) -> Result<(), TestCaseError> {
        let ask = &mut self.asks[index];
        let expected = ask.advance(step) || std::mem::take(&mut ask.notice);
        prop_assert_eq!(done, expected);
        Ok(())
    }

    async fn open(&mut self, request: usize, lasts: Option<u8>) -> Result<(), TestCaseError> {
        let expires_at = lasts.map(|it| self.now.after(Duration::from_secs(it.into())));
        let command = format!("command {request}");
        let new = NewAsk {
            expires_at,
            ..self.scene.command(&command, &command)
        };
        let opened = self.scene.store.open_ask(new, self.now).await.unwrap();
        let known = |ask: &&Known| ask.life == self.life && ask.request == request;
        let (known, opened) = match (self.asks.iter().find(known), opened) {
            (Some(known), Opened::Known(ask)) => (known.clone(), ask),
            (None, Opened::Fresh(ask)) => {
                let known = self.expect_new(ask.id, request, expires_at);
                self.asks.push(known.clone());
                (known, ask)
            }
            (known, opened) => {
                return Err(TestCaseError::fail(format!("{known:?} but {opened:?}")));
            }
        };
        prop_assert_eq!(opened.id, known.id);
        prop_assert_eq!(opened.previous, known.previous);
        prop_assert_eq!(opened.state, known.state);
        Ok(())
    }

    /// A new ask, with the answer that it takes over from the ask it repeats, if there is one.
    fn expect_new(&mut self, id: AskId, request: usize, expires_at: Option<Timestamp>) -> Known {
        let newest = self.asks.iter().rfind(|ask| ask.request == request);
        let previous = newest.filter(|ask| ask.fell_with_its_engine()).cloned();
        let mut known = Known {
            id,
            life: self.life,
            request,
            expires_at,
            previous: previous.as_ref().map(|ask| ask.id),
            state: AskState::Open,
            notice: false,
        };
        let carried = previous.and_then(|ask| {
            let unsent = ask.state.delivery()?.attempts == 0;
            ask.state.answer().filter(|_| unsent).cloned()
        });
        if let Some(answer) = carried {
            let is_yes = answer.choice.is_yes();
            known.advance(Step::Answer(answer));
            if !is_yes {
                self.withdraw_siblings(id);
            }
        }
        known
    }

    async fn answer(&mut self, ask: usize, answer: Answer) -> Result<(), TestCaseError> {
        let Some(index) = self.index(ask) else {
            return Ok(());
        };
        let id = self.asks[index].id;
        let outcome = self.scene.store.answer(id, answer.clone(), self.now).await;
        let before = self.asks[index].state.answer().cloned();
        let now = self.now;
        self.asks[index].expire(now);
        let won = self.asks[index].advance(Step::Answer(answer.clone()));
        if won && !answer.choice.is_yes() {
            self.withdraw_siblings(id);
        }
        let (expected, told) = match outcome.unwrap() {
            Answered::Won(told) => (won, told),
            Answered::Repeated(told) => (before.is_some_and(|it| it.is_repeated_by(&answer)), told),
            Answered::Lost(told) => (before.is_some_and(|it| !it.is_repeated_by(&answer)), told),
            Answered::Over(told) => (before.is_none() && !won, told),
            Answered::Missing => return Err(TestCaseError::fail("the ask is missing")),
        };
        prop_assert!(expected, "{:?} for {:?}", told, self.asks[index]);
        prop_assert_eq!(&told.state, &self.asks[index].state);
        Ok(())
    }

    /// All asks are permissions of one session.
    fn withdraw_siblings(&mut self, denied: AskId) {
        let (life, now) = (self.life_of(denied), self.now);
        for ask in self
            .asks
            .iter_mut()
            .filter(|ask| ask.life == life && ask.id != denied)
        {
            let why = Withdrawal::SiblingDenied { sibling: denied };
            ask.advance(Step::Withdraw(now, why));
        }
    }

    fn life_of(&self, id: AskId) -> usize {
        let known = self.asks.iter().find(|ask| ask.id == id);
        known.map_or(self.life, |ask| ask.life)
    }

    async fn restart(&mut self) {
        let scene = &mut self.scene;
        let ended = scene
            .store
            .end_run(scene.workspace, scene.run, "killed", self.now);
        assert!(ended.await.unwrap());
        scene.run = scene
            .store
            .begin_run(&scene.engine, self.now)
            .await
            .unwrap()
            .id;
        for ask in self.asks.iter_mut().filter(|ask| ask.life == self.life) {
            ask.advance(Step::Withdraw(self.now, Withdrawal::EngineGone));
            ask.advance(Step::GiveUp(self.now, Undeliverable::EngineGone));
            ask.notice = false;
        }
        self.life += 1;
    }

    async fn agree(&self) -> Result<(), TestCaseError> {
        let mut waiting = Vec::new();
        for known in &self.asks {
            let ask = self.scene.ask(known.id).await;
            prop_assert_eq!(&ask.state, &known.state);
            prop_assert_eq!(ask.previous, known.previous);
            let unsettled = known.state.phase() == AskPhase::Answered || known.notice;
            if unsettled && known.life == self.life {
                waiting.push(known.id);
            }
        }
        let parcels = self.scene.store.parcels(self.scene.run).await.unwrap();
        let mut parcels: Vec<AskId> = parcels.iter().map(|parcel| parcel.ask.id).collect();
        parcels.sort_unstable();
        waiting.sort_unstable();
        prop_assert_eq!(parcels, waiting);
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_ledger_and_the_model_of_it_agree_after_every_step() {
    each_backend(async |store| {
        let cases = match &store.db {
            Db::Sqlite(_) => 64,
            Db::Postgres(_) => 16,
        };
        let mut runner = TestRunner::new(Config {
            cases,
            source_file: Some(file!()),
            ..Config::default()
        });
        let mut count = 0;
        let count = std::cell::Cell::from_mut(&mut count);
        let outcome = runner.run(&prop::collection::vec(deeds(), 1..40), |deeds| {
            count.set(count.get() + 1);
            let path = format!("/case/{}", count.get());
            let case = async {
                let mut pair = Pair {
                    scene: Scene::at_path(&store, &path).await,
                    life: 0,
                    now: START,
                    asks: Vec::new(),
                };
                for deed in deeds {
                    pair.apply(deed).await?;
                    pair.agree().await?;
                }
                let verdicts = store.verify_audit().await.unwrap();
                prop_assert!(
                    verdicts.iter().all(|it| it.outcome.is_ok()),
                    "{:?}",
                    verdicts
                );
                Ok(())
            };
            tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(case))
        });
        if let Err(error) = outcome {
            panic!("{error}\n{runner}");
        }
    })
    .await;
}
