//! The messages of a connection before it carries a load, and their frames: a length in four bytes, then JSON.
//!
//! JSON, because another version must be able to read enough of the first message to say which version it is.

use std::{io, time::Duration};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::host::{CpuThrottle, HostFacts};

/// Longest message. Whoever connects may send the first one.
const MAX_BYTES: u32 = 64 * 1024;
/// How long a connection may take from its beginning to the answer of its first message.
pub(crate) const GREETING_TIMEOUT: Duration = Duration::from_secs(10);
/// The runner reads each agent's clock so often.
pub(crate) const PING_INTERVAL: Duration = Duration::from_secs(1);
/// Whoever has said nothing for so long is lost.
pub(crate) const SILENCE_TIMEOUT: Duration = Duration::from_secs(10);
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The first message of a connection, from the agent.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Hello {
    pub(crate) version: String,
    /// The identity of the program. Two programs of one version may have different messages.
    pub(crate) program: String,
    pub(crate) architecture: String,
    pub(crate) token: String,
    pub(crate) purpose: Purpose,
}

/// What a connection is for.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Purpose {
    /// Control; with the agent's number if it has one, counted from 1.
    Control {
        number: Option<usize>,
        host: HostFacts,
    },
    /// A load connection that the runner has asked this agent for.
    Load { number: usize, load: u64 },
}

/// To an agent.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToAgent {
    /// The answer to the first message: its number, and how many there are.
    Welcome { number: usize, of: usize },
    /// The answer to the first message of a load connection: the rest is the load's.
    Load,
    /// The connection ends.
    Refused { why: String },
    /// Asks for the clocks.
    Ping { id: u64 },
    /// Asks for how often the cgroup was throttled.
    Throttle { id: u64 },
    /// Asks for a load connection.
    Open { load: u64 },
    /// The run is over.
    End,
}

/// From an agent.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FromAgent {
    Pong {
        id: u64,
        monotonic_ns: u64,
        unix_ns: u64,
    },
    Throttle {
        id: u64,
        throttle: Option<CpuThrottle>,
    },
}

/// Writes one message.
pub(crate) async fn write(
    to: &mut (impl AsyncWrite + Unpin),
    message: &impl Serialize,
) -> io::Result<()> {
    let text = serde_json::to_vec(message).map_err(io::Error::other)?;
    let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
    if length > MAX_BYTES {
        return Err(io::Error::other(format!("a message of {length} bytes")));
    }
    // In one piece, so that it is one packet.
    let mut frame = length.to_le_bytes().to_vec();
    frame.extend(text);
    to.write_all(&frame).await?;
    to.flush().await
}

/// Reads one message; `None`: the stream has ended.
pub(crate) async fn read<T: DeserializeOwned>(
    from: &mut (impl AsyncRead + Unpin),
) -> io::Result<Option<T>> {
    let mut length = [0; 4];
    match from.read_exact(&mut length).await {
        Ok(_) => {}
        Err(problem) if problem.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(problem) => return Err(problem),
    }
    let length = u32::from_le_bytes(length);
    if length > MAX_BYTES {
        let why = format!("a message of {length} bytes, at most {MAX_BYTES} are read");
        return Err(io::Error::other(why));
    }
    let mut text = vec![0; length as usize];
    from.read_exact(&mut text).await?;
    serde_json::from_slice(&text).map(Some).map_err(|problem| {
        // The text of another program's message is not shown.
        io::Error::other(format!(
            "a message of another form ({:?})",
            problem.classify()
        ))
    })
}
