//! The files and variables that keep an agent on loopback and make it ask.

use std::fs;
use std::path::Path;

use serde_json::json;

/// Variables by name and value.
type Variables = Vec<(String, String)>;

/// Claude Code: everything is a variable.
pub(super) fn claude(home: &Path, model_url: &str) -> Variables {
    let of_home = [("HOME", home), ("CLAUDE_CONFIG_DIR", &home.join(".claude"))];
    let rest = [
        ("ANTHROPIC_BASE_URL", model_url),
        ("ANTHROPIC_API_KEY", "unused"),
        ("ANTHROPIC_MODEL", "stub"),
        ("ANTHROPIC_DEFAULT_HAIKU_MODEL", "stub"),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        // It refuses some modes to root unless it is told that this is no machine to lose.
        ("IS_SANDBOX", "1"),
    ];
    variables(&of_home, &rest)
}

/// Codex: a configuration file with a provider.
pub(super) fn codex(home: &Path, model_base_url: &str) -> Variables {
    let directory = home.join(".codex");
    write(
        &directory.join("config.toml"),
        &format!(
            r#"model = "stub"
model_provider = "stub"
approval_policy = "on-request"
check_for_update_on_startup = false

[model_providers.stub]
name = "Stub"
base_url = "{model_base_url}"
wire_api = "responses"

[analytics]
enabled = false
"#
        ),
    );
    variables(&[("HOME", home), ("CODEX_HOME", &directory)], &[])
}

/// Gemini: a settings file that says how it signs in, and variables.
pub(super) fn gemini(home: &Path, model_url: &str) -> Variables {
    let settings = json!({
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": false},
        "general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
        "telemetry": {"enabled": false},
    });
    write(&home.join(".gemini/settings.json"), &settings.to_string());
    let rest = [
        ("GEMINI_API_KEY", "unused"),
        ("GOOGLE_GEMINI_BASE_URL", model_url),
        // Left to choose, it asks a model which model to ask, and asks again and again for JSON that the stub has not.
        ("GEMINI_MODEL", "gemini-2.5-pro"),
        // It would start itself again for more memory.
        ("GEMINI_CLI_NO_RELAUNCH", "true"),
    ];
    variables(&[("HOME", home)], &rest)
}

fn variables(paths: &[(&str, &Path)], texts: &[(&str, &str)]) -> Variables {
    let paths = paths
        .iter()
        .map(|(name, path)| (*name, path.to_string_lossy().into_owned()));
    let texts = texts.iter().map(|(name, text)| (*name, (*text).to_owned()));
    paths
        .chain(texts)
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

fn write(path: &Path, content: &str) {
    let directory = path.parent().expect("the path is below a home directory");
    fs::create_dir_all(directory).expect("the home directory can be written");
    fs::write(path, content).expect("the home directory can be written");
}
