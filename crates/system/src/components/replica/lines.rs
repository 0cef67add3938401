//! The lines of a connection between a driver and the process beside a replica.

use std::time::Duration;

use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::unix::{OwnedReadHalf, OwnedWriteHalf},
    sync::mpsc,
    time::timeout,
};

use super::{event::Event, message::LINE_MAX_BYTES};

const GREETING_TIMEOUT: Duration = Duration::from_secs(10);

pub(super) async fn write_lines(mut writer: OwnedWriteHalf, mut lines: mpsc::Receiver<String>) {
    while let Some(line) = lines.recv().await {
        if writer.write_all(line.as_bytes()).await.is_err() {
            return;
        }
    }
}

pub(super) async fn read_lines(
    connection: u64,
    reader: OwnedReadHalf,
    lines: mpsc::Sender<String>,
    events: mpsc::Sender<Event>,
) {
    let mut reader = BufReader::new(reader);
    let first = timeout(GREETING_TIMEOUT, next_line(&mut reader)).await;
    let greeting = first.ok().flatten();
    let greeting = greeting.and_then(|line| serde_json::from_str(&line).ok());
    // Dropping `lines` closes the connection.
    let Some(greeting) = greeting else {
        return;
    };
    let greeted = Event::Greeted {
        connection,
        greeting,
        lines,
    };
    if events.send(greeted).await.is_err() {
        return;
    }
    while let Some(line) = next_line(&mut reader).await {
        if events.send(Event::Line { connection, line }).await.is_err() {
            return;
        }
    }
    events.send(Event::Closed { connection }).await.ok();
}

/// The next line without its end; `None`: there is none, or it is too long.
pub(super) async fn next_line(
    reader: &mut BufReader<impl tokio::io::AsyncRead + Unpin>,
) -> Option<String> {
    let mut bytes = Vec::new();
    let mut limited = (&mut *reader).take(LINE_MAX_BYTES as u64);
    limited.read_until(b'\n', &mut bytes).await.ok()?;
    if bytes.pop() != Some(b'\n') {
        return None;
    }
    String::from_utf8(bytes).ok()
}
