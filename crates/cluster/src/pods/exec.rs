//! A program in a pod, with its standard streams over a WebSocket: for files, never for load.

use std::{io, time::Duration};

use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api,
    api::{AttachParams, AttachedProcess},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    time::timeout,
};

use crate::{
    access::Access,
    api::{ApiError, Call, Kind, Target, Verb, causes},
};

/// What is under way in each direction.
const BUFFER_BYTES: usize = 256 * 1024;
/// Most of what a program writes to its standard error that is kept.
const STDERR_MAX_BYTES: u64 = 64 * 1024;

/// How a program in a pod ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecEnd {
    pub code: i32,
    pub stderr: String,
}

/// The streams of a program in a pod.
pub struct Streams<'a> {
    /// Is sent until its end.
    pub stdin: Option<&'a mut (dyn AsyncRead + Send + Unpin)>,
    pub stdout: &'a mut (dyn AsyncWrite + Send + Unpin),
}

/// Why a program in a pod did not run to its end.
#[derive(Debug, thiserror::Error)]
pub enum ExecError {
    #[error(transparent)]
    Api(#[from] ApiError),
    #[error("pod {pod}: the connection to {program} broke: {why}")]
    Connection {
        pod: String,
        program: String,
        why: String,
    },
    #[error("pod {pod}: {program} cannot be run: {why}")]
    NotRun {
        pod: String,
        program: String,
        why: String,
    },
    #[error("pod {pod}: {program} did not end within {seconds} s")]
    Timeout {
        pod: String,
        program: String,
        seconds: u64,
    },
    #[error("pod {pod}: the streams of {program}: {why}")]
    Stream {
        pod: String,
        program: String,
        why: io::Error,
    },
}

impl Access {
    /// Runs a command in the only container of a pod.
    ///
    /// # Errors
    /// It may not or cannot be run, a stream breaks, or it does not end within the limit. A command that ends with a code other than 0
    /// is no error.
    pub async fn exec(
        &self,
        namespace: &str,
        pod: &str,
        command: &[&str],
        streams: Streams<'_>,
        limit: Duration,
    ) -> Result<ExecEnd, ExecError> {
        let program = command.first().copied().unwrap_or_default();
        let running = Running {
            pod: pod.to_owned(),
            program: program.to_owned(),
        };
        let work = self.run(namespace, &running, command, streams);
        let ended = timeout(limit, work).await;
        ended.unwrap_or_else(|_| Err(running.timeout(limit)))
    }

    async fn run(
        &self,
        namespace: &str,
        running: &Running,
        command: &[&str],
        streams: Streams<'_>,
    ) -> Result<ExecEnd, ExecError> {
        let call = Call::new(Verb::Create, Kind::Pod, Some(namespace))
            .name(&running.pod)
            .part("exec");
        let pods: Api<Pod> = Api::namespaced(self.client_for(&call).await?, namespace);
        let parameters = AttachParams {
            stdin: streams.stdin.is_some(),
            max_stdin_buf_size: Some(BUFFER_BYTES),
            max_stdout_buf_size: Some(BUFFER_BYTES),
            ..AttachParams::default()
        };
        let process = pods
            .exec(&running.pod, command.iter().copied(), &parameters)
            .await;
        let process = process.map_err(|why| running.not_connected(why, call.target()))?;
        running.follow(process, streams).await
    }
}

/// Names for messages.
struct Running {
    pod: String,
    program: String,
}

impl Running {
    /// Moves all streams until the program has ended.
    async fn follow(
        &self,
        mut process: AttachedProcess,
        Streams { stdin, stdout }: Streams<'_>,
    ) -> Result<ExecEnd, ExecError> {
        let status = process.take_status().expect("it is taken once");
        let (into, from, errors) = (process.stdin(), process.stdout(), process.stderr());
        let send = async {
            if let (Some(stdin), Some(mut into)) = (stdin, into) {
                tokio::io::copy(stdin, &mut into).await?;
                into.shutdown().await?;
            }
            Ok::<_, io::Error>(())
        };
        let receive = async {
            if let Some(mut from) = from {
                tokio::io::copy(&mut from, stdout).await?;
            }
            stdout.flush().await
        };
        let complain = async {
            let mut text = Vec::new();
            if let Some(mut errors) = errors {
                (&mut errors)
                    .take(STDERR_MAX_BYTES)
                    .read_to_end(&mut text)
                    .await?;
                tokio::io::copy(&mut errors, &mut tokio::io::sink()).await?;
            }
            Ok::<_, io::Error>(String::from_utf8_lossy(&text).into_owned())
        };
        // A program may end before it has read all that is sent to it.
        let end = async {
            let received = tokio::try_join!(receive, complain)?;
            Ok::<_, io::Error>(received.1)
        };
        tokio::pin!(send, end);
        let stderr = tokio::select! {
            ended = &mut end => ended,
            sent = &mut send => match sent {
                Ok(()) => end.await,
                Err(why) => match end.await {
                    Ok(text) => Ok(text),
                    Err(_) => Err(why),
                },
            },
        };
        let stderr = stderr.map_err(|why| self.stream(why))?;
        let status = status.await;
        let joined = process.join().await;
        let Some(status) = status else {
            let why = joined.err().map_or_else(
                || "it ended without a status".to_owned(),
                |why| causes(&why),
            );
            return Err(self.broken(why));
        };
        self.end(&serde_json::to_value(&status).unwrap_or_default(), stderr)
    }

    /// The exit code is in the details of a status that is no success.
    fn end(&self, status: &serde_json::Value, stderr: String) -> Result<ExecEnd, ExecError> {
        if status["status"] == "Success" {
            return Ok(ExecEnd { code: 0, stderr });
        }
        let causes = status["details"]["causes"].as_array();
        let mut causes = causes.into_iter().flatten();
        let code = causes.find(|cause| cause["reason"] == "ExitCode");
        let code = code.and_then(|cause| cause["message"].as_str()?.parse().ok());
        match code {
            Some(code) => Ok(ExecEnd { code, stderr }),
            None => Err(ExecError::NotRun {
                pod: self.pod.clone(),
                program: self.program.clone(),
                why: status["message"]
                    .as_str()
                    .unwrap_or("no reason given")
                    .to_owned(),
            }),
        }
    }

    fn not_connected(&self, why: kube::Error, what: Target) -> ExecError {
        match why {
            kube::Error::Api(status) => ApiError::from_status(&status, what).into(),
            why => self.broken(causes(&why)),
        }
    }

    fn broken(&self, why: String) -> ExecError {
        ExecError::Connection {
            pod: self.pod.clone(),
            program: self.program.clone(),
            why,
        }
    }

    fn stream(&self, why: io::Error) -> ExecError {
        ExecError::Stream {
            pod: self.pod.clone(),
            program: self.program.clone(),
            why,
        }
    }

    fn timeout(&self, limit: Duration) -> ExecError {
        ExecError::Timeout {
            pod: self.pod.clone(),
            program: self.program.clone(),
            seconds: limit.as_secs(),
        }
    }
}
