//! Pages of other sites, rebound names and odd `Host` headers.

use countersign_core::grant::Role;
use http::Method;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use countersign_server::ServerSettings;

use crate::client::PATIENCE;
use crate::stage::Stage;

#[tokio::test]
async fn a_rebound_name_reaches_nothing_that_a_browser_opens_by_itself() {
    let stage = Stage::new().await;
    let browser = stage.browser(Role::Owner).await;
    let nobody = stage.nobody();
    let bearer = stage.client(Role::Owner).await;
    let port = stage.address.port();
    for host in [
        "evil.example".to_owned(),
        format!("evil.example:{port}"),
        format!("127.0.0.1:{}", port + 1),
        "127.0.0.1".to_owned(),
        format!("127.0.0.1.evil.example:{port}"),
    ] {
        for path in ["/api/v1/me", "/app/", "/healthz", "/", "/api/openapi.json"] {
            for client in [&browser, &nobody] {
                let reply = client.with("host", &host).get(path).await;
                assert_eq!(
                    (reply.status, reply.code().as_str()),
                    (403, "forbidden_origin")
                );
            }
        }
        let pair = bearer
            .with("host", &host)
            .post("/api/v1/pair", &json!({ "code": "x" }))
            .await;
        assert_eq!(pair.status, 403, "pairing is checked whatever comes along");
        assert_eq!(
            bearer.with("host", &host).get("/api/v1/me").await.status,
            403,
            "a token does not make the name one of ours"
        );
    }
    for host in [
        format!("localhost:{port}"),
        format!("LOCALHOST:{port}"),
        format!("[::1]:{port}"),
    ] {
        assert_eq!(
            browser.with("host", &host).get("/api/v1/me").await.status,
            200,
            "{host}"
        );
    }
}

#[tokio::test]
async fn a_request_names_its_host_once() {
    let stage = Stage::new().await;
    let client = stage.client(Role::Owner).await;
    let address = stage.address.to_string();
    for odd in [
        client.without("host"),
        client.with_another("host", &address),
        client.with_another("host", "evil.example"),
        client.with("host", "me@127.0.0.1"),
        client.with("host", ""),
    ] {
        let reply = odd.get("/api/v1/me").await;
        assert_eq!((reply.status, reply.code().as_str()), (400, "bad_request"));
    }
    let absolute = client.get(&format!("http://{address}/api/v1/me")).await;
    assert_eq!(absolute.status, 400);
    assert_eq!(
        raw(&stage, "GET /healthz HTTP/1.0\r\n\r\n")
            .await
            .split(' ')
            .nth(1),
        Some("400")
    );
}

/// What the server says to bytes that no client library would send.
async fn raw(stage: &Stage, request: &str) -> String {
    let mut stream = TcpStream::connect(stage.address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut said = String::new();
    let reading = stream.read_to_string(&mut said);
    tokio::time::timeout(PATIENCE, reading)
        .await
        .unwrap()
        .unwrap();
    said
}

#[tokio::test]
async fn a_head_that_is_too_long_is_refused() {
    let stage = Stage::new().await;
    let long = "x".repeat(32 << 10);
    let said = raw(
        &stage,
        &format!("GET /healthz HTTP/1.1\r\nhost: a\r\nx: {long}\r\n\r\n"),
    )
    .await;
    assert_eq!(said.split(' ').nth(1), Some("431"), "{said}");
    let said = raw(&stage, "\u{16}\u{3}\u{1}nonsense\r\n\r\n").await;
    assert_eq!(said.split(' ').nth(1), Some("400"), "{said}");
}

#[tokio::test]
async fn a_page_of_another_site_cannot_use_the_cookie() {
    let stage = Stage::new().await;
    let browser = stage.browser(Role::Owner).await;
    let ours = format!("http://{}", stage.address);
    let ask = stage.ask("make").await.id;
    let path = format!("/api/v1/asks/{ask}/answer");
    let answer = json!({ "answer": "allow_once" });

    for origin in [
        "https://evil.example",
        "null",
        "http://localhost:3000",
        "http://127.0.0.1",
    ] {
        for page in [
            browser.with("origin", origin),
            browser
                .with("origin", origin)
                .with("sec-fetch-site", "same-origin"),
        ] {
            assert_eq!(
                page.post(&path, &answer).await.code(),
                "forbidden_origin",
                "{origin}"
            );
            assert_eq!(page.get("/api/v1/asks").await.status, 403, "{origin}");
        }
    }
    for site in ["cross-site", "same-site", "something-new"] {
        let page = browser.with("sec-fetch-site", site);
        assert_eq!(page.get("/api/v1/asks").await.status, 403, "{site}");
        let page = page.with("origin", &ours);
        assert_eq!(page.post(&path, &answer).await.status, 403, "{site}");
    }
    let silent = browser.post(&path, &answer).await;
    assert_eq!(
        silent.status, 403,
        "a change needs to show which page it comes from"
    );
    let typed = browser
        .with("sec-fetch-site", "none")
        .post(&path, &answer)
        .await;
    assert_eq!(typed.status, 403);
    let open = browser
        .with("sec-fetch-site", "same-origin")
        .get("/api/v1/asks?state=open")
        .await;
    assert_eq!(
        open.json()["asks"].as_array().unwrap().len(),
        1,
        "nothing was answered"
    );

    let text = browser
        .with("origin", &ours)
        .with("content-type", "text/plain");
    let reply = text.send(Method::POST, &path, answer.to_string()).await;
    assert_eq!(
        (reply.status, reply.code().as_str()),
        (415, "unsupported_media_type")
    );

    let fetched = browser
        .with("sec-fetch-site", "same-origin")
        .post(&path, &answer)
        .await;
    assert_eq!(fetched.status, 200);
    assert_eq!(
        browser
            .with("origin", &ours)
            .post(&path, &answer)
            .await
            .status,
        200
    );
}

#[tokio::test]
async fn no_response_lets_other_sites_in() {
    let stage = Stage::new().await;
    let client = stage
        .client(Role::Owner)
        .await
        .with("origin", "https://evil.example");
    for path in ["/api/v1/me", "/api/v1/asks", "/nothing"] {
        let reply = client.get(path).await;
        let cors = reply
            .headers
            .keys()
            .find(|name| name.as_str().starts_with("access-control"));
        assert_eq!(cors, None);
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(reply.header("x-frame-options"), Some("DENY"));
        assert!(
            reply
                .header("content-security-policy")
                .unwrap()
                .contains("frame-ancestors 'none'")
        );
    }
    let preflight = stage
        .nobody()
        .with("origin", &format!("http://{}", stage.address))
        .with("access-control-request-method", "POST")
        .send(Method::OPTIONS, "/api/v1/asks", "")
        .await;
    assert_eq!(preflight.status, 405);
}

#[tokio::test]
async fn a_public_host_is_ours_too() {
    let settings = ServerSettings {
        public_hosts: vec!["countersign.example".to_owned()],
        ..ServerSettings::default()
    };
    let stage = Stage::with(settings).await;
    let page = stage
        .nobody()
        .with("host", "countersign.example")
        .with("origin", "https://countersign.example");
    assert_eq!(page.get("/app/").await.status, 200);
    assert_eq!(
        page.with("host", "other.example").get("/app/").await.status,
        403
    );
}
