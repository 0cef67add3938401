//! What a pod writes.

use std::io;

use futures_util::{AsyncBufRead, AsyncBufReadExt};

use crate::{
    access::Access,
    api::{ApiError, Call, Kind, Verb, causes},
};

/// Longest log that is read as a whole; of a longer one the end is missing.
const LOG_MAX_BYTES: &str = "33554432";
/// Longest line of a log that is followed.
const LINE_MAX_BYTES: usize = 1024 * 1024;

/// The lines of a log, as they are written.
pub struct LogLines {
    reader: Box<dyn AsyncBufRead + Send + Unpin>,
}

impl std::fmt::Debug for LogLines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LogLines").finish_non_exhaustive()
    }
}

impl Access {
    /// The log of a pod with one container; `previous`: of the container before its last restart.
    ///
    /// # Errors
    /// It may not be read, or is not there (any more).
    pub async fn logs(
        &self,
        namespace: &str,
        pod: &str,
        previous: bool,
    ) -> Result<String, ApiError> {
        let mut call = log(namespace, pod).option("limitBytes", LOG_MAX_BYTES);
        if previous {
            call = call.option("previous", "true");
        }
        self.call_text(call).await
    }

    /// The log of one of several containers; `previous`: of that before its last restart.
    ///
    /// # Errors
    /// As [`Access::logs`].
    pub async fn container_log(
        &self,
        namespace: &str,
        pod: &str,
        container: &str,
        previous: bool,
    ) -> Result<String, ApiError> {
        let mut call = log(namespace, pod)
            .option("limitBytes", LOG_MAX_BYTES)
            .option("container", container);
        if previous {
            call = call.option("previous", "true");
        }
        self.call_text(call).await
    }

    /// The last lines of a log.
    ///
    /// # Errors
    /// As [`Access::logs`].
    pub async fn last_log_lines(
        &self,
        namespace: &str,
        pod: &str,
        lines: u32,
    ) -> Result<Vec<String>, ApiError> {
        let call = log(namespace, pod).option("tailLines", lines.to_string());
        let text = self
            .call_text(call.option("limitBytes", LOG_MAX_BYTES))
            .await?;
        Ok(text.lines().map(str::to_owned).collect())
    }

    /// Follows a log from its beginning: the API has no place in a log by which it could be resumed.
    ///
    /// # Errors
    /// As [`Access::logs`].
    pub async fn follow_log(&self, namespace: &str, pod: &str) -> Result<LogLines, ApiError> {
        self.follow(log(namespace, pod)).await
    }

    /// The same for one of several containers, up to the length of a log that is read as a whole.
    ///
    /// # Errors
    /// As [`Access::logs`].
    pub async fn follow_container_log(
        &self,
        namespace: &str,
        pod: &str,
        container: &str,
    ) -> Result<LogLines, ApiError> {
        let call = log(namespace, pod).option("limitBytes", LOG_MAX_BYTES);
        self.follow(call.option("container", container)).await
    }

    async fn follow(&self, call: Call<'_>) -> Result<LogLines, ApiError> {
        let call = call.option("follow", "true");
        let client = self.client_for(&call).await?;
        let reader = client.request_stream(call.request()).await;
        let reader = reader.map_err(|why| match why {
            kube::Error::Api(status) => ApiError::from_status(&status, call.target()),
            why => ApiError::Unreachable {
                what: call.target(),
                attempts: 1,
                why: causes(&why),
            },
        })?;
        Ok(LogLines {
            reader: Box::new(reader),
        })
    }
}

impl LogLines {
    /// The next line, without its end; `None`: the pod has ended, or the connection.
    ///
    /// # Errors
    /// The connection broke, or the line is too long.
    pub async fn next(&mut self) -> io::Result<Option<String>> {
        let mut line = Vec::new();
        loop {
            let part = self.reader.fill_buf().await?;
            if part.is_empty() {
                return Ok((!line.is_empty()).then(|| text(&line)));
            }
            let end = part.iter().position(|byte| *byte == b'\n');
            line.extend_from_slice(&part[..end.unwrap_or(part.len())]);
            let taken = end.map_or(part.len(), |end| end + 1);
            self.reader.consume_unpin(taken);
            if end.is_some() {
                return Ok(Some(text(&line)));
            }
            if line.len() > LINE_MAX_BYTES {
                let why = format!("a line of the log is longer than {LINE_MAX_BYTES} bytes");
                return Err(io::Error::other(why));
            }
        }
    }
}

fn text(line: &[u8]) -> String {
    String::from_utf8_lossy(line).into_owned()
}

fn log<'a>(namespace: &'a str, pod: &'a str) -> Call<'a> {
    Call::new(Verb::Get, Kind::Pod, Some(namespace))
        .name(pod)
        .part("log")
}
