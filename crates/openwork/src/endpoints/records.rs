//! What was done in a workspace, and what changed that an engine has to load anew.

use std::sync::Arc;

use countersign_server::Response;
use http::StatusCode;

use super::Call;
use crate::refusal::Refusal;
use crate::reply;
use crate::trail::LIMIT;

/// How many entries are answered if nothing is said.
const USUAL: usize = 50;

/// `GET /workspace/:id/audit`
pub(crate) async fn audit(call: &Call) -> Result<Response, Refusal> {
    let limit = limit(call.query("limit").as_deref());
    let trail = &call.seat.trail;
    // What is in the file is looked at where waiting is allowed, as long as it can change what is answered.
    if !trail.is_settled() {
        let looking = call.look(|seat| {
            seat.trail.look(&seat.files);
            Ok(())
        });
        looking.await?;
    }
    Ok(reply::bytes(StatusCode::OK, trail.newest(limit).into()))
}

/// A number above nothing; what is after the point does not count.
fn limit(text: Option<&str>) -> usize {
    let number: Option<f64> = text.and_then(|text| text.trim().parse().ok());
    match number {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is positive, and what is too large becomes the largest"
        )]
        Some(number) if number > 0.0 => (number as usize).min(LIMIT),
        Some(_) | None => USUAL,
    }
}

/// `GET /workspace/:id/events`
pub(crate) async fn events(call: &Call) -> Result<Response, Refusal> {
    let since = call
        .query("since")
        .and_then(|since| since.trim().parse().ok());
    let since: f64 = since.unwrap_or(0.0);
    let surface = Arc::clone(&call.surface);
    let told = call.look(move |seat| Ok(surface.reloads.since(seat, since)));
    Ok(reply::ok(&told.await?))
}

#[cfg(test)]
mod tests {
    use super::limit;

    #[test]
    fn a_limit_is_a_number_above_nothing_and_not_above_the_most() {
        for (text, expected) in [
            ("2", 2),
            ("1.5", 1),
            ("0", 50),
            ("-3", 50),
            ("abc", 50),
            ("", 50),
            ("1e9", 200),
            ("NaN", 50),
        ] {
            assert_eq!(limit(Some(text)), expected, "{text}");
        }
        assert_eq!(limit(None), 50);
    }
}
