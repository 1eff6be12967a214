//! Jobs, as the API shows them.

use reqwest::Method;
use serde_json::{Value, json};

use super::{Api, PATIENCE};
use crate::eventually;

impl Api {
    /// Hands a job in, and returns its id.
    pub async fn hand_in(&self, job: &Value) -> String {
        let made = self.post("/api/v1/jobs", job).await.expect(201);
        let id = made["id"].as_str();
        id.expect("a job has an id").to_owned()
    }

    /// Returns a job.
    pub async fn job(&self, id: &str) -> Value {
        self.get(&format!("/api/v1/jobs/{id}")).await
    }

    /// Waits until a job is in `state`, and returns it.
    pub async fn job_in(&self, state: &str, id: &str) -> Value {
        eventually(PATIENCE, &format!("{id} is {state}"), async || {
            let job = self.job(id).await;
            (job["state"] == state).then_some(job)
        })
        .await
    }

    /// Waits until a job has ended, and returns it. The server may be away for a moment.
    pub async fn job_ended(&self, id: &str) -> Value {
        eventually(2 * PATIENCE, &format!("{id} ends"), async || {
            let path = format!("/api/v1/jobs/{id}/ended?wait_seconds=20");
            let reply = Self::send(self.request(Method::GET, &path)).await.ok()?;
            (!reply.body["ended_at"].is_null()).then_some(reply.body)
        })
        .await
    }

    /// Has a job ended.
    pub async fn cancel_job(&self, id: &str) {
        let path = format!("/api/v1/jobs/{id}/cancel");
        self.post(&path, &json!({})).await.expect(200);
    }

    /// Returns the lines of a job's log.
    pub async fn job_log(&self, id: &str) -> Vec<Value> {
        let log = self.get(&format!("/api/v1/jobs/{id}/log")).await;
        log["entries"].as_array().cloned().unwrap_or_default()
    }

    /// Whether a line of a job's log holds `text`.
    pub async fn job_log_holds(&self, id: &str, text: &str) -> bool {
        let lines = self.job_log(id).await;
        let holds = |line: &Value| line["text"].as_str().is_some_and(|it| it.contains(text));
        lines.iter().any(holds)
    }
}
