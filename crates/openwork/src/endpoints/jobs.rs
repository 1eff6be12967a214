//! Jobs of the scheduler.

use countersign_server::Response;
use countersign_workspace::Change;
use serde_json::json;

use super::Call;
use crate::refusal::Refusal;
use crate::reply::{self, Items};
use crate::trail::Deed;
use crate::writing::{News, Paths, Wish};

/// `GET /workspace/:id/scheduler/jobs`
pub(crate) async fn list(call: &Call) -> Result<Response, Refusal> {
    let items = call.look(|seat| seat.files.home().jobs()).await?;
    Ok(reply::ok(&Items { items }))
}

/// `DELETE /workspace/:id/scheduler/jobs/:name`
pub(crate) async fn delete(call: &Call, name: String) -> Result<Response, Refusal> {
    let wanted = name.clone();
    let job = call
        .look(move |seat| seat.files.home().job(&wanted))
        .await?;
    let file = call.seat.files.home().path().join(&job.file);
    let file = file.to_string_lossy().into_owned();
    let wish = Wish {
        change: Change::DeleteJob { name },
        question: format!("Delete scheduled job {}", job.name()),
        paths: Paths::These(vec![file.clone()]),
        deed: Deed {
            action: "scheduler.delete",
            target: file,
            summary: format!("Deleted scheduled job {}", job.name()),
        },
        news: News::None,
    };
    call.surface.write(&call.caller, &call.seat, wish).await?;
    Ok(reply::ok(&json!({ "job": job })))
}
