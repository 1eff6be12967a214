//! Starting an ACP agent: which program, with what environment, and its streams held by the keeper.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::PathBuf;

use countersign_core::id::RunId;

use crate::acp::agents::FoundProgram;
use crate::acp::lines::LINE_LIMIT;
use crate::environment::allowed_environment;
use crate::keeper::{KeeperSpec, ReadyRule, Streams};

/// Marks everything that belongs to one life of an engine.
const MARK: &str = crate::process::RUN_MARK;

/// An agent that is to be started.
#[derive(Debug, Clone)]
pub struct Launch {
    /// The program.
    pub program: FoundProgram,
    /// The workspace.
    pub directory: PathBuf,
    /// The life that it begins.
    pub run: RunId,
    /// Names of more variables that it may inherit.
    pub inherit: Vec<String>,
    /// For how many seconds it goes on without a server.
    pub lonely_limit_s: u64,
}

impl Launch {
    /// What the keeper has to keep. `own` is our own environment, of which a part is passed on.
    pub fn spec(self, own: impl IntoIterator<Item = (OsString, OsString)>) -> KeeperSpec {
        KeeperSpec {
            environment: environment(self.run, &self.inherit, own),
            program: self.program.program,
            args: self.program.arguments,
            working_directory: self.directory,
            kept_variables: BTreeSet::new(),
            mark: Some(MARK.to_owned()),
            ready: ReadyRule::Started,
            // A line is acknowledged when it is whole: the longest that is read has to fit, and more behind it.
            streams: Streams::Held {
                spool_bytes: 2 * LINE_LIMIT as u64,
            },
            lonely_limit_s: self.lonely_limit_s,
            grace_ms: KeeperSpec::DEFAULT_GRACE_MS,
        }
    }
}

/// What an agent inherits of our `own` environment, and what runs for it: with the mark of its life.
pub fn environment(
    run: RunId,
    inherit: &[String],
    own: impl IntoIterator<Item = (OsString, OsString)>,
) -> BTreeMap<String, String> {
    let mut environment = allowed_environment(own, inherit);
    environment.insert(MARK.to_owned(), run.to_string());
    environment
}

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_core::time::Timestamp;

    #[test]
    fn an_agent_inherits_what_it_may_and_no_token() {
        let launch = Launch {
            program: FoundProgram {
                program: PathBuf::from("/bin/agent"),
                arguments: vec!["acp".to_owned()],
            },
            directory: PathBuf::from("/srv/proj"),
            run: RunId::generate(Timestamp::from_micros(0)),
            inherit: vec!["MINE_*".to_owned()],
            lonely_limit_s: 600,
        };
        let own = [
            ("PATH", "/bin"),
            ("MINE_A", "1"),
            ("OTHER", "2"),
            ("COUNTERSIGN_TOKEN", "cs_secret"),
        ]
        .map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let spec = launch.spec(own);
        let names: Vec<&str> = spec.environment.keys().map(String::as_str).collect();
        assert_eq!(names, [MARK, "MINE_A", "PATH"]);
    }
}
