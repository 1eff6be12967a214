//! The web app's files, and the page to read the API.

use crate::stage::Stage;

#[tokio::test]
async fn the_root_leads_to_the_app() {
    let stage = Stage::new().await;
    for path in ["/", "/app"] {
        let reply = stage.nobody().get(path).await;
        assert_eq!(
            (reply.status, reply.header("location")),
            (307, Some("app/"))
        );
    }
    let index = stage.nobody().get("/app/").await;
    assert_eq!(index.status, 200);
    assert_eq!(
        index.header("content-type"),
        Some(countersign_web::index().content_type)
    );
    assert_eq!(index.header("cache-control"), Some("no-cache"));
    assert_eq!(index.body, countersign_web::index().bytes);
}

#[tokio::test]
async fn every_file_is_served_as_it_is_and_not_sent_twice() {
    let stage = Stage::new().await;
    let client = stage.nobody();
    for asset in countersign_web::assets() {
        let path = format!("/app/{}", asset.path);
        let plain = client.get(&path).await;
        assert_eq!(
            (plain.status, &plain.body[..]),
            (200, asset.bytes),
            "{path}"
        );
        assert_eq!(plain.header("content-encoding"), None);
        let lasting = plain.header("cache-control").unwrap().contains("immutable");
        assert_eq!(lasting, asset.immutable);

        let small = client.with("accept-encoding", "gzip, br").get(&path).await;
        assert_eq!(&small.body[..], asset.brotli.unwrap_or(asset.bytes));
        let coding = asset.brotli.map(|_| "br");
        assert_eq!(small.header("content-encoding"), coding);

        let etag = plain.header("etag").unwrap();
        for known in [etag, &format!("\"other\", {etag}"), "*"] {
            let again = client.with("if-none-match", known).get(&path).await;
            assert_eq!((again.status, again.body.len()), (304, 0), "{known}");
        }
        let changed = client.with("if-none-match", "\"other\"").get(&path).await;
        assert_eq!(changed.status, 200);
    }
}

#[tokio::test]
async fn the_api_can_be_read_without_a_token() {
    let stage = Stage::new().await;
    for (path, content_type) in [
        ("/api/openapi.json", "application/json"),
        ("/api/docs", "text/html; charset=utf-8"),
        ("/api/docs/docs.js", "text/javascript; charset=utf-8"),
        ("/api/docs/docs.css", "text/css; charset=utf-8"),
        ("/api/docs/icon.svg", "image/svg+xml"),
        ("/healthz", "application/json"),
        ("/readyz", "application/json"),
    ] {
        let reply = stage.nobody().get(path).await;
        assert_eq!(
            (reply.status, reply.header("content-type")),
            (200, Some(content_type))
        );
    }
    let page = stage.nobody().get("/api/docs").await;
    let page = String::from_utf8(page.body.to_vec()).unwrap();
    assert!(!page.contains("<script>") && !page.contains("style=") && !page.contains("http"));
}

#[tokio::test]
async fn a_server_whose_ledger_does_not_answer_lives_and_is_not_ready() {
    let stage = Stage::new().await;
    assert_eq!(stage.nobody().get("/readyz").await.status, 200);
    stage.store.close().await;
    let ready = stage.nobody().get("/readyz").await;
    assert_eq!(ready.status, 503);
    assert_eq!(ready.json()["status"], "the ledger does not answer");
    assert_eq!(stage.nobody().get("/healthz").await.status, 200);
}
