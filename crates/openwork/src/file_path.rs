//! Paths that clients name, below a workspace.

use std::path::PathBuf;

use crate::refusal::Refusal;

/// The path that a client means, without leading slashes, `./` and `workspace/`, which many put before it.
pub(crate) fn relative(input: &str) -> Result<String, Refusal> {
    let text = input.trim();
    if text.contains('\0') {
        return Err(invalid("Path contains null byte"));
    }
    let text = text.replace('\\', "/");
    let text = text.trim_start_matches('/');
    let text = text.strip_prefix("./").unwrap_or(text);
    let text = text.strip_prefix("workspace/").unwrap_or(text);
    let parts: Vec<_> = text.split('/').filter(|part| !part.is_empty()).collect();
    if parts.is_empty() {
        return Err(invalid("Path is required"));
    }
    if parts.iter().any(|part| matches!(*part, "." | "..")) {
        return Err(invalid("Path traversal is not allowed"));
    }
    Ok(parts.join("/"))
}

/// Where the files of a client come in, below the workspace.
pub(crate) fn in_inbox(path: &str) -> PathBuf {
    PathBuf::from(".opencode/openwork/inbox").join(path)
}

/// Where an agent puts files for clients, below the workspace.
pub(crate) fn in_outbox(path: &str) -> PathBuf {
    PathBuf::from(".opencode/openwork/outbox").join(path)
}

fn invalid(message: &'static str) -> Refusal {
    Refusal::new(400, "invalid_path", message)
}

/// Whether a file of that name is text that is shown and edited in a page.
pub(crate) fn is_text(path: &str) -> bool {
    const ENDINGS: [&str; 40] = [
        "md", "mdx", "markdown", "csv", "tsv", "json", "jsonc", "yaml", "yml", "toml", "xml",
        "html", "htm", "ts", "tsx", "js", "jsx", "mjs", "cjs", "css", "scss", "txt", "log", "bash",
        "sh", "c", "cpp", "cs", "go", "graphql", "h", "java", "kt", "lua", "php", "py", "rb", "rs",
        "sql", "swift",
    ];
    ending(path).is_some_and(|ending| ENDINGS.contains(&ending.as_str()))
}

/// The type under which a file is handed out. What a browser would run as a page of ours is handed out as text.
pub(crate) fn content_type(path: &str) -> &'static str {
    match ending(path).as_deref() {
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("gif") => "image/gif",
        Some("webp") => "image/webp",
        Some("pdf") => "application/pdf",
        Some("csv") => "text/csv; charset=utf-8",
        _ if is_text(path) => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

fn ending(path: &str) -> Option<String> {
    let name = path.rsplit('/').next()?;
    let (_, ending) = name.rsplit_once('.')?;
    Some(ending.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_stays_below_and_loses_what_is_before_it() {
        for (input, path) in [
            ("a/b.md", "a/b.md"),
            ("/a//b.md", "a/b.md"),
            ("./workspace/a", "a"),
            ("/workspace/a", "a"),
            ("a\\b", "a/b"),
        ] {
            assert_eq!(relative(input).unwrap(), path, "{input}");
        }
        for input in ["", "  ", "/", "../a", "a/../b", "a/./b", "a\0b"] {
            assert_eq!(
                relative(input).unwrap_err().code,
                "invalid_path",
                "{input:?}"
            );
        }
    }

    #[test]
    fn no_page_is_handed_out_as_a_page() {
        assert_eq!(content_type("a/x.html"), "text/plain; charset=utf-8");
        assert_eq!(content_type("a/x.svg"), "application/octet-stream");
        assert_eq!(content_type("a/x.PNG"), "image/png");
    }
}
