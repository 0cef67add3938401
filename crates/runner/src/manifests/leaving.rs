//! The logs of pods that are ended or replaced while a system is up. They are followed from then on, since they are gone with their pods.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::future::join_all;
use tokio::{
    sync::oneshot,
    task::JoinHandle,
    time::{Instant, timeout, timeout_at},
};
use waggle_cluster::{Access, PodStatus};

/// How long the end of a pod waits until its logs are followed.
const BEGIN_TIMEOUT: Duration = Duration::from_secs(2);
/// How long the logs of pods may go on, once nothing else of the system is waited for.
const END_TIMEOUT: Duration = Duration::from_secs(3);
/// Longest log that is kept in memory.
const LOG_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The pods whose logs are followed, for all who end pods or see that they end.
#[derive(Debug, Clone, Default)]
pub(super) struct Leaving(Arc<Mutex<Vec<LeavingPod>>>);

#[derive(Debug)]
struct LeavingPod {
    pod: PodStatus,
    logs: Vec<FollowedLog>,
}

#[derive(Debug)]
struct FollowedLog {
    /// `gateway`, `gateway.previous`.
    name: String,
    text: Arc<Mutex<String>>,
    task: JoinHandle<()>,
}

impl Drop for FollowedLog {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A pod that has left, with what its containers wrote.
#[derive(Debug)]
pub(super) struct LeftPod {
    pub(super) pod: PodStatus,
    /// Name and text.
    pub(super) logs: Vec<(String, String)>,
}

/// A log that is to be followed.
struct Source {
    access: Access,
    namespace: String,
    pod: String,
    container: String,
}

impl Leaving {
    fn pods(&self) -> MutexGuard<'_, Vec<LeavingPod>> {
        // A panic elsewhere leaves plain values.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Follows the logs of these pods from their beginning, and returns once all have begun, or after a short time.
    pub(super) async fn follow(&self, access: &Access, namespace: &str, pods: &[PodStatus]) {
        let mut begun = Vec::new();
        for pod in pods {
            if self.pods().iter().any(|known| known.pod.uid == pod.uid) {
                continue;
            }
            let mut logs = Vec::new();
            for container in pod.init_containers.iter().chain(&pod.containers) {
                let source = || Source {
                    access: access.clone(),
                    namespace: namespace.to_owned(),
                    pod: pod.name.clone(),
                    container: container.name.clone(),
                };
                let (sender, receiver) = oneshot::channel();
                begun.push(receiver);
                let text = Arc::default();
                let task = tokio::spawn(follow_log(source(), Arc::clone(&text), sender));
                let name = container.name.clone();
                logs.push(FollowedLog { name, text, task });
                if container.restarts > 0 {
                    let text = Arc::default();
                    let task = tokio::spawn(read_previous(source(), Arc::clone(&text)));
                    let name = format!("{}.previous", container.name);
                    logs.push(FollowedLog { name, text, task });
                }
            }
            let pod = pod.clone();
            self.pods().push(LeavingPod { pod, logs });
        }
        // A log that does not begin in time may begin later, or is lost.
        timeout(BEGIN_TIMEOUT, join_all(begun)).await.ok();
    }

    /// Waits a short time for the ends of all logs; returns the pods that are not among these, which are still there.
    pub(super) async fn finish(&self, there: &[PodStatus]) -> Vec<LeftPod> {
        let pods = std::mem::take(&mut *self.pods());
        let deadline = Instant::now() + END_TIMEOUT;
        let mut left = Vec::new();
        for LeavingPod { pod, mut logs } in pods {
            if there.iter().any(|known| known.uid == pod.uid) {
                continue;
            }
            for log in &mut logs {
                timeout_at(deadline, &mut log.task).await.ok();
            }
            let logs = logs
                .iter()
                .map(|log| (log.name.clone(), lock(&log.text).clone()));
            let logs = logs.collect();
            left.push(LeftPod { pod, logs });
        }
        left
    }
}

/// Names for the files of pods that have left: pods that follow each other may have the same name.
pub(super) fn file_names(left: &[LeftPod]) -> Vec<(String, &str)> {
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    let mut files = Vec::new();
    for LeftPod { pod, logs } in left {
        let count = counts.entry(&pod.name).or_default();
        *count += 1;
        for (name, text) in logs {
            files.push((
                format!("{}.{name}.replaced-{count}.log", pod.name),
                text.as_str(),
            ));
        }
    }
    files
}

fn lock(text: &Mutex<String>) -> MutexGuard<'_, String> {
    text.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads a log until its container has ended; `begun` hears when there is an answer.
async fn follow_log(source: Source, text: Arc<Mutex<String>>, begun: oneshot::Sender<()>) {
    let Source {
        access,
        namespace,
        pod,
        container,
    } = source;
    let lines = access
        .follow_container_log(&namespace, &pod, &container)
        .await;
    // Nobody may wait for it any more.
    begun.send(()).ok();
    let mut lines = match lines {
        Ok(lines) => lines,
        Err(why) => return lock(&text).push_str(&format!("the log cannot be read: {why}\n")),
    };
    loop {
        let line = match lines.next().await {
            Ok(Some(line)) => line,
            Ok(None) => return,
            Err(why) => return lock(&text).push_str(&format!("(the log broke off: {why})\n")),
        };
        let mut text = lock(&text);
        if text.len() + line.len() > LOG_BYTES_MAX {
            return text.push_str("(the rest of the log is too long to be kept)\n");
        }
        text.push_str(&line);
        text.push('\n');
    }
}

async fn read_previous(source: Source, text: Arc<Mutex<String>>) {
    let Source {
        access,
        namespace,
        pod,
        container,
    } = source;
    let log = access.container_log(&namespace, &pod, &container, true);
    let read = log.await;
    *lock(&text) = read.unwrap_or_else(|why| format!("the log cannot be read: {why}\n"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_of_one_name_have_files_of_their_own() {
        let left = |name: &str, uid: &str| LeftPod {
            pod: PodStatus {
                name: name.to_owned(),
                uid: uid.to_owned(),
                ..PodStatus::default()
            },
            logs: vec![
                ("shop".to_owned(), uid.to_owned()),
                ("shop.previous".to_owned(), String::new()),
            ],
        };
        let all = [
            left("shop-0", "a"),
            left("shop-1", "b"),
            left("shop-0", "c"),
        ];
        let names: Vec<(String, &str)> = file_names(&all);
        let texts = |number: usize| (names[number].0.as_str(), names[number].1);
        assert_eq!(texts(0), ("shop-0.shop.replaced-1.log", "a"));
        assert_eq!(texts(1), ("shop-0.shop.previous.replaced-1.log", ""));
        assert_eq!(texts(2), ("shop-1.shop.replaced-1.log", "b"));
        assert_eq!(texts(4), ("shop-0.shop.replaced-2.log", "c"));
    }
}
