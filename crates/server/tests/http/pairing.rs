//! Browsers: paired once by a code, known by a cookie, signed out.

use countersign_core::grant::Role;
use countersign_server::{PathPrefix, ServerSettings};
use serde_json::json;

use crate::client::Client;
use crate::stage::Stage;

#[tokio::test]
async fn a_code_pairs_one_browser_once() {
    let stage = Stage::new().await;
    let code = stage.code(Role::Collaborator).await;
    let paired = stage.pair(&code).await;
    assert_eq!(paired.status, 200);
    assert_eq!(paired.json()["surface"], "web");
    let cookie = paired.header("set-cookie").unwrap();
    let name = format!("countersign_{}=cs_", stage.address.port());
    for part in [
        name.as_str(),
        "HttpOnly",
        "SameSite=Strict",
        "Path=/",
        "Max-Age=",
    ] {
        assert!(cookie.contains(part), "no {part} in {cookie}");
    }
    assert!(
        !cookie.contains("Secure"),
        "a plain connection would never send it back"
    );
    assert!(
        !String::from_utf8_lossy(&paired.body).contains("cs_"),
        "scripts never see it"
    );

    for code in [&code, "wrong", ""] {
        let again = stage.pair(code).await;
        assert_eq!((again.status, again.code().as_str()), (410, "over"));
        assert_eq!(again.header("set-cookie"), None);
    }
}

#[tokio::test]
async fn the_link_leads_to_where_browsers_find_the_server() {
    let stage = Stage::new().await;
    let new = json!({ "name": "ada", "role": "owner" });
    let by_socket = Client::local(&stage.socket)
        .post("/api/v1/pairings", &new)
        .await
        .json();
    let prefix = format!("http://127.0.0.1:{}/app/#pair=", stage.address.port());
    assert!(
        by_socket["link"].as_str().unwrap().starts_with(&prefix),
        "{by_socket}"
    );
    let agent = json!({ "name": "ada", "role": "agent" });
    assert_eq!(
        Client::local(&stage.socket)
            .post("/api/v1/pairings", &agent)
            .await
            .status,
        422
    );

    // A name that is not ours never gets into a link.
    let owner = stage.client(Role::Owner).await;
    let lured = owner
        .with("host", "evil.example")
        .post("/api/v1/pairings", &new)
        .await;
    assert_eq!(
        (lured.status, lured.code().as_str()),
        (403, "forbidden_origin")
    );
}

#[tokio::test]
async fn behind_a_proxy_that_speaks_https_the_cookie_is_for_https_alone() {
    for (behind_proxy, secure) in [(true, true), (false, false)] {
        let stage = Stage::with(ServerSettings {
            behind_proxy,
            ..ServerSettings::default()
        })
        .await;
        let code = stage.code(Role::Viewer).await;
        let paired = stage
            .nobody()
            .with("x-forwarded-proto", "https")
            .post("/api/v1/pair", &json!({ "code": code }))
            .await;
        let cookie = paired.header("set-cookie").unwrap();
        assert_eq!(cookie.contains("; Secure"), secure, "{cookie}");
    }
}

#[tokio::test]
async fn below_a_path_prefix_links_cookies_and_redirects_are_below_it_too() {
    let stage = Stage::with(ServerSettings {
        path_prefix: PathPrefix::read("/some/prefix/").unwrap(),
        ..ServerSettings::default()
    })
    .await;
    let new = json!({ "name": "ada", "role": "owner" });
    let made = Client::local(&stage.socket)
        .post("/api/v1/pairings", &new)
        .await
        .json();
    let link = made["link"].as_str().unwrap();
    assert!(link.contains("/some/prefix/app/#pair="), "{link}");
    let code = json!({ "code": made["code"] });
    let page = stage
        .nobody()
        .with("origin", &format!("http://{}", stage.address));
    // One proxy leaves the prefix on, another takes it off.
    let paired = page.post("/some/prefix/api/v1/pair", &code).await;
    assert_eq!(paired.status, 200, "{paired:?}");
    let cookie = paired.header("set-cookie").unwrap();
    assert!(cookie.contains("; Path=/some/prefix/;"), "{cookie}");
    for path in ["/", "/some/prefix", "/some/prefix/", "/some/prefix/app"] {
        let reply = stage.nobody().get(path).await;
        let to = (reply.status, reply.header("location"));
        assert_eq!(to, (307, Some("/some/prefix/app/")), "{path}");
    }
    for path in ["/app/", "/some/prefix/app/"] {
        assert_eq!(stage.nobody().get(path).await.status, 200, "{path}");
    }
    let beside = stage.nobody().get("/some/prefixed/app/").await;
    assert_eq!(beside.status, 404);
}

#[tokio::test]
async fn signing_out_ends_the_cookie() {
    let stage = Stage::new().await;
    let browser = stage.browser(Role::Owner).await;
    let page = browser.with("origin", &format!("http://{}", stage.address));
    assert_eq!(page.get("/api/v1/me").await.status, 200);
    let out = page.post("/api/v1/sign-out", &json!({})).await;
    assert_eq!(out.status, 204);
    assert!(out.header("set-cookie").unwrap().contains("Max-Age=0"));
    assert_eq!(page.get("/api/v1/me").await.code(), "unauthorized");

    let program = stage.client(Role::Owner).await;
    assert_eq!(
        program.post("/api/v1/sign-out", &json!({})).await.code(),
        "conflict"
    );
    assert_eq!(program.get("/api/v1/me").await.status, 200);
}

#[tokio::test]
async fn a_secret_opens_only_the_door_it_was_made_for() {
    let stage = Stage::new().await;
    let token = stage.token(Role::Owner).await;
    let name = format!("countersign_{}", stage.address.port());
    let as_cookie = stage
        .nobody()
        .with("cookie", &format!("{name}={token}"))
        .with("x-countersign-page", "0");
    assert_eq!(as_cookie.get("/api/v1/me").await.status, 401);

    let paired = stage.pair(&stage.code(Role::Owner).await).await;
    let cookie = paired.header("set-cookie").unwrap();
    let secret = cookie.split([';', '=']).nth(1).unwrap();
    let as_bearer = stage
        .nobody()
        .with("authorization", &format!("Bearer {secret}"));
    assert_eq!(as_bearer.get("/api/v1/me").await.status, 401);
    assert_eq!(
        stage
            .nobody()
            .get(&format!("/api/v1/me?token={token}"))
            .await
            .status,
        401
    );
}

#[tokio::test]
async fn neither_half_of_a_browsers_secret_opens_anything() {
    let stage = Stage::new().await;
    let paired = stage.pair(&stage.code(Role::Owner).await).await;
    let cookie = paired.header("set-cookie").unwrap();
    let (cookie, _) = cookie.split_once(';').unwrap();
    let body = paired.json();
    let page_key = body["page_key"].as_str().unwrap();

    // What another server on this host sees: the cookie, and whatever headers it likes to forge.
    let thief = stage.nobody().with("cookie", cookie);
    assert_eq!(thief.get("/api/v1/me").await.status, 401);
    let guessing = thief.with("x-countersign-page", &"0".repeat(64));
    assert_eq!(guessing.get("/api/v1/me").await.status, 401);
    // What a script in the page could read.
    let script = stage.nobody().with("x-countersign-page", page_key);
    assert_eq!(script.get("/api/v1/me").await.status, 401);
    let whole = stage
        .nobody()
        .with("cookie", cookie)
        .with("x-countersign-page", page_key);
    assert_eq!(whole.get("/api/v1/me").await.status, 200);
}
