//! What a person can set for a session: its mode, and two options.

use std::time::Duration;

use agent_client_protocol_schema::v1::{
    ClientCapabilities, SessionConfigOption, SessionConfigOptionValue, SessionConfigSelectOption,
    SessionMode, SessionModeState,
};
use serde::{Deserialize, Serialize};

/// How much the agent does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Mode {
    /// Asks before each act.
    #[default]
    Ask,
    /// Says what it would do, and does nothing.
    Plan,
}

impl Mode {
    const ALL: [Self; 2] = [Self::Ask, Self::Plan];

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Plan => "plan",
        }
    }

    fn shown(self) -> SessionMode {
        let (title, description) = match self {
            Self::Ask => ("Ask", "Asks before each act"),
            Self::Plan => ("Plan", "Says what it would do, and does nothing"),
        };
        SessionMode::new(self.name(), title).description(description.to_owned())
    }
}

/// How fast words are streamed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Pace {
    /// So that a person can watch.
    #[default]
    Steady,
    /// Without pauses.
    Swift,
}

impl Pace {
    const ALL: [Self; 2] = [Self::Steady, Self::Swift];

    const fn name(self) -> &'static str {
        match self {
            Self::Steady => "steady",
            Self::Swift => "swift",
        }
    }

    fn shown(self) -> SessionConfigSelectOption {
        let (title, description) = match self {
            Self::Steady => ("Steady", "Words come as if somebody wrote them"),
            Self::Swift => ("Swift", "Words come without pauses"),
        };
        SessionConfigSelectOption::new(self.name(), title).description(description.to_owned())
    }
}

/// The settings of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Settings {
    pub(crate) mode: Mode,
    pub(crate) pace: Pace,
    /// Whether it shows what it thinks.
    pub(crate) thoughts: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            mode: Mode::default(),
            pace: Pace::default(),
            thoughts: true,
        }
    }
}

impl Settings {
    /// The modes, as the protocol shows them.
    pub(crate) fn modes(&self) -> SessionModeState {
        SessionModeState::new(self.mode.name(), Mode::ALL.map(Mode::shown).to_vec())
    }

    /// The options, as the protocol shows them. A yes or no is only shown to a client that says that it knows such options.
    pub(crate) fn options(&self, client: &ClientCapabilities) -> Vec<SessionConfigOption> {
        let pace = SessionConfigOption::select(
            "pace",
            "Pace",
            self.pace.name(),
            Pace::ALL.map(Pace::shown).to_vec(),
        )
        .description("How fast words are streamed".to_owned());
        let thoughts = SessionConfigOption::boolean("thoughts", "Thoughts", self.thoughts)
            .description("Whether the agent shows what it thinks".to_owned());
        let session = client.session.as_ref();
        let knows_boolean = session
            .and_then(|session| session.config_options.as_ref())
            .is_some_and(|options| options.boolean.is_some());
        std::iter::once(pace)
            .chain(Some(thoughts).filter(|_| knows_boolean))
            .collect()
    }

    /// Sets an option, or says why it cannot be set.
    pub(crate) fn set(
        &mut self,
        option: &str,
        value: &SessionConfigOptionValue,
    ) -> Result<(), String> {
        match option {
            "pace" => {
                let named = value.as_value_id();
                let pace = named.and_then(|name| {
                    let mut paces = Pace::ALL.into_iter();
                    paces.find(|pace| pace.name() == &*name.0)
                });
                self.pace = pace.ok_or("`pace` is `steady` or `swift`")?;
            }
            "thoughts" => {
                self.thoughts = value.as_bool().ok_or("`thoughts` is true or false")?;
            }
            unknown => return Err(format!("there is no option `{unknown}`")),
        }
        Ok(())
    }

    /// The pause between two pieces of a message.
    pub(crate) const fn pause(&self) -> Option<Duration> {
        match self.pace {
            Pace::Steady => Some(Duration::from_millis(15)),
            Pace::Swift => None,
        }
    }
}
