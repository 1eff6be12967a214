//! The table of known agents. How one signs in, and what shows it, was not tried for each of them.

use crate::acp::agents::{Agent, LastingOption, Loading, RefusalEffect, SignIn, StartCommand};
use crate::acp::initialize::{Files, HostAbilities, Offer, Questions};

struct Row {
    name: &'static str,
    title: &'static str,
    commands: &'static [(&'static str, &'static [&'static str])],
    install: &'static str,
    sign_in: &'static str,
    files: &'static [&'static str],
    variables: &'static [&'static str],
    questions: Questions,
    lasting: &'static [(&'static str, &'static str)],
    refusal: RefusalEffect,
    loading: Loading,
    inherit: &'static [&'static str],
}

const PROCESS: &str =
    "The agent remembers it at least until its process ends; how far it reaches is not known.";

const ROWS: [Row; 9] = [
    Row {
        name: "opencode",
        title: "opencode",
        commands: &[("opencode", &["acp"])],
        install: "npm install -g opencode-ai",
        sign_in: "opencode auth login",
        files: &[".local/share/opencode/auth.json"],
        variables: &["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"],
        questions: Questions::None,
        lasting: &[(
            "always",
            "opencode then allows a pattern that it makes of the command, which is wider than the command itself, until its process ends.",
        )],
        refusal: RefusalEffect::GoesOn,
        loading: Loading::AtOnce,
        inherit: &[],
    },
    Row {
        name: "claude",
        title: "Claude Agent",
        commands: &[("claude-agent-acp", &[]), ("claude-code-acp", &[])],
        install: "npm install -g @agentclientprotocol/claude-agent-acp (Node.js 22 or newer)",
        sign_in: "claude, then /login; or set ANTHROPIC_API_KEY",
        files: &[".claude/.credentials.json"],
        variables: &[
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "CLAUDE_CODE_OAUTH_TOKEN",
        ],
        questions: Questions::Forms,
        lasting: &[
            (
                "allow-with-updates",
                "Claude writes it to .claude/settings.local.json of the project, for every session to come.",
            ),
            (
                "exit-plan-auto",
                "Claude leaves the plan and from then on decides by itself what needs no asking.",
            ),
            (
                "exit-plan-bypass",
                "Claude leaves the plan and from then on does everything without asking.",
            ),
            (
                "",
                "Claude remembers it in the settings of the project, or changes what it asks for at all.",
            ),
        ],
        refusal: RefusalEffect::GoesOn,
        loading: Loading::AtOnce,
        inherit: &["CLAUDE_*", "IS_SANDBOX"],
    },
    Row {
        name: "codex",
        title: "Codex",
        commands: &[("codex-acp", &[])],
        install: "npm install -g @agentclientprotocol/codex-acp",
        sign_in: "codex login; or set OPENAI_API_KEY",
        files: &[".codex/auth.json"],
        variables: &["OPENAI_API_KEY", "CODEX_API_KEY"],
        questions: Questions::Forms,
        lasting: &[
            (
                "accept_execpolicy_amendment",
                "Codex writes it to ~/.codex/rules/default.rules: every command that begins like this one, in every project, for ever.",
            ),
            (
                "",
                "Codex remembers it; for commands, in every project and for ever.",
            ),
        ],
        refusal: RefusalEffect::EndsTurn,
        loading: Loading::AtOnce,
        inherit: &["CODEX_*", "INITIAL_AGENT_MODE"],
    },
    Row {
        name: "gemini",
        title: "Gemini CLI",
        commands: &[("gemini", &["--acp"])],
        install: "npm install -g @google/gemini-cli",
        sign_in: "gemini, then choose how to sign in; or set GEMINI_API_KEY",
        files: &[".gemini/oauth_creds.json"],
        variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        questions: Questions::Forms,
        lasting: &[("", PROCESS)],
        refusal: RefusalEffect::GoesOn,
        loading: Loading::InAnotherMinute,
        inherit: &[],
    },
    Row {
        name: "goose",
        title: "goose",
        commands: &[("goose", &["acp"])],
        install: "see the goose project's page for its installer",
        sign_in: "goose configure",
        files: &[".config/goose/config.yaml"],
        variables: &["GOOSE_PROVIDER"],
        questions: Questions::Forms,
        lasting: &[(
            "allow_always",
            "goose writes the tool to ~/.config/goose/permission.yaml: every use of it (for a shell, every command), in every project, for ever.",
        )],
        refusal: RefusalEffect::GoesOn,
        loading: Loading::AtOnce,
        inherit: &["GOOSE_*"],
    },
    Row {
        name: "qwen",
        title: "Qwen Code",
        commands: &[("qwen", &["--acp"])],
        install: "npm install -g @qwen-code/qwen-code",
        sign_in: "qwen, then choose how to sign in; or set OPENAI_API_KEY and OPENAI_BASE_URL",
        files: &[".qwen/oauth_creds.json"],
        variables: &["OPENAI_API_KEY", "DASHSCOPE_API_KEY"],
        questions: Questions::Forms,
        lasting: &[("", PROCESS)],
        refusal: RefusalEffect::GoesOn,
        loading: Loading::AtOnce,
        inherit: &["QWEN_*", "DASHSCOPE_*"],
    },
    Row {
        name: "kimi",
        title: "Kimi Code",
        commands: &[("kimi", &["acp"])],
        install: "npm install -g @moonshot-ai/kimi-code",
        sign_in: "kimi, then /login; or a provider in ~/.kimi-code/config.toml",
        files: &[".kimi-code/config.toml"],
        variables: &["KIMI_API_KEY", "MOONSHOT_API_KEY"],
        questions: Questions::Forms,
        lasting: &[("", PROCESS)],
        refusal: RefusalEffect::GoesOn,
        loading: Loading::AtOnce,
        inherit: &["KIMI_*", "MOONSHOT_*"],
    },
    Row {
        name: "vibe",
        title: "Mistral Vibe",
        commands: &[("vibe-acp", &[])],
        install: "uv tool install mistral-vibe",
        sign_in: "vibe --setup; or set MISTRAL_API_KEY",
        files: &[".vibe/.env"],
        variables: &["MISTRAL_API_KEY"],
        questions: Questions::Forms,
        lasting: &[
            ("allow_always", "Vibe remembers it for this session."),
            (
                "allow_always_permanent",
                "Vibe keeps it for ever, by the name that it gives this option; what it writes down is not known here.",
            ),
        ],
        refusal: RefusalEffect::GoesOn,
        loading: Loading::AtOnce,
        inherit: &["VIBE_*"],
    },
    Row {
        name: "copilot",
        title: "GitHub Copilot CLI",
        commands: &[("copilot", &["--acp"])],
        install: "npm install -g @github/copilot",
        sign_in: "copilot, then /login; or set GH_TOKEN",
        files: &[".copilot/config.json"],
        variables: &["COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"],
        questions: Questions::Forms,
        lasting: &[("", PROCESS)],
        refusal: RefusalEffect::GoesOn,
        loading: Loading::AtOnce,
        inherit: &["COPILOT_*", "GH_TOKEN", "GITHUB_TOKEN"],
    },
];

/// The agents that are known.
pub fn known_agents() -> Vec<Agent> {
    ROWS.iter().map(agent).collect()
}

fn agent(row: &Row) -> Agent {
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    Agent {
        name: row.name.to_owned(),
        title: row.title.to_owned(),
        commands: row
            .commands
            .iter()
            .map(|(program, arguments)| StartCommand {
                program: (*program).to_owned(),
                arguments: owned(arguments),
            })
            .collect(),
        install: row.install.to_owned(),
        sign_in: SignIn {
            how: row.sign_in.to_owned(),
            files: owned(row.files),
            variables: owned(row.variables),
        },
        // Agents read, write and run by themselves unless somebody configures it otherwise: one of them
        // cannot make new files through its host.
        abilities: HostAbilities {
            files: Files::None,
            terminal: false,
            questions: row.questions,
        },
        offer: Offer::One,
        lasting: row
            .lasting
            .iter()
            .map(|(id, scope)| LastingOption {
                id: (*id).to_owned(),
                scope: (*scope).to_owned(),
            })
            .collect(),
        refusal: row.refusal,
        loading: row.loading,
        inherit: owned(row.inherit),
    }
}
