//! Files of a workspace: in sessions, one by one, in and out.

use serde_json::json;

use crate::server::{By, Server};
use crate::wire;

#[test]
fn a_file_session_reads_writes_and_tells_what_changed() {
    let server = Server::start(&["--approval", "auto"]);
    let opened = server.good(
        By::Client,
        "POST",
        &server.path("/files/sessions"),
        Some(&json!({ "ttlSeconds": 60 })),
    );
    let id = opened["session"]["id"].as_str().unwrap();
    assert_eq!(opened["session"]["canWrite"], true);
    let post = |act: &str, body| {
        server.good(
            By::Client,
            "POST",
            &format!("/files/sessions/{id}/{act}"),
            Some(&body),
        )
    };
    let written = post(
        "write-batch",
        json!({ "writes": [
        { "path": "docs/a.md", "contentBase64": "aGk=" },
        { "path": "opencode.jsonc", "contentBase64": "aGk=", "ifMatchRevision": "1:1" },
    ] }),
    );
    assert_eq!(written["items"][0]["code"], "conflict");
    assert_eq!(written["items"][1]["ok"], true);
    let read = post(
        "read-batch",
        json!({ "paths": ["docs/a.md", "missing.md"] }),
    );
    assert_eq!(read["items"][0]["contentBase64"], "aGk=");
    assert_eq!(read["items"][1]["code"], "file_not_found");
    let done = post(
        "ops",
        json!({ "operations": [
        { "type": "mkdir", "path": "d1" },
        { "type": "rename", "from": "docs/a.md", "to": "d1/b.md" },
        { "type": "delete", "path": "d1/b.md" },
        { "type": "zap" },
    ] }),
    );
    let outcomes: Vec<_> = done["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["ok"] == true)
        .collect();
    assert_eq!(outcomes, [true, true, true, false]);
    let told = server.get(&format!("/files/sessions/{id}/catalog/events?since=1"));
    assert_eq!(told["items"].as_array().unwrap().len(), 3);
    let listed = server.get(&format!(
        "/files/sessions/{id}/catalog/snapshot?prefix=.opencode/commands&limit=2"
    ));
    assert_eq!(
        (
            listed["items"].as_array().unwrap().len(),
            &listed["truncated"]
        ),
        (2, &json!(true))
    );
    let owner = server.good(
        By::Host,
        "POST",
        "/tokens",
        Some(&json!({ "scope": "owner" })),
    );
    let other = By::Bearer(owner["token"].as_str().unwrap());
    let path = format!("/files/sessions/{id}");
    assert_eq!(server.refused(other, "DELETE", &path, None).0, 403);
    server.good(By::Client, "DELETE", &path, None);
    assert_eq!(
        server.refused(By::Client, "DELETE", &path, None),
        (404, "file_session_not_found".to_owned())
    );
}

#[test]
fn no_link_leads_out_of_the_workspace() {
    let server = Server::start(&["--approval", "auto"]);
    let workspace = server.root().join("ws1");
    std::fs::write(server.root().join("secret.md"), "secret").unwrap();
    std::os::unix::fs::symlink("../secret.md", workspace.join("leak.md")).unwrap();
    std::os::unix::fs::symlink("..", workspace.join("up")).unwrap();
    for path in ["leak.md", "up/secret.md"] {
        for act in ["content", "raw"] {
            let response = server.send(
                By::Client,
                "GET",
                &server.path(&format!("/files/{act}?path={path}")),
                None,
            );
            assert!(
                response.status >= 400 && !response.body.contains("secret\""),
                "{}",
                response.body
            );
        }
        let body = json!({ "path": path, "content": "overwritten" });
        let response = server.send(
            By::Client,
            "POST",
            &server.path("/files/content"),
            Some(&body),
        );
        let kept = std::fs::read_to_string(server.root().join("secret.md")).unwrap();
        assert_eq!(kept, "secret", "{path}: {}", response.status);
    }
}

#[test]
fn what_is_uploaded_is_in_the_inbox_and_what_agents_leave_can_be_fetched() {
    let server = Server::start(&["--approval", "auto"]);
    let form = "----b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"note.txt\"\r\n\r\nhello\r\n----b--\r\n";
    let mut headers = By::Client.headers();
    headers.push((
        "Content-Type".to_owned(),
        "multipart/form-data; boundary=--b".to_owned(),
    ));
    let upload = |query: &str| {
        let path = server.path(&format!("/inbox{query}"));
        wire::send(server.port(), "POST", &path, &headers, Some(form)).unwrap()
    };
    assert_eq!(upload("").status, 200);
    assert_eq!(upload("?path=sub/dir/n2.txt").status, 200);
    assert_eq!(upload("?path=../../evil.txt").status, 400);
    let listed = server.get(&server.path("/inbox"));
    assert_eq!(listed["items"].as_array().unwrap().len(), 2);
    let fetched = server.send(By::Client, "GET", &server.path("/inbox/bm90ZS50eHQ"), None);
    assert_eq!((fetched.status, fetched.body.as_str()), (200, "hello"));
    assert!(
        fetched
            .header("content-disposition")
            .unwrap()
            .starts_with("attachment")
    );
    let outbox = server.root().join("ws1/.opencode/openwork/outbox/sub");
    std::fs::create_dir_all(&outbox).unwrap();
    std::fs::write(outbox.join("out.md"), "artifact").unwrap();
    let listed = server.get(&server.path("/artifacts"));
    assert_eq!(listed["items"][0]["id"], "c3ViL291dC5tZA");
    let fetched = server.send(
        By::Client,
        "GET",
        &server.path("/artifacts/c3ViL291dC5tZA"),
        None,
    );
    assert_eq!(fetched.body, "artifact");
    // `../../x`
    let refused = server.refused(
        By::Client,
        "GET",
        &server.path("/artifacts/Li4vLi4veA"),
        None,
    );
    assert_eq!(refused, (400, "invalid_artifact".to_owned()));
}

#[test]
fn an_import_is_looked_at_before_it_is_done() {
    let server = Server::start(&["--approval", "auto", "--compat", "0.13"]);
    let mut body =
        json!({ "skills": [{ "name": "imp-skill", "content": "b", "description": "d" }] });
    let path = server.path("/import");
    let refused = server.refused(By::Client, "POST", &path, Some(&body));
    assert_eq!(
        refused,
        (409, "workspace_import_preview_required".to_owned())
    );
    let preview = server.good(
        By::Client,
        "POST",
        &server.path("/import/preview"),
        Some(&body),
    );
    assert_eq!(preview["summary"]["create"], 1);
    body["previewFingerprint"] = preview["fingerprint"].clone();
    server.good(By::Client, "POST", &path, Some(&body));
    let refused = server.refused(By::Client, "POST", &path, Some(&body));
    assert_eq!(refused, (409, "workspace_import_preview_stale".to_owned()));
}

#[test]
fn any_bytes_are_written_unless_somebody_was_there_meanwhile() {
    let server = Server::start(&["--approval", "auto"]);
    let path = server.path("/files/raw");
    let post = |body| server.send(By::Client, "POST", &path, Some(&body));
    let written = server.good(
        By::Client,
        "POST",
        &path,
        // Bytes that are no text.
        Some(&json!({ "path": "out/picture.png", "dataBase64": "/wD+" })),
    );
    let file = server.root().join("ws1/out/picture.png");
    assert_eq!(std::fs::read(&file).unwrap(), [0xff, 0x00, 0xfe]);
    assert_eq!(written["bytes"], 3);
    let known = &written["updatedAt"];
    let body =
        |base| json!({ "path": "out/picture.png", "dataBase64": "AA==", "baseUpdatedAt": base });
    assert_eq!(post(body(json!(1))).status, 409);
    assert_eq!(std::fs::read(&file).unwrap().len(), 3);
    assert_eq!(post(body(known.clone())).status, 200);
    assert_eq!(std::fs::read(&file).unwrap(), [0]);
    for (path, data) in [
        ("../out.png", json!("AA==")),
        ("out.png", json!("no base64!")),
        ("out.png", json!(5)),
    ] {
        let response = post(json!({ "path": path, "dataBase64": data }));
        assert_eq!(response.status, 400, "{}", response.body);
    }
    let audit = server.get(&server.path("/audit"));
    assert_eq!(audit["items"].as_array().unwrap().len(), 2);
    assert_eq!(audit["items"][0]["summary"], "Wrote out/picture.png");
}
