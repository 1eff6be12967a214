//! Every path there is. They match exactly: a slash too many is another path, and there is nothing.

use http::Method;

use crate::percent::decode;
use crate::refusal::Refusal;

/// The most segments that a path of ours has.
const SEGMENTS: usize = 8;

/// What a request is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Route {
    Health,
    Capabilities,
    Workspaces,
    Status,
    WhoAmI,
    Versions,
    Tokens,
    IssueToken,
    RevokeToken(String),
    Env(Env),
    AddWorkspace,
    RenameWorkspace(String),
    RemoveWorkspace(String),
    Activate {
        workspace: String,
    },
    Approvals,
    Reply {
        approval: String,
    },
    Of {
        workspace: String,
        part: Part,
    },
    FileSession {
        session: String,
        act: FileAct,
    },
    /// The path that is behind the mount, as it was sent.
    Proxy {
        workspace: Option<String>,
        path: String,
    },
}

/// What of the user's environment a request is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Env {
    List,
    Keys,
    Show(String),
    Put,
    Delete(String),
}

/// What a request does in a file session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FileAct {
    Renew,
    Close,
    Snapshot,
    Events,
    Read,
    Write,
    Operate,
}

/// What of a workspace a request is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    MountedStatus,
    MountedCapabilities,
    MountedWorkspaces,
    Config,
    PatchConfig,
    ConfigText,
    WriteConfigText,
    Audit,
    Events,
    Reload,
    Plugins,
    AddPlugin,
    RemovePlugin(String),
    Skills,
    Skill(String),
    UpsertSkill,
    DeleteSkill(String),
    Mcp,
    SetMcp,
    EnableMcp(String),
    RemoveMcp(String),
    SignOutMcp(String),
    Commands,
    UpsertCommand,
    DeleteCommand(String),
    Export,
    Import,
    PreviewImport,
    Jobs,
    DeleteJob(String),
    Exchange(Exchange),
}

/// What goes in and out of a workspace: files and conversations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Exchange {
    Inbox,
    InboxItem(String),
    Upload,
    Artifacts,
    Artifact(String),
    ResolveArtifacts,
    OpenFileSession,
    FileContent,
    WriteFileContent,
    FileStat,
    RawFile,
    WriteRawFile,
    Sessions,
    Session(String),
    SessionMessages(String),
    SessionSnapshot(String),
    DeleteSession(String),
}

impl Part {
    /// Whether it changes what is on the disk.
    pub(crate) fn writes(&self) -> bool {
        match self {
            Self::MountedStatus
            | Self::MountedCapabilities
            | Self::MountedWorkspaces
            | Self::Config
            | Self::ConfigText
            | Self::Audit
            | Self::Events
            | Self::Reload
            | Self::Plugins
            | Self::Skills
            | Self::Skill(_)
            | Self::Mcp
            | Self::Commands
            | Self::Export
            | Self::PreviewImport
            | Self::Jobs => false,
            Self::PatchConfig
            | Self::WriteConfigText
            | Self::AddPlugin
            | Self::RemovePlugin(_)
            | Self::UpsertSkill
            | Self::DeleteSkill(_)
            | Self::SetMcp
            | Self::EnableMcp(_)
            | Self::RemoveMcp(_)
            | Self::SignOutMcp(_)
            | Self::UpsertCommand
            | Self::DeleteCommand(_)
            | Self::Import
            | Self::DeleteJob(_) => true,
            Self::Exchange(exchange) => match exchange {
                Exchange::Inbox
                | Exchange::InboxItem(_)
                | Exchange::Artifacts
                | Exchange::Artifact(_)
                | Exchange::ResolveArtifacts
                | Exchange::OpenFileSession
                | Exchange::FileContent
                | Exchange::FileStat
                | Exchange::RawFile
                | Exchange::Sessions
                | Exchange::Session(_)
                | Exchange::SessionMessages(_)
                | Exchange::SessionSnapshot(_) => false,
                Exchange::Upload
                | Exchange::WriteFileContent
                | Exchange::WriteRawFile
                | Exchange::DeleteSession(_) => true,
            },
        }
    }
}

impl Route {
    /// What a request is for; nothing if there is no such path, or not for that method.
    pub(crate) fn find(method: &Method, path: &str) -> Result<Option<Self>, Refusal> {
        if let Some(proxied) = proxied(path)? {
            return Ok(Some(proxied));
        }
        let mut segments = [""; SEGMENTS];
        let mut count = 0;
        for segment in path.split('/').skip(1) {
            if segment.is_empty() || count == SEGMENTS {
                return Ok(None);
            }
            segments[count] = segment;
            count += 1;
        }
        match &segments[..count] {
            ["w", mount, "workspace", id, ..] => {
                if decode(mount)? == decode(id)? {
                    of_workspace(method.as_str(), &segments[2..count])
                } else {
                    Ok(None)
                }
            }
            ["w", mount, rest @ ..] => mounted(method.as_str(), mount, rest),
            ["workspace", ..] => of_workspace(method.as_str(), &segments[..count]),
            ["files", "sessions", session, rest @ ..] => {
                let act = file_act(method.as_str(), rest);
                let session = decode(session)?;
                Ok(act.map(|act| Self::FileSession { session, act }))
            }
            segments => of_server(method.as_str(), segments),
        }
    }
}

/// A path that is opencode's, below one of its three mounts.
fn proxied(path: &str) -> Result<Option<Route>, Refusal> {
    let (workspace, rest) = match path.split_once("/opencode") {
        Some(("", rest)) => (None, rest),
        Some((mount, rest)) => {
            let id = mount
                .strip_prefix("/w/")
                .or_else(|| mount.strip_prefix("/workspace/"));
            match id.filter(|id| !id.is_empty() && !id.contains('/')) {
                Some(id) => (Some(decode(id)?), rest),
                None => return Ok(None),
            }
        }
        None => return Ok(None),
    };
    let is_whole_segment = rest.is_empty() || rest.starts_with('/');
    Ok(is_whole_segment.then(|| Route::Proxy {
        workspace,
        path: if rest.is_empty() { "/" } else { rest }.to_owned(),
    }))
}

fn of_server(method: &str, segments: &[&str]) -> Result<Option<Route>, Refusal> {
    Ok(Some(match (method, segments) {
        ("GET", ["health"]) => Route::Health,
        ("GET", ["capabilities"]) => Route::Capabilities,
        ("GET", ["workspaces"]) => Route::Workspaces,
        ("GET", ["status"]) => Route::Status,
        ("GET", ["whoami"]) => Route::WhoAmI,
        ("GET", ["runtime", "versions"]) => Route::Versions,
        ("GET", ["tokens"]) => Route::Tokens,
        ("POST", ["tokens"]) => Route::IssueToken,
        ("DELETE", ["tokens", id]) => Route::RevokeToken(decode(id)?),
        ("GET", ["env"]) => Route::Env(Env::List),
        ("PUT", ["env"]) => Route::Env(Env::Put),
        ("GET", ["env", "keys"]) => Route::Env(Env::Keys),
        ("GET", ["env", key]) => Route::Env(Env::Show(decode(key)?)),
        ("DELETE", ["env", key]) => Route::Env(Env::Delete(decode(key)?)),
        ("POST", ["workspaces", "local"]) => Route::AddWorkspace,
        ("PATCH", ["workspaces", id, "display-name"]) => Route::RenameWorkspace(decode(id)?),
        ("DELETE", ["workspaces", id]) => Route::RemoveWorkspace(decode(id)?),
        ("POST", ["workspaces", id, "activate"]) => Route::Activate {
            workspace: decode(id)?,
        },
        ("GET", ["approvals"]) => Route::Approvals,
        ("POST", ["approvals", id]) => Route::Reply {
            approval: decode(id)?,
        },
        _ => return Ok(None),
    }))
}

fn mounted(method: &str, mount: &str, rest: &[&str]) -> Result<Option<Route>, Refusal> {
    let workspace = decode(mount)?;
    let part = match (method, rest) {
        ("GET", ["health"]) => return Ok(Some(Route::Health)),
        ("GET", ["runtime", "versions"]) => return Ok(Some(Route::Versions)),
        ("GET", ["status"]) => Part::MountedStatus,
        ("GET", ["capabilities"]) => Part::MountedCapabilities,
        ("GET", ["workspaces"]) => Part::MountedWorkspaces,
        _ => return Ok(None),
    };
    Ok(Some(Route::Of { workspace, part }))
}

fn file_act(method: &str, rest: &[&str]) -> Option<FileAct> {
    Some(match (method, rest) {
        ("POST", ["renew"]) => FileAct::Renew,
        ("DELETE", []) => FileAct::Close,
        ("GET", ["catalog", "snapshot"]) => FileAct::Snapshot,
        ("GET", ["catalog", "events"]) => FileAct::Events,
        ("POST", ["read-batch"]) => FileAct::Read,
        ("POST", ["write-batch"]) => FileAct::Write,
        ("POST", ["ops"]) => FileAct::Operate,
        _ => return None,
    })
}

/// `segments` begin with `workspace`.
fn of_workspace(method: &str, segments: &[&str]) -> Result<Option<Route>, Refusal> {
    let [_, id, rest @ ..] = segments else {
        return Ok(None);
    };
    let part = match content(method, rest)? {
        Some(part) => Some(part),
        None => exchange(method, rest)?.map(Part::Exchange),
    };
    Ok(match part {
        Some(part) => Some(Route::Of {
            workspace: decode(id)?,
            part,
        }),
        None => None,
    })
}

/// What a workspace holds for its agents.
fn content(method: &str, rest: &[&str]) -> Result<Option<Part>, Refusal> {
    Ok(Some(match (method, rest) {
        ("GET", ["config"]) => Part::Config,
        ("PATCH", ["config"]) => Part::PatchConfig,
        ("GET", ["opencode-config"]) => Part::ConfigText,
        ("POST", ["opencode-config"]) => Part::WriteConfigText,
        ("GET", ["audit"]) => Part::Audit,
        ("GET", ["events"]) => Part::Events,
        ("POST", ["engine", "reload"]) => Part::Reload,
        ("GET", ["plugins"]) => Part::Plugins,
        ("POST", ["plugins"]) => Part::AddPlugin,
        ("DELETE", ["plugins", name]) => Part::RemovePlugin(decode(name)?),
        ("GET", ["skills"]) => Part::Skills,
        ("POST", ["skills"]) => Part::UpsertSkill,
        ("GET", ["skills", name]) => Part::Skill(decode(name)?),
        ("DELETE", ["skills", name]) => Part::DeleteSkill(decode(name)?),
        ("GET", ["mcp"]) => Part::Mcp,
        ("POST", ["mcp"]) => Part::SetMcp,
        ("DELETE", ["mcp", name]) => Part::RemoveMcp(decode(name)?),
        ("DELETE", ["mcp", name, "auth"]) => Part::SignOutMcp(decode(name)?),
        ("POST", ["mcp", name, "enabled"]) => Part::EnableMcp(decode(name)?),
        ("GET", ["commands"]) => Part::Commands,
        ("POST", ["commands"]) => Part::UpsertCommand,
        ("DELETE", ["commands", name]) => Part::DeleteCommand(decode(name)?),
        ("GET", ["export"]) => Part::Export,
        ("POST", ["import"]) => Part::Import,
        ("POST", ["import", "preview"]) => Part::PreviewImport,
        ("GET", ["scheduler", "jobs"]) => Part::Jobs,
        ("DELETE", ["scheduler", "jobs", name]) => Part::DeleteJob(decode(name)?),
        _ => return Ok(None),
    }))
}

/// What goes in and out of a workspace: files and conversations.
fn exchange(method: &str, rest: &[&str]) -> Result<Option<Exchange>, Refusal> {
    Ok(Some(match (method, rest) {
        ("GET", ["inbox"]) => Exchange::Inbox,
        ("POST", ["inbox"]) => Exchange::Upload,
        ("GET", ["inbox", id]) => Exchange::InboxItem(decode(id)?),
        ("GET", ["artifacts"]) => Exchange::Artifacts,
        ("POST", ["artifacts", "resolve"]) => Exchange::ResolveArtifacts,
        ("GET", ["artifacts", id]) => Exchange::Artifact(decode(id)?),
        ("POST", ["files", "sessions"]) => Exchange::OpenFileSession,
        ("GET", ["files", "content"]) => Exchange::FileContent,
        ("POST", ["files", "content"]) => Exchange::WriteFileContent,
        ("GET", ["files", "stat"]) => Exchange::FileStat,
        ("GET", ["files", "raw"]) => Exchange::RawFile,
        ("POST", ["files", "raw"]) => Exchange::WriteRawFile,
        ("GET", ["sessions"]) => Exchange::Sessions,
        ("GET", ["sessions", id]) => Exchange::Session(decode(id)?),
        ("DELETE", ["sessions", id]) => Exchange::DeleteSession(decode(id)?),
        ("GET", ["sessions", id, "messages"]) => Exchange::SessionMessages(decode(id)?),
        ("GET", ["sessions", id, "snapshot"]) => Exchange::SessionSnapshot(decode(id)?),
        _ => return Ok(None),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_match_exactly() {
        let find = |method, path| Route::find(&method, path).unwrap();
        assert_eq!(find(Method::GET, "/health"), Some(Route::Health));
        for (method, path) in [
            (Method::GET, "/health/"),
            (Method::HEAD, "/health"),
            (Method::PUT, "/health"),
            (Method::GET, "//health"),
            (Method::GET, "/workspace//config"),
            (Method::GET, "/workspace/a/config/b/c/d/e/f"),
            (Method::GET, "/"),
        ] {
            assert_eq!(find(method, path), None, "{path}");
        }
        let part = Part::RemovePlugin("@acme/tools".to_owned());
        let workspace = "a".to_owned();
        assert_eq!(
            find(Method::DELETE, "/workspace/a/plugins/%40acme%2Ftools"),
            Some(Route::Of { workspace, part })
        );
        assert!(Route::find(&Method::GET, "/workspace/%E0%A4%A/config").is_err());
    }

    #[test]
    fn a_mount_leads_to_its_own_workspace_alone() {
        let find = |path| Route::find(&Method::GET, path).unwrap();
        let part = Part::Mcp;
        let workspace = "a".to_owned();
        assert_eq!(
            find("/w/a/workspace/a/mcp"),
            Some(Route::Of { workspace, part })
        );
        assert_eq!(find("/w/a/workspace/b/mcp"), None);
        assert_eq!(find("/w/a/health"), Some(Route::Health));
        for (path, workspace, behind) in [
            ("/opencode", None, "/"),
            ("/opencode/session/s%2F1", None, "/session/s%2F1"),
            ("/w/a/opencode/x/opencode/y", Some("a"), "/x/opencode/y"),
            ("/workspace/a/opencode/", Some("a"), "/"),
        ] {
            let workspace = workspace.map(str::to_owned);
            let path_behind = behind.to_owned();
            assert_eq!(
                find(path),
                Some(Route::Proxy {
                    workspace,
                    path: path_behind
                }),
                "{path}"
            );
        }
        assert_eq!(find("/opencodes"), None);
        assert!(matches!(
            find("/workspace/a/opencode-config"),
            Some(Route::Of {
                part: Part::ConfigText,
                ..
            })
        ));
    }
}
