//! Configuration: opencode's `opencode.jsonc` (or `opencode.json`) and OpenWork's `.opencode/openwork.json`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::beneath::{BeneathError, Root};
use crate::folder::Remembered;
use crate::jsonc;
use crate::refusal::Refusal;
use crate::workspace::{Scope, Workspace, if_there};

/// Where OpenWork keeps what it knows of a workspace.
pub(crate) const OPENWORK: &str = ".opencode/openwork.json";
/// Where opencode's configuration is looked for, in this order; what is not there is made under the first name.
pub(crate) const OPENCODE: [&str; 2] = ["opencode.jsonc", "opencode.json"];
/// Where the user's is, below the home.
const GLOBAL: &str = ".config/opencode";

/// What the two files say; equal `Arc`s are of the same content.
#[derive(Debug, Clone)]
pub struct Config {
    /// opencode's; an empty object if there is no file.
    pub opencode: Arc<Value>,
    /// OpenWork's; an empty object if there is no file.
    pub openwork: Arc<Value>,
}

/// opencode's configuration as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigText {
    /// Where it is, or would be.
    pub path: PathBuf,
    /// The whole file; nothing if there is none.
    pub text: Option<String>,
}

/// What was read of the files.
#[derive(Debug)]
pub(crate) struct RememberedConfig {
    opencode: [Remembered<Result<Arc<Value>, Refusal>>; 2],
    openwork: Remembered<Result<Arc<Value>, Refusal>>,
    nothing: Arc<Value>,
}

impl Default for RememberedConfig {
    fn default() -> Self {
        Self {
            opencode: Default::default(),
            openwork: Remembered::default(),
            nothing: Arc::new(Value::Object(Map::new())),
        }
    }
}

impl Workspace {
    /// Both configurations.
    pub fn config(&self) -> Result<Config, Refusal> {
        Ok(Config {
            opencode: self.opencode_config()?,
            openwork: self.openwork_config()?,
        })
    }

    /// opencode's configuration of this workspace.
    pub fn opencode_config(&self) -> Result<Arc<Value>, Refusal> {
        let Some(root) = self.root_if_there()? else {
            return Ok(Arc::clone(&self.config.nothing));
        };
        for (name, remembered) in OPENCODE.iter().zip(&self.config.opencode) {
            let read = remembered.look(&root, Path::new(name), |bytes| {
                jsonc::parse(&text(bytes)?).map(Arc::new)
            })?;
            if let Some(read) = read {
                return Result::clone(&read);
            }
        }
        Ok(Arc::clone(&self.config.nothing))
    }

    /// OpenWork's configuration of this workspace.
    pub fn openwork_config(&self) -> Result<Arc<Value>, Refusal> {
        let Some(root) = self.root_if_there()? else {
            return Ok(Arc::clone(&self.config.nothing));
        };
        let read = self
            .config
            .openwork
            .look(&root, Path::new(OPENWORK), |bytes| {
                parse_openwork(&bytes).map(Arc::new)
            })?;
        match read {
            Some(read) => Result::clone(&read),
            None => Ok(Arc::clone(&self.config.nothing)),
        }
    }

    /// Where opencode's configuration of this workspace is, or would be.
    pub fn config_path(&self) -> Result<PathBuf, Refusal> {
        let below = match self.root_if_there()? {
            Some(root) => opencode_path(&root, Scope::Project)?,
            None => PathBuf::from(OPENCODE[0]),
        };
        Ok(self.path().join(below))
    }

    /// opencode's configuration as it is written.
    pub fn config_text(&self, scope: Scope) -> Result<ConfigText, Refusal> {
        let (base, root) = match scope {
            Scope::Project => (self.path(), self.root()),
            Scope::Global => (self.home().path(), self.home().root()),
        };
        let Some(root) = if_there(root)? else {
            return Ok(ConfigText {
                path: base.join(candidates(scope)[0].as_path()),
                text: None,
            });
        };
        let path = opencode_path(&root, scope)?;
        let text = root.read_if_there(&path)?.map(text).transpose()?;
        Ok(ConfigText {
            path: base.join(path),
            text,
        })
    }
}

/// Where opencode's configuration is or would be, below its base.
pub(crate) fn opencode_path(root: &Root, scope: Scope) -> Result<PathBuf, BeneathError> {
    let [first, second] = candidates(scope);
    for candidate in [&first, &second] {
        match root.status(candidate) {
            Ok(_) => return Ok(candidate.clone()),
            Err(BeneathError::Missing) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(first)
}

fn candidates(scope: Scope) -> [PathBuf; 2] {
    OPENCODE.map(|name| match scope {
        Scope::Project => PathBuf::from(name),
        Scope::Global => Path::new(GLOBAL).join(name),
    })
}

pub(crate) fn parse_openwork(bytes: &[u8]) -> Result<Value, Refusal> {
    serde_json::from_slice(bytes)
        .map_err(|_| Refusal::unprocessable("invalid_json", "Failed to parse openwork.json"))
}

/// The text of a file, which has to be one.
pub(crate) fn text(bytes: Vec<u8>) -> Result<String, Refusal> {
    String::from_utf8(bytes)
        .map_err(|_| Refusal::unprocessable("invalid_text", "The file is no text in UTF-8"))
}
