//! However it ends, nothing of the agent is left, and the server knows.

use countersign_testkit::eventually;
use countersign_testkit::test_server::PATIENCE;
use rustix::process::Signal;

use crate::editor::Setting;
use crate::{id, open, open_ask, server};

#[tokio::test]
async fn the_agents_exit_code_passes_and_what_it_started_ends() {
    let server = server().await;
    let marker = format!("{}", server.workspace().join("left").display());
    let agent = format!("setsid sh -c 'exec sleep 1000 #{marker}' & sleep 0.1; exit 23");
    let (_tapes, mut editor) = Setting::of(&server).start(&agent);
    let status = editor.program.wait_for_exit(PATIENCE).await;
    assert_eq!(status.code(), Some(23));
    assert_eq!(editor.program.descendants(), Vec::<u32>::new());
    let left = server.processes();
    assert_eq!(left.len(), 1, "the server alone: {left:?}");
}

#[tokio::test]
async fn an_agent_that_cannot_be_started_is_said_to_be_so() {
    let server = server().await;
    let (_tapes, mut editor) = Setting::of(&server).start("exec /nonexistent/agent");
    assert_eq!(
        editor.program.wait_for_exit(PATIENCE).await.code(),
        Some(127)
    );
}

#[tokio::test]
async fn a_proxy_that_is_told_to_end_ends_the_agent_with_its_tools_and_asks() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130), (Signal::HUP, 129)] {
        let server = server().await;
        let mut editor = open(&server).await;
        editor.prompt("RUN touch never.txt").await;
        editor.asked().await;
        let ask = open_ask(&server).await;
        editor.program.signal(signal);
        let status = editor.program.wait_for_exit(PATIENCE).await;
        assert_eq!(status.code(), Some(code));
        let settled = server.api().settled(id(&ask)).await;
        assert_eq!(settled["why"], "the engine is gone", "{settled:#}");
        assert_eq!(server.processes().len(), 1);
    }
}

#[tokio::test]
async fn a_proxy_that_is_killed_takes_the_agent_and_its_asks_with_it() {
    let server = server().await;
    let mut editor = open(&server).await;
    editor.prompt("RUN touch never.txt").await;
    editor.asked().await;
    let ask = open_ask(&server).await;
    editor.program.kill();
    let settled = server.api().settled(id(&ask)).await;
    assert_eq!(settled["state"], "withdrawn");
    assert_eq!(settled["why"], "the engine is gone");
    eventually(PATIENCE, "the agent ends", async || {
        (server.processes().len() == 1).then_some(())
    })
    .await;
}

#[tokio::test]
async fn the_end_of_the_editors_input_is_the_end_of_the_agents() {
    let server = server().await;
    let mut editor = open(&server).await;
    editor.prompt("RUN touch never.txt").await;
    editor.asked().await;
    let ask = open_ask(&server).await;
    assert_eq!(editor.close().await, Some(0));
    let settled = server.api().settled(id(&ask)).await;
    assert_eq!(settled["state"], "withdrawn");
    assert_eq!(server.processes().len(), 1);
}
