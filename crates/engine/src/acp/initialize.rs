//! The first exchange: which version of the protocol is spoken, and who can do what.

use std::collections::BTreeSet;

use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1::{
    BooleanConfigOptionCapabilities, ClientCapabilities, ClientSessionCapabilities,
    ElicitationCapabilities, ElicitationFormCapabilities, ElicitationUrlCapabilities,
    FileSystemCapabilities, Implementation, InitializeRequest, SessionConfigOptionsCapabilities,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::acp::fields::Fields;
use crate::acp::message::{self, Params};

/// The method's name.
pub const METHOD: &str = "initialize";

const NAME: &str = "countersign";
const TITLE: &str = "Countersign";

/// Which versions of the protocol are offered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Offer {
    /// Version 1 alone.
    #[default]
    One,
    /// Version 2, in a way that agents of version 1 understand as well.
    Two,
}

/// The form that an agent's messages have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// That of version 1.
    One,
    /// That of the draft of version 2.
    Two,
}

/// What an agent is told that it can have done here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HostAbilities {
    /// Which files it can have read and written.
    pub files: Files,
    /// Whether it can have commands run.
    pub terminal: bool,
    /// How it can ask questions.
    pub questions: Questions,
}

/// Which files an agent can have read and written by its host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Files {
    /// None: it reads and writes them itself.
    #[default]
    None,
    /// It can have them read.
    Read,
    /// It can have them read and written.
    ReadWrite,
}

/// How an agent can ask questions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Questions {
    /// Not by the protocol's own means.
    #[default]
    None,
    /// With forms.
    Forms,
    /// With forms, and by sending people to an address.
    FormsAndLinks,
}

/// The line of the request that begins everything.
pub fn request(id: &str, offer: Offer, abilities: HostAbilities, version: &str) -> Vec<u8> {
    message::request(id, METHOD, &params(offer, abilities, version))
}

fn params(offer: Offer, abilities: HostAbilities, version: &str) -> Value {
    let elicitation = elicitation(abilities.questions);
    let files = FileSystemCapabilities::new()
        .read_text_file(abilities.files != Files::None)
        .write_text_file(abilities.files == Files::ReadWrite);
    let booleans =
        SessionConfigOptionsCapabilities::new().boolean(BooleanConfigOptionCapabilities::new());
    let capabilities = ClientCapabilities::new()
        .fs(files)
        .terminal(abilities.terminal)
        .elicitation(elicitation.clone())
        .session(ClientSessionCapabilities::new().config_options(booleans));
    let info = Implementation::new(NAME, version).title(TITLE.to_owned());
    let request = InitializeRequest::new(ProtocolVersion::V1)
        .client_capabilities(capabilities)
        .client_info(info.clone());
    let mut params = json!(request);
    match offer {
        Offer::One => {}
        // Both forms at once: an agent of version 2 refuses without `info`, one of version 1 reads past it.
        Offer::Two => {
            params["protocolVersion"] = json!(2);
            params["info"] = json!(info);
            params["capabilities"] = elicitation.map_or_else(
                || json!({}),
                |elicitation| json!({ "elicitation": elicitation }),
            );
        }
    }
    params
}

fn elicitation(questions: Questions) -> Option<ElicitationCapabilities> {
    let forms = || ElicitationCapabilities::new().form(ElicitationFormCapabilities::new());
    match questions {
        Questions::None => None,
        Questions::Forms => Some(forms()),
        Questions::FormsAndLinks => Some(forms().url(ElicitationUrlCapabilities::new())),
    }
}

/// Something that an agent can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ability {
    /// Load an earlier session and tell all of it again.
    Load,
    /// Go on with an earlier session.
    Resume,
    /// List its sessions.
    List,
    /// Close a session.
    Close,
    /// Work in more directories than one.
    AdditionalDirectories,
    /// Take images.
    Images,
    /// Take sound.
    Audio,
    /// Take files within a prompt.
    EmbeddedContext,
}

/// What an agent says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentDescription {
    /// The form of its messages.
    pub shape: Shape,
    /// Its name.
    pub name: String,
    /// Its name for people.
    pub title: String,
    /// Its version.
    pub version: String,
    /// What it can do.
    pub abilities: BTreeSet<Ability>,
    /// How somebody can sign in.
    pub sign_in: Vec<SignInMethod>,
}

impl AgentDescription {
    /// Whether it can do something.
    pub fn can(&self, ability: Ability) -> bool {
        self.abilities.contains(&ability)
    }
}

/// A way to sign in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignInMethod {
    /// What the agent calls it.
    pub id: String,
    /// What people read.
    pub name: String,
    /// More about it.
    pub description: String,
}

/// Why an agent cannot be talked to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InitializeError {
    /// The answer is none.
    #[error("the agent's answer to `initialize` is no object")]
    Unreadable,
    /// The answer has no version.
    #[error("the agent does not say which version of the protocol it speaks")]
    NoVersion,
    /// The version is not known here.
    #[error("the agent speaks version {version} of the protocol; versions 1 and 2 are known here")]
    OtherVersion {
        /// The version.
        version: i64,
    },
    /// The version was not offered.
    #[error("the agent answers in the form of version 2 of the protocol, which was not offered")]
    NotOffered,
}

/// Reads what an agent answered. It is believed by the form of the answer, not by its number.
pub fn read(offer: Offer, result: &Params) -> Result<AgentDescription, InitializeError> {
    let fields = Fields::read(result.text());
    if fields.is_empty() {
        return Err(InitializeError::Unreadable);
    }
    let version: i64 = fields
        .get("protocolVersion")
        .ok_or(InitializeError::NoVersion)?;
    let looks_like_two =
        fields.has("info") && fields.has("capabilities") && !fields.has("agentCapabilities");
    match (version, looks_like_two, offer) {
        (2, true, Offer::Two) => Ok(describe(Shape::Two, &fields)),
        (2, true, Offer::One) => Err(InitializeError::NotOffered),
        (1 | 2, _, _) => Ok(describe(Shape::One, &fields)),
        (version, _, _) => Err(InitializeError::OtherVersion { version }),
    }
}

fn describe(shape: Shape, fields: &Fields<'_>) -> AgentDescription {
    let info = fields.object(match shape {
        Shape::One => "agentInfo",
        Shape::Two => "info",
    });
    let name = info.text_or_empty("name");
    AgentDescription {
        shape,
        title: info.text("title").unwrap_or_else(|| name.clone()),
        name,
        version: info.text_or_empty("version"),
        abilities: match shape {
            Shape::One => abilities_of_one(&fields.object("agentCapabilities")),
            Shape::Two => abilities_of_two(&fields.object("capabilities")),
        },
        sign_in: fields
            .objects("authMethods")
            .iter()
            .filter_map(sign_in_method)
            .collect(),
    }
}

fn sign_in_method(fields: &Fields<'_>) -> Option<SignInMethod> {
    let id = fields.text("id").or_else(|| fields.text("methodId"))?;
    Some(SignInMethod {
        name: fields.text("name").unwrap_or_else(|| id.clone()),
        description: fields.text_or_empty("description"),
        id,
    })
}

fn abilities_of_one(capabilities: &Fields<'_>) -> BTreeSet<Ability> {
    let sessions = capabilities.object("sessionCapabilities");
    let own = [
        (Ability::Load, capabilities.says_yes("loadSession")),
        (Ability::Resume, sessions.says_yes("resume")),
        (Ability::List, sessions.says_yes("list")),
        (Ability::Close, sessions.says_yes("close")),
    ];
    let own = own
        .into_iter()
        .filter_map(|(ability, has)| has.then_some(ability));
    own.chain(abilities_of_both(
        &sessions,
        &capabilities.object("promptCapabilities"),
    ))
    .collect()
}

/// In version 2 every agent can resume, list and close, and none can load.
fn abilities_of_two(capabilities: &Fields<'_>) -> BTreeSet<Ability> {
    let sessions = capabilities.object("session");
    let own = [Ability::Resume, Ability::List, Ability::Close];
    own.into_iter()
        .chain(abilities_of_both(&sessions, &sessions.object("prompt")))
        .collect()
}

/// What both versions say in the same words, in different places.
fn abilities_of_both(
    sessions: &Fields<'_>,
    prompts: &Fields<'_>,
) -> impl Iterator<Item = Ability> + use<> {
    [
        (
            Ability::AdditionalDirectories,
            sessions.says_yes("additionalDirectories"),
        ),
        (Ability::Images, prompts.says_yes("image")),
        (Ability::Audio, prompts.says_yes("audio")),
        (
            Ability::EmbeddedContext,
            prompts.says_yes("embeddedContext"),
        ),
    ]
    .into_iter()
    .filter_map(|(ability, has)| has.then_some(ability))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(offer: Offer, result: &Value) -> Result<AgentDescription, InitializeError> {
        read(offer, &Params::of(result))
    }

    #[test]
    fn an_agent_of_version_one_is_described() {
        let described = answer(
            Offer::One,
            &json!({
                "protocolVersion": 1,
                "agentInfo": { "name": "OpenCode", "version": "1.18.33" },
                "agentCapabilities": {
                    "loadSession": true,
                    "promptCapabilities": { "image": true, "audio": false },
                    "sessionCapabilities": { "list": {}, "resume": null },
                },
                "authMethods": [{ "id": "login", "name": "Log in" }, 7],
            }),
        )
        .unwrap();
        assert_eq!(described.shape, Shape::One);
        assert_eq!(described.title, "OpenCode");
        assert_eq!(
            described.abilities,
            BTreeSet::from([Ability::Load, Ability::List, Ability::Images])
        );
        assert_eq!(described.sign_in.len(), 1);
    }

    #[test]
    fn the_form_is_believed_and_not_the_number() {
        let lying = json!({ "protocolVersion": 2, "agentCapabilities": { "loadSession": true } });
        assert_eq!(answer(Offer::Two, &lying).unwrap().shape, Shape::One);
        let true_two = json!({
            "protocolVersion": 2,
            "info": { "name": "codex", "version": "2" },
            "capabilities": { "session": { "prompt": { "image": {} } } },
        });
        let described = answer(Offer::Two, &true_two).unwrap();
        assert_eq!(described.shape, Shape::Two);
        assert!(described.can(Ability::Resume) && !described.can(Ability::Load));
        assert_eq!(
            answer(Offer::One, &true_two),
            Err(InitializeError::NotOffered)
        );
    }

    #[test]
    fn other_versions_are_refused_in_words() {
        assert_eq!(
            answer(Offer::One, &json!({ "protocolVersion": 0 })),
            Err(InitializeError::OtherVersion { version: 0 })
        );
        assert_eq!(
            answer(Offer::One, &json!({ "protocolVersion": "1" })),
            Err(InitializeError::NoVersion)
        );
        assert_eq!(
            answer(Offer::One, &json!("ok")),
            Err(InitializeError::Unreadable)
        );
    }

    #[test]
    fn the_offer_of_version_two_has_both_forms() {
        let abilities = HostAbilities {
            questions: Questions::Forms,
            ..HostAbilities::default()
        };
        let params = params(Offer::Two, abilities, "1.0.0");
        assert_eq!(params["protocolVersion"], 2);
        assert_eq!(params["info"]["name"], params["clientInfo"]["name"]);
        assert_eq!(
            params["capabilities"]["elicitation"],
            params["clientCapabilities"]["elicitation"]
        );
    }
}
