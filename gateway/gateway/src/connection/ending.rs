//! How connections end, and the sizes of their buffers.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Size of the read buffer; an idle connection keeps it.
pub(super) const INPUT_BYTES: usize = 16 * 1024;
/// Reading pauses while more than this waits to be sent.
pub(super) const OUT_PAUSE_BYTES: usize = 256 * 1024;

/// After an early close the connection reads and drops input for this long, so that the client sees the answer and not a reset.
const LINGER: Duration = Duration::from_millis(500);
const LINGER_BYTES: usize = 1024 * 1024;

/// The connection has failed.
pub(super) struct Ended;

/// Ends a connection so that the client can read the last answer: unread input at the end would reset it.
pub(crate) async fn linger(stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) {
    if stream.shutdown().await.is_err() {
        return;
    }
    let mut dropped = 0;
    let reading = async {
        let mut scrap = vec![0; 4096];
        while dropped < LINGER_BYTES {
            match stream.read(&mut scrap).await {
                Ok(0) | Err(_) => break,
                Ok(count) => dropped += count,
            }
        }
    };
    // The connection ends here, whether the client has closed it or not.
    let _ = tokio::time::timeout(LINGER, reading).await;
}
