//! Answers that are one document of JSON.

use waggle_system::http::{
    answer::LimitedBody,
    client::{Connection, HttpError, Request},
};

use super::config::ProbeError;

/// Longest answer.
const ANSWER_MAX_BYTES: usize = 64 * 1024 * 1024;

/// The body of an answer with status 200. Its bytes are added to `bytes_read` also if it is refused.
pub(super) async fn body(
    connection: &mut impl Connection,
    request: &Request<'_>,
    bytes_read: &mut u64,
) -> Result<Vec<u8>, ProbeError> {
    let mut body = LimitedBody::new(ANSWER_MAX_BYTES);
    let answer = connection.send(request, &mut |chunk| body.add(chunk)).await;
    let LimitedBody { bytes, length, .. } = body;
    *bytes_read += length as u64;
    let (path, status) = (request.path.to_owned(), answer?);
    match (status, length) {
        (200, ..=ANSWER_MAX_BYTES) => Ok(bytes),
        (200, _) => Err(ProbeError::Answer {
            path,
            problem: format!(
                "the answer has {length} bytes, more than {ANSWER_MAX_BYTES}; a smaller limit makes it shorter"
            ),
        }),
        _ => Err(HttpError::Status { path, status }.into()),
    }
}
