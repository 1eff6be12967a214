//! The configuration file, with other workspaces in it. All else that it says stays, and so do its rights: it may have
//! secrets in it.

use std::error::Error;
use std::path::Path;

use countersign_workspace::beneath::Root;
use serde_json::{Map, Value, json};

use crate::roster::Entry;
use crate::settings::resolve;

/// Writes the workspaces and the folders that may be served into the file `path`, as a whole.
pub(super) fn write(
    path: &Path,
    entries: &[Entry],
    roots: &[String],
) -> Result<(), Box<dyn Error + Send + Sync>> {
    // Whoever names the file trusts the links on the way to it.
    let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut whole: Map<String, Value> = match std::fs::read(&real) {
        // What cannot be read is not overwritten: somebody is editing it, perhaps.
        Ok(text) => serde_json::from_slice(&text)?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Map::new(),
        Err(error) => return Err(error.into()),
    };
    let before = match whole.remove("workspaces") {
        Some(Value::Array(before)) => before,
        Some(_) | None => Vec::new(),
    };
    let base = path.parent().unwrap_or(Path::new("/"));
    let workspaces = entries.iter().map(|entry| in_file(entry, &before, base));
    let workspaces = workspaces.collect();
    whole.insert("workspaces".to_owned(), Value::Array(workspaces));
    whole.insert("authorizedRoots".to_owned(), json!(roots));
    let text = serde_json::to_string_pretty(&whole)?;
    let (Some(folder), Some(name)) = (real.parent(), real.file_name()) else {
        return Err("the configuration file has no place".into());
    };
    std::fs::create_dir_all(folder)?;
    let root = Root::open(folder)?;
    Ok(root.replace(name.as_ref(), format!("{text}\n").as_bytes())?)
}

/// A workspace as the file names it: with what it said of it before, such as where its opencode is.
fn in_file(entry: &Entry, before: &[Value], base: &Path) -> Value {
    let is_this = |known: &&Value| {
        let path = known.get("path").and_then(Value::as_str);
        path.is_some_and(|path| resolve(base, path) == Path::new(&entry.path))
    };
    let mut written = match before.iter().find(is_this) {
        Some(known) => known.clone(),
        None => json!({ "path": entry.path }),
    };
    written["name"] = json!(entry.name);
    written["workspaceType"] = json!(entry.workspace_type);
    if entry.is_for_owners {
        written["collaboratorsAnswer"] = Value::Bool(false);
    }
    written
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::roster::Opencode;

    #[test]
    fn what_else_the_file_says_stays_and_nobody_else_can_read_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("server.json");
        let said = json!({
            "token": "t",
            "workspaces": [{ "path": "a", "baseUrl": "http://o", "opencodePassword": "p", "name": "A" }],
        });
        std::fs::write(&path, said.to_string()).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        let entry = |name: &str, below: &str| Entry {
            id: String::new(),
            name: name.to_owned(),
            path: folder.path().join(below).to_str().unwrap().to_owned(),
            workspace_type: "local".to_owned(),
            opencode: Opencode::default(),
            is_for_owners: false,
        };
        let roots = ["/r".to_owned()];
        write(&path, &[entry("New", "b"), entry("Other", "a")], &roots).unwrap();
        let read: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        assert_eq!(read["token"], "t");
        assert_eq!(read["authorizedRoots"], json!(["/r"]));
        assert_eq!(
            read["workspaces"][1],
            json!({ "path": "a", "baseUrl": "http://o", "opencodePassword": "p", "name": "Other", "workspaceType": "local" })
        );
        assert_eq!(read["workspaces"][0]["name"], "New");
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        // What cannot be read is left alone.
        std::fs::write(&path, "{ half").unwrap();
        write(&path, &[], &[]).unwrap_err();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{ half");
    }
}
