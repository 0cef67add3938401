//! Answers that are one document of JSON.

use super::config::ProbeError;
use crate::http::client::{Connection, HttpError, Request};

/// Longest answer.
const ANSWER_MAX_BYTES: usize = 64 * 1024 * 1024;

/// The body of an answer with status 200. Its bytes are added to `bytes_read` also if it is refused.
pub(super) async fn body(
    connection: &mut impl Connection,
    request: &Request<'_>,
    bytes_read: &mut u64,
) -> Result<Vec<u8>, ProbeError> {
    let (mut body, mut length) = (Vec::new(), 0);
    let answer = connection
        .send(request, &mut |chunk| {
            length += chunk.len();
            if length <= ANSWER_MAX_BYTES {
                body.extend_from_slice(chunk);
            }
        })
        .await;
    *bytes_read += length as u64;
    let (path, status) = (request.path.to_owned(), answer?);
    match (status, length) {
        (200, ..=ANSWER_MAX_BYTES) => Ok(body),
        (200, _) => Err(ProbeError::Answer {
            path,
            problem: format!(
                "the answer has {length} bytes, more than {ANSWER_MAX_BYTES}; a smaller limit makes it shorter"
            ),
        }),
        _ => Err(HttpError::Status { path, status }.into()),
    }
}
