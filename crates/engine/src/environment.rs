//! The environment that an agent is started with: an allow-list, so that nothing of ours reaches it by accident.
//!
//! Whatever the configuration adds, no variable of Countersign's own and no credential of an engine's own server
//! passes: those are set by whoever starts the engine, or not at all.

use std::collections::BTreeMap;
use std::ffi::OsString;

/// What an agent needs in order to work, to find its network and to reach its model.
const ALLOWED: &[Pattern<'static>] = &[
    Pattern::Exactly("PATH"),
    Pattern::Exactly("HOME"),
    Pattern::Exactly("USER"),
    Pattern::Exactly("LOGNAME"),
    Pattern::Exactly("SHELL"),
    Pattern::Exactly("TERM"),
    Pattern::Exactly("COLORTERM"),
    Pattern::Exactly("LANG"),
    Pattern::Exactly("LANGUAGE"),
    Pattern::StartsWith("LC_"),
    Pattern::Exactly("TZ"),
    Pattern::Exactly("TMPDIR"),
    Pattern::StartsWith("XDG_"),
    Pattern::Exactly("http_proxy"),
    Pattern::Exactly("https_proxy"),
    Pattern::Exactly("no_proxy"),
    Pattern::Exactly("all_proxy"),
    Pattern::Exactly("HTTP_PROXY"),
    Pattern::Exactly("HTTPS_PROXY"),
    Pattern::Exactly("NO_PROXY"),
    Pattern::Exactly("ALL_PROXY"),
    Pattern::Exactly("SSL_CERT_FILE"),
    Pattern::Exactly("SSL_CERT_DIR"),
    Pattern::Exactly("NODE_EXTRA_CA_CERTS"),
    Pattern::StartsWith("ANTHROPIC_"),
    Pattern::StartsWith("AWS_"),
    Pattern::StartsWith("AZURE_"),
    Pattern::StartsWith("CEREBRAS_"),
    Pattern::StartsWith("COHERE_"),
    Pattern::StartsWith("DEEPSEEK_"),
    Pattern::StartsWith("FIREWORKS_"),
    Pattern::StartsWith("GEMINI_"),
    Pattern::StartsWith("GOOGLE_"),
    Pattern::StartsWith("GROQ_"),
    Pattern::StartsWith("MISTRAL_"),
    Pattern::StartsWith("OLLAMA_"),
    Pattern::StartsWith("OPENAI_"),
    Pattern::StartsWith("OPENCODE_"),
    Pattern::StartsWith("OPENROUTER_"),
    Pattern::StartsWith("TOGETHER_"),
    Pattern::StartsWith("XAI_"),
];

/// What never passes, whoever allows it. Compared without regard to case.
const FORBIDDEN: &[Pattern<'static>] = &[
    Pattern::StartsWith("COUNTERSIGN_"),
    Pattern::Exactly("OPENCODE_SERVER_PASSWORD"),
    Pattern::Exactly("OPENCODE_SERVER_USERNAME"),
];

#[derive(Debug, Clone, Copy)]
enum Pattern<'a> {
    Exactly(&'a str),
    StartsWith(&'a str),
}

impl<'a> Pattern<'a> {
    /// Reads a configured name; a `*` at its end stands for any ending.
    fn read(configured: &'a str) -> Self {
        configured
            .strip_suffix('*')
            .map_or(Self::Exactly(configured), Self::StartsWith)
    }

    fn matches(self, name: &str) -> bool {
        match self {
            Self::Exactly(whole) => name == whole,
            Self::StartsWith(beginning) => name.starts_with(beginning),
        }
    }
}

/// Returns those of `own` variables that an agent may have.
///
/// `extra` names more of them; `FOO_*` stands for all that start with `FOO_`. Variables that are not Unicode do not
/// pass, since the keeper's description of an engine could not carry them unchanged.
pub fn allowed_environment(
    own: impl IntoIterator<Item = (OsString, OsString)>,
    extra: &[String],
) -> BTreeMap<String, String> {
    own.into_iter()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| passes(name, extra))
        .collect()
}

/// Returns `own` variables without those of Countersign's own: for an agent that somebody else starts, by way of us.
pub fn without_ours(
    own: impl IntoIterator<Item = (OsString, OsString)>,
) -> Vec<(OsString, OsString)> {
    let is_ours = |name: &OsString| {
        let capitals = name.to_string_lossy().to_ascii_uppercase();
        capitals.starts_with("COUNTERSIGN_")
    };
    own.into_iter().filter(|(name, _)| !is_ours(name)).collect()
}

/// Whether an agent may give a variable of this name to a command that is run for it.
pub fn may_be_added(name: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0']) && !is_forbidden(name)
}

fn is_forbidden(name: &str) -> bool {
    let capitals = name.to_ascii_uppercase();
    FORBIDDEN.iter().any(|pattern| pattern.matches(&capitals))
}

fn passes(name: &str, extra: &[String]) -> bool {
    let allowed = ALLOWED.iter().any(|pattern| pattern.matches(name))
        || extra
            .iter()
            .any(|configured| Pattern::read(configured).matches(name));
    allowed && !is_forbidden(name)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn allowed(own: &[(&str, &str)], extra: &[&str]) -> Vec<String> {
        let own = own
            .iter()
            .map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let extra: Vec<String> = extra.iter().map(|name| (*name).to_owned()).collect();
        allowed_environment(own, &extra).into_keys().collect()
    }

    #[test]
    fn what_an_agent_needs_passes_and_the_rest_does_not() {
        let own = [
            ("PATH", "/bin"),
            ("HOME", "/home/me"),
            ("LC_ALL", "C.UTF-8"),
            ("XDG_CONFIG_HOME", "/c"),
            ("https_proxy", "http://proxy"),
            ("NO_PROXY", "localhost"),
            ("ANTHROPIC_API_KEY", "key"),
            ("OPENCODE_CONFIG", "/c/opencode.json"),
            ("DATABASE_URL", "postgres://secret"),
            ("LD_PRELOAD", "evil.so"),
            ("SSH_AUTH_SOCK", "/tmp/agent"),
        ];
        assert_eq!(
            allowed(&own, &[]),
            [
                "ANTHROPIC_API_KEY",
                "HOME",
                "LC_ALL",
                "NO_PROXY",
                "OPENCODE_CONFIG",
                "PATH",
                "XDG_CONFIG_HOME",
                "https_proxy",
            ]
        );
    }

    #[test]
    fn an_agent_of_somebody_else_has_all_that_is_not_ours() {
        let own = ["PATH", "COUNTERSIGN_TOKEN", "countersign_data", "ZED_TERM"];
        let own = own.map(|name| (OsString::from(name), OsString::from("x")));
        let names: Vec<OsString> = without_ours(own)
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert_eq!(names, ["PATH", "ZED_TERM"]);
    }

    #[test]
    fn configuration_adds_names_and_beginnings() {
        let own = [
            ("CARGO_HOME", "a"),
            ("CARGO", "b"),
            ("GOPATH", "c"),
            ("GOPATHS", "d"),
        ];
        assert_eq!(
            allowed(&own, &["CARGO_*", "GOPATH"]),
            ["CARGO_HOME", "GOPATH"]
        );
    }

    #[test]
    fn configuration_cannot_let_our_own_secrets_through() {
        let own = [
            ("COUNTERSIGN_TOKEN", "t"),
            ("countersign_token", "t"),
            ("OPENCODE_SERVER_PASSWORD", "p"),
            ("OPENCODE_SERVER_USERNAME", "u"),
            ("HOME", "/h"),
        ];
        assert_eq!(
            allowed(&own, &["*", "COUNTERSIGN_TOKEN", "OPENCODE_SERVER_*"]),
            ["HOME"]
        );
    }

    proptest! {
        #[test]
        fn whatever_is_configured_nothing_of_ours_passes_and_no_value_changes(
            own in proptest::collection::btree_map("(COUNTERSIGN_|CounterSign_|OPENCODE_|LC_|PATH|[A-Za-z_]{0,3})[A-Z_]{0,12}", ".{0,12}", 0..24),
            extra in proptest::collection::vec("(COUNTERSIGN_|OPENCODE_SERVER_|[A-Z_]{0,3})[A-Z_]{0,8}[*]?", 0..6),
        ) {
            let given = own.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
            let passed = allowed_environment(given, &extra);
            for (name, value) in &passed {
                prop_assert!(!name.to_ascii_uppercase().starts_with("COUNTERSIGN_"));
                prop_assert!(name != "OPENCODE_SERVER_PASSWORD" && name != "OPENCODE_SERVER_USERNAME");
                prop_assert_eq!(own.get(name), Some(value));
            }
        }

        #[test]
        fn allowing_more_never_takes_away(
            names in proptest::collection::btree_set("(LC_|AWS_|[A-Z]{0,2})[A-Z_]{0,6}", 0..24),
            extra in proptest::collection::vec("[A-Z_]{0,4}[*]?", 0..6),
        ) {
            let given = || names.iter().map(|name| (OsString::from(name), OsString::from("v")));
            let without = allowed_environment(given(), &[]);
            let with = allowed_environment(given(), &extra);
            prop_assert!(without.keys().all(|name| with.contains_key(name)));
        }
    }
}
