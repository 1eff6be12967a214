//! What the server can do, as clients ask for it.

use bytes::Bytes;
use serde::Serialize;

use crate::reply;
use crate::settings::Settings;

#[derive(Serialize)]
struct Access {
    read: bool,
    write: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'static str>,
}

#[derive(Serialize)]
struct January {
    skills: Access,
    plugins: Access,
    mcp: Access,
    commands: Access,
    config: Access,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Scoped {
    schema_version: u32,
    server_version: &'static str,
    opencode_version: Option<String>,
    skills: Access,
    hub: Hub,
    plugins: Access,
    mcp: Access,
    commands: Access,
    config: Access,
    approvals: Approvals,
    sandbox: Sandbox,
    ui: Ui,
    tokens: Tokens,
    proxy: Proxy,
    tool_providers: ToolProviders,
}

#[derive(Serialize)]
struct Hub {
    skills: HubSkills,
}

#[derive(Serialize)]
struct HubSkills {
    read: bool,
    install: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Approvals {
    mode: &'static str,
    timeout_ms: u64,
}

#[derive(Serialize)]
struct Sandbox {
    enabled: bool,
    backend: &'static str,
}

#[derive(Serialize)]
struct Ui {
    toy: bool,
}

#[derive(Serialize)]
struct Tokens {
    scoped: bool,
    scopes: [&'static str; 3],
}

#[derive(Serialize)]
struct Proxy {
    opencode: bool,
}

#[derive(Serialize)]
struct ToolProviders {
    browser: Browser,
    files: Files,
}

#[derive(Serialize)]
struct Browser {
    enabled: bool,
    placement: &'static str,
    mode: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Files {
    injection: bool,
    outbox: bool,
    inbox_path: &'static str,
    outbox_path: &'static str,
    max_bytes: u64,
}

/// What is known of the opencodes behind the workspaces.
pub(crate) struct Engines {
    /// Whether there is any.
    pub(crate) are_there: bool,
    /// The version of the active one's, if it has said it.
    pub(crate) version: Option<String>,
}

/// What the server can do.
pub(crate) fn capabilities(settings: &Settings, engines: Engines) -> Bytes {
    let write = !settings.read_only;
    let access = |source| Access {
        read: true,
        write,
        source,
    };
    if !settings.compat.is_scoped() {
        return reply::compact(&January {
            skills: access(Some("openwork")),
            plugins: access(None),
            mcp: access(None),
            commands: access(None),
            config: access(None),
        });
    }
    reply::compact(&Scoped {
        schema_version: 1,
        server_version: settings.compat.version(),
        opencode_version: engines.version,
        skills: access(Some("openwork")),
        // There is no catalogue of skills elsewhere.
        hub: Hub {
            skills: HubSkills {
                read: false,
                install: false,
            },
        },
        plugins: access(None),
        mcp: access(None),
        commands: access(None),
        config: access(None),
        approvals: Approvals {
            mode: settings.approval.name(),
            timeout_ms: settings.patience_ms,
        },
        sandbox: Sandbox {
            enabled: false,
            backend: "none",
        },
        ui: Ui { toy: false },
        tokens: Tokens {
            scoped: true,
            scopes: ["owner", "collaborator", "viewer"],
        },
        proxy: Proxy {
            opencode: engines.are_there,
        },
        tool_providers: ToolProviders {
            browser: Browser {
                enabled: false,
                placement: "external",
                mode: "none",
            },
            files: Files {
                injection: write && settings.inbox_bytes.is_some(),
                outbox: settings.is_outbox_open,
                inbox_path: ".opencode/openwork/inbox/",
                outbox_path: ".opencode/openwork/outbox/",
                max_bytes: settings.inbox_bytes.unwrap_or(0),
            },
        },
    })
}
