//! Writes the Rust source of the table of assets.

use std::{collections::BTreeSet, fmt::Write as _, fs, path::Path};

use sha2::{Digest as _, Sha256};

use super::{Outcome, files};

/// What the table lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The app.
    Built,
    /// The page that stands in for it.
    Placeholder,
}

/// The source of the table of all files in `app`, sorted by path; `name.br` is the brotli form of `name`.
///
/// The source expects the same files in `OUT_DIR`/app.
pub(crate) fn render(app: &Path, origin: Origin) -> Outcome<String> {
    let mut names = BTreeSet::new();
    for file in files::below(app)? {
        let name = file
            .strip_prefix(app)?
            .to_str()
            .ok_or("an asset's name is not UTF-8")?;
        names.insert(name.to_owned());
    }

    let mut table = String::from("static ASSETS: &[Asset] = &[\n");
    for name in names.iter().filter(|name| !is_brotli(name)) {
        let content_type = content_type(name)?;
        let bytes = include(name);
        let compressed = format!("{name}.br");
        let brotli = if names.contains(&compressed) {
            format!("Some({})", include(&compressed))
        } else {
            "None".into()
        };
        let etag = etag(&fs::read(app.join(name))?)?;
        let immutable = is_immutable(name);
        writeln!(
            table,
            "    Asset {{ path: {name:?}, content_type: {content_type:?}, bytes: {bytes}, \
             brotli: {brotli}, etag: {etag:?}, immutable: {immutable} }},"
        )?;
    }
    table.push_str("];\n");
    writeln!(
        table,
        "const PLACEHOLDER: bool = {};",
        origin == Origin::Placeholder
    )?;
    Ok(table)
}

fn include(name: &str) -> String {
    format!(
        "include_bytes!(concat!(env!(\"OUT_DIR\"), {:?}))",
        format!("/app/{name}")
    )
}

fn is_brotli(name: &str) -> bool {
    extension(name) == "br"
}

/// Vite puts only files with a hash of their content in the name into `assets/`.
fn is_immutable(name: &str) -> bool {
    name.starts_with("assets/")
}

/// A kind of file that is not listed is an error: guessing would have it blocked in the browser, by `nosniff`.
fn content_type(name: &str) -> Outcome<&'static str> {
    Ok(match extension(name) {
        "css" => "text/css; charset=utf-8",
        "html" => "text/html; charset=utf-8",
        "ico" => "image/x-icon",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "json" | "map" => "application/json",
        "mp3" => "audio/mpeg",
        "ogg" => "audio/ogg",
        "png" => "image/png",
        "svg" => "image/svg+xml",
        "txt" => "text/plain; charset=utf-8",
        "wasm" => "application/wasm",
        "webmanifest" => "application/manifest+json",
        "webp" => "image/webp",
        "woff2" => "font/woff2",
        _ => {
            return Err(
                format!("`{name}` has no content type: add its kind to {}", file!()).into(),
            );
        }
    })
}

fn extension(name: &str) -> &str {
    Path::new(name)
        .extension()
        .and_then(|extension| extension.to_str())
        .unwrap_or("")
}

/// A weak validator, so that it holds for the plain and the compressed form alike.
fn etag(content: &[u8]) -> Outcome<String> {
    let mut tag = String::from("W/\"");
    for byte in Sha256::digest(content).iter().take(16) {
        write!(tag, "{byte:02x}")?;
    }
    tag.push('"');
    Ok(tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn app(files: &[&str]) -> tempfile::TempDir {
        let app = tempfile::tempdir().unwrap();
        for name in files {
            let file = app.path().join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, name).unwrap();
        }
        app
    }

    #[test]
    fn a_brotli_file_belongs_to_its_plain_file() {
        let app = app(&["index.html", "assets/a-1.js", "assets/a-1.js.br"]);

        let table = render(app.path(), Origin::Built).unwrap();

        assert_eq!(table.matches("Asset {").count(), 2);
        assert_eq!(table.matches("a-1.js.br\")))").count(), 1);
        assert!(table.contains("brotli: None"), "{table}");
    }

    #[test]
    fn the_table_is_sorted_by_path() {
        let app = app(&[
            "index.html",
            "assets/z.js",
            "assets/a/b.js",
            "assets/a-b.js",
        ]);

        let table = render(app.path(), Origin::Built).unwrap();

        let paths: Vec<&str> = table
            .split("path: \"")
            .skip(1)
            .filter_map(|row| row.split('"').next())
            .collect();
        assert_eq!(
            paths,
            [
                "assets/a-b.js",
                "assets/a/b.js",
                "assets/z.js",
                "index.html"
            ]
        );
    }

    #[test]
    fn only_what_has_its_hash_in_its_name_is_immutable() {
        assert!(is_immutable("assets/index-C1Qg-pbX.js"));
        assert!(!is_immutable("index.html"));
        assert!(!is_immutable("sw.js"));
    }

    #[test]
    fn an_unknown_kind_of_file_stops_the_build() {
        let app = app(&["index.html", "notes.docx"]);

        let error = render(app.path(), Origin::Built).unwrap_err();

        assert!(error.to_string().contains("notes.docx"), "{error}");
    }

    #[test]
    fn the_etag_is_the_start_of_the_contents_sha_256() {
        assert_eq!(
            etag(b"abc").unwrap(),
            "W/\"ba7816bf8f01cfea414140de5dae2223\""
        );
    }
}
