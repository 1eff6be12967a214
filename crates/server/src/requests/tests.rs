//! A handler that panics, or fails, is answered like any other error.

use axum::Router;
use axum::body::Body;
use axum::routing::get;
use countersign_api::ErrorCode;
use countersign_broker::{
    Broker, ChangeSettings, EngineChoice, ForeignAnswer, JobCaps, PushSettings, Settings, Store,
    StoreError,
};
use countersign_core::time::Clock;
use http::StatusCode;
use http_body_util::BodyExt as _;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use super::*;
use crate::settings::ServerSettings;

async fn server(directory: &TempDir) -> Arc<Server> {
    let store = Store::open_sqlite(&directory.path().join("ledger.db"))
        .await
        .unwrap();
    let settings = Settings {
        data_directory: directory.path().to_owned(),
        own_program: "/nonexistent".into(),
        owner_name: "ada".to_owned(),
        workspaces: Vec::new(),
        engine: EngineChoice::None,
        agents: Vec::new(),
        foreign_answer: ForeignAnswer::Abort,
        unasked_tools: vec![],
        ask_expiry: None,
        lonely_limit_s: 60,
        job_caps: JobCaps::default(),
        notify: Vec::new(),
        changes: ChangeSettings::default(),
        push: PushSettings::default(),
    };
    let broker = Broker::start(store, settings, Clock::System).await.unwrap();
    let settings = ServerSettings::default();
    Arc::new(Server::new(
        broker,
        8787,
        settings,
        CancellationToken::new(),
    ))
}

async fn panics() -> &'static str {
    panic!("the secret of this handler")
}

async fn fails() -> Result<&'static str, ApiError> {
    let column = StoreError::Corrupt {
        table: "asks",
        row: "ask_1".to_owned(),
        column: "state",
    };
    Err(column.into())
}

#[tokio::test]
async fn a_panic_or_a_failure_is_a_500_that_tells_nothing_but_a_name_for_the_log() {
    let directory = tempfile::tempdir().unwrap();
    let server = server(&directory).await;
    let router = Router::new()
        .route("/panics", get(panics))
        .route("/fails", get(fails))
        .layer(Conduct::new(Arc::clone(&server)))
        .with_state(server);
    let mut names = Vec::new();
    for path in ["/panics", "/panics", "/fails"] {
        let request = Request::builder()
            .uri(path)
            .header("host", "localhost:8787");
        let request = request.body(Body::empty()).unwrap();
        let response = router.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
        assert!(response.headers().contains_key("content-security-policy"));
        let body = response.into_body().collect().await.unwrap().to_bytes();
        let body: ErrorBody = serde_json::from_slice(&body).unwrap();
        assert_eq!(body.code, ErrorCode::Internal);
        let said = format!("{body:?}");
        assert!(
            !said.contains("secret") && !said.contains("ask_1"),
            "{said}"
        );
        names.push(body.details["request"].as_str().unwrap().to_owned());
    }
    names.dedup();
    assert_eq!(names.len(), 3, "each has its own name");
}
