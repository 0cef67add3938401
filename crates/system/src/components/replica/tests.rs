//! What is said of a replica to which no connection is made.

use std::{future::ready, path::Path, pin::Pin, sync::Arc, time::Duration};

use tokio::time::Instant;

use super::{Errand, Opener, PodState, RemoteReplica, Streams};

/// Each connection ends at once.
#[derive(Debug)]
struct Closed(PodState);

impl Opener for Closed {
    fn open(&self, _: &Errand) -> Streams {
        Streams {
            reader: Box::new(tokio::io::empty()),
            writer: Box::new(tokio::io::sink()),
        }
    }

    fn look(&self) -> Pin<Box<dyn Future<Output = PodState> + Send + '_>> {
        Box::pin(ready(self.0.clone()))
    }
}

async fn check(state: PodState, expected: &str) {
    let deadline = Instant::now() + Duration::from_secs(5);
    let log = Path::new("/nowhere/server-0.log");
    let connected = RemoteReplica::connect(Arc::new(Closed(state)), log, deadline).await;
    assert_eq!(
        connected.err().map(|why| why.to_string()),
        Some(expected.to_owned())
    );
}

#[tokio::test(start_paused = true)]
async fn why_there_is_no_connection_is_told() {
    let why = "pod server-0: its connection broke".to_owned();
    check(
        PodState::Unknown(Some(why.clone())),
        "its process did not answer in time: pod server-0: its connection broke",
    )
    .await;
    check(
        PodState::Unknown(None),
        "its process did not answer in time: its process did not answer",
    )
    .await;
    check(PodState::Lost(why.clone()), &why).await;
}
