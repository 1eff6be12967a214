//! Clients that answer whatever is open, all at the same time, through crashes of the server.

use std::sync::Arc;
use std::time::Duration;

use countersign_testkit::Seed;
use countersign_testkit::test_server::Api;
use rand::RngExt as _;
use rand::rngs::StdRng;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::history::{Attempt, History, Outcome};

/// How long a client waits before it looks for asks again.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// Whether the server can be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weather {
    /// It was started and not killed since.
    Up,
    /// It was killed.
    Down,
}

/// A crowd of clients, each with a token of its own, who go on until they are sent home.
pub(crate) struct Clients {
    pub(crate) history: Arc<History>,
    pub(crate) weather: watch::Sender<Weather>,
    tasks: JoinSet<()>,
}

struct Client {
    name: String,
    api: Api,
    dice: StdRng,
    /// How many of a hundred answers are denials.
    denials: u32,
    history: Arc<History>,
    weather: watch::Receiver<Weather>,
}

impl Clients {
    /// Sends out `count` clients; of a hundred answers `denials` are a no.
    pub(crate) async fn send_out(
        owner: &Api,
        url: &str,
        seed: Seed,
        count: usize,
        denials: u32,
    ) -> Self {
        let history = Arc::new(History::default());
        let weather = watch::Sender::new(Weather::Up);
        let mut tasks = JoinSet::new();
        for number in 1..=count {
            let name = format!("client-{number}");
            let api = Api::new(
                url.to_owned(),
                Some(owner.new_token(&name, "approver").await),
            );
            let client = Client {
                dice: seed.dice(&name),
                name,
                api,
                denials,
                history: Arc::clone(&history),
                weather: weather.subscribe(),
            };
            tasks.spawn(client.run());
        }
        Self {
            history,
            weather,
            tasks,
        }
    }

    /// Tells the clients whether calling makes sense.
    pub(crate) fn tell(&self, weather: Weather) {
        self.weather.send_replace(weather);
    }

    /// Panics if a client was told something that it cannot go on with.
    pub(crate) fn assert_well(&mut self) {
        if let Some(ended) = self.tasks.try_join_next() {
            ended.expect("a client goes on until it is sent home");
        }
    }

    /// Sends the clients home, and panics if one of them was not well.
    pub(crate) async fn go_home(&mut self) {
        self.assert_well();
        self.tasks.shutdown().await;
    }
}

impl Client {
    async fn run(mut self) {
        for number in 1.. {
            let Some(ask) = self.pick().await else {
                tokio::time::sleep(LOOK_AGAIN).await;
                continue;
            };
            let answer = self.make_up(number);
            let first = self.attempt(&ask, &answer).await;
            // Somebody who does not know whether he was heard may say it again, or leave it.
            if matches!(first, Outcome::Unknown) && self.dice.random_bool(0.5) {
                self.wait_for_the_server().await;
                self.attempt(&ask, &answer).await;
            }
        }
    }

    /// Returns some ask that is open, if the server answers and there is one.
    async fn pick(&mut self) -> Option<String> {
        self.wait_for_the_server().await;
        let request = self
            .api
            .request(Method::GET, "/api/v1/asks?state=open&limit=100");
        // Who gets no answer at all comes back; an error is told as one.
        let list = Api::send(request).await.ok()?.expect_success();
        let asks = list["asks"].as_array().expect("a list of asks");
        if asks.is_empty() {
            return None;
        }
        let ask = &asks[self.dice.random_range(0..asks.len())];
        Some(ask["id"].as_str().expect("an ask has an id").to_owned())
    }

    fn make_up(&mut self, number: u32) -> Value {
        if self.dice.random_ratio(self.denials, 100) {
            json!({"answer": "deny", "reason": format!("{} said no {number}", self.name)})
        } else {
            json!({"answer": "allow_once"})
        }
    }

    async fn attempt(&self, ask: &str, answer: &Value) -> Outcome {
        let path = format!("/api/v1/asks/{ask}/answer");
        let request = self.api.request(Method::POST, &path).json(answer);
        let outcome = match Api::send(request).await {
            Ok(reply) if reply.status.as_u16() == 200 => Outcome::Accepted,
            Ok(reply) => Outcome::Refused {
                status: reply.status.as_u16(),
                body: reply.body,
            },
            Err(_) => Outcome::Unknown,
        };
        self.history.add(Attempt {
            ask: ask.to_owned(),
            actor: self.name.clone(),
            answer: answer.clone(),
            outcome: outcome.clone(),
        });
        outcome
    }

    async fn wait_for_the_server(&mut self) {
        // An error means that the test is over, and this task with it.
        let _over = self
            .weather
            .wait_for(|weather| *weather == Weather::Up)
            .await;
    }
}
