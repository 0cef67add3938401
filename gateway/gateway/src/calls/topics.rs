//! The call that deletes a topic of the embedded store.

use std::sync::Arc;

use axum::{
    Extension,
    extract::{Path, State},
};
use http::StatusCode;

use super::schemas::Topic;
use crate::{
    answers::problem::Problem,
    clients::identity::{audit::Event, caller::Caller},
    ingest::check_topic,
    log::store::Refused,
    shared::Shared,
};

/// Delete a topic
///
/// With all its records and its latest readings. Records that are sent meanwhile may be deleted with it, or create it again. It needs
/// the right `delete` in the file of `--clients`.
#[utoipa::path(
    delete,
    path = "/api/v1/topics/{topic}",
    tag = "topics",
    params(
        ("topic" = inline(Topic), Path, description = "1 to 200 of the characters A-Z a-z 0-9 . _ -, but not . or ..", example = "plant"),
    ),
    responses(
        (status = 204, description = "It is deleted, durably"),
        (status = 400, description = "Not a name of a topic", body = crate::answers::problem::ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "There is no such topic", body = crate::answers::problem::ProblemBody, content_type = "application/problem+json"),
        (status = 503, description = "The store cannot be written, or too many topics wait to be deleted", body = crate::answers::problem::ProblemBody, content_type = "application/problem+json", headers(("Retry-After" = u32, description = "Seconds"))),
    )
)]
pub(super) async fn delete_topic(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    Path(topic): Path<String>,
) -> Result<StatusCode, Problem> {
    check_topic(&topic)?;
    caller.check_delete(&topic)?;
    let store = shared.backend.embedded_store();
    if store.latest.is_filling() {
        // They would be noted after they are forgotten.
        let problem = "the latest readings are being restored after the start; try again";
        return Err(Problem::new(503, problem));
    }
    let slot = store.topics.find_slot(&topic);
    let slot = slot.ok_or_else(|| Problem::new(404, format!("there is no topic {topic}")))?;
    let done = store.queue.delete(slot).map_err(|refused| match refused {
        Refused::Full => Problem::new(503, "too many topics wait to be deleted; try again"),
        Refused::Closed => Problem::new(503, "the gateway is shutting down"),
    })?;
    if done.await != Ok(true) {
        return Err(Problem::new(
            503,
            "the store cannot delete the topic at the moment",
        ));
    }
    caller.note(Event::TopicDeleted { topic: &topic });
    Ok(StatusCode::NO_CONTENT)
}
