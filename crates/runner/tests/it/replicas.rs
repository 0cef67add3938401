//! Replicas that are started elsewhere: here by processes of this machine, to which the driver connects as it connects to pods.

use std::{
    collections::BTreeMap,
    fs,
    net::{IpAddr, Ipv4Addr},
    path::{Path, PathBuf},
    pin::Pin,
    process::Stdio,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::{
    process::{Child, Command},
    time::{Instant, timeout},
};
use waggle_study::{Level, Limits, Source, System};
use waggle_system::{
    components::{
        driver::{
            Driver, Failure, MadeReplica, ProcessDriver, ProcessParts, Programs, Setup, Site,
            SiteFuture, WantedReplica,
        },
        limits::Limiter,
        replica::{Errand, Opener, PodState, Streams},
    },
    http::transport::TlsOfPorts,
    secrets::words::Secrets,
};
use waggle_testkit::free_port;

use super::{example, one_store};

const AT_MOST: Duration = Duration::from_secs(60);

/// Places that are folders, each with the process beside a replica.
#[derive(Debug)]
struct Folders {
    root: PathBuf,
    processes: Arc<Mutex<BTreeMap<String, Child>>>,
    opener: Arc<OpenedConnections>,
}

/// The connections to the places.
#[derive(Debug, Default)]
struct OpenedConnections {
    /// Process of the newest one.
    newest: AtomicU32,
    count: AtomicU32,
}

#[derive(Debug)]
struct FolderOpener {
    folder: PathBuf,
    processes: Arc<Mutex<BTreeMap<String, Child>>>,
    replica: String,
    connections: Arc<OpenedConnections>,
}

impl Opener for FolderOpener {
    fn open(&self, errand: &Errand) -> Streams {
        let mut join = Command::new(example("run_study"))
            .arg("__replica")
            .args(errand.words(self.folder.to_str().unwrap()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        self.connections
            .newest
            .store(join.id().unwrap(), Ordering::SeqCst);
        self.connections.count.fetch_add(1, Ordering::SeqCst);
        let streams = Streams {
            reader: Box::new(join.stdout.take().unwrap()),
            writer: Box::new(join.stdin.take().unwrap()),
        };
        tokio::spawn(async move { join.wait().await });
        streams
    }

    fn look(&self) -> Pin<Box<dyn Future<Output = PodState> + Send + '_>> {
        let mut processes = self.processes.lock().unwrap();
        let ended = processes
            .get_mut(&self.replica)
            .is_none_or(|process| process.try_wait().unwrap().is_some());
        Box::pin(async move {
            match ended {
                true => PodState::Lost("its place is gone".to_owned()),
                false => PodState::Unknown(None),
            }
        })
    }
}

impl Site for Folders {
    fn removal_timeout(&self) -> Duration {
        Duration::ZERO
    }

    fn make<'a>(
        &'a mut self,
        wanted: &'a [WantedReplica],
        _: Instant,
    ) -> SiteFuture<'a, Result<Vec<MadeReplica>, Failure>> {
        let made = wanted.iter().map(|wanted| {
            let replica = format!("{}-{}", wanted.component, wanted.number);
            let folder = self.root.join(&replica);
            fs::create_dir_all(&folder).unwrap();
            let image = r#"{ "system_folder": "/system", "programs": {} }"#;
            fs::write(folder.join("image.json"), image).unwrap();
            let process = Command::new(example("run_study"))
                .args(["__replica", "serve"])
                .arg(&folder)
                .kill_on_drop(true)
                .spawn()
                .unwrap();
            self.processes
                .lock()
                .unwrap()
                .insert(replica.clone(), process);
            let ports = wanted.ports.iter();
            MadeReplica {
                pod: None,
                component: wanted.component.clone(),
                number: wanted.number,
                address: IpAddr::V4(Ipv4Addr::LOCALHOST),
                host: "localhost".to_owned(),
                ports: ports.map(|name| (name.clone(), free_port())).collect(),
                opener: Arc::new(FolderOpener {
                    folder,
                    processes: Arc::clone(&self.processes),
                    replica,
                    connections: Arc::clone(&self.opener),
                }),
            }
        });
        let made = made.collect();
        Box::pin(async move { Ok(made) })
    }

    fn remove<'a>(&'a mut self, logs: &'a Path) -> SiteFuture<'a, Vec<String>> {
        Box::pin(async move {
            fs::write(logs.join("removed"), "").unwrap();
            let processes = std::mem::take(&mut *self.processes.lock().unwrap());
            for mut process in processes.into_values() {
                let pid = Pid::from_raw(process.id().unwrap().try_into().unwrap()).unwrap();
                kill_process(pid, Signal::TERM).unwrap();
                timeout(AT_MOST, process.wait()).await.unwrap().unwrap();
            }
            // As the disk of a pod.
            fs::remove_dir_all(&self.root).unwrap();
            Vec::new()
        })
    }

    fn end(&mut self) -> SiteFuture<'_, Vec<String>> {
        Box::pin(async { Vec::new() })
    }
}

/// A system that is up, with its driver.
struct Up {
    folder: TempDir,
    driver: ProcessDriver,
    secrets: Secrets,
    parameters: BTreeMap<String, Level>,
    limits: BTreeMap<String, Limits>,
    processes: Arc<Mutex<BTreeMap<String, Child>>>,
    connections: Arc<OpenedConnections>,
}

impl Up {
    fn new(system: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("logs")).unwrap();
        let source = Source {
            name: "system.yaml".to_owned(),
            text: system.to_owned(),
        };
        let system: System = waggle_study::read_system(&source).unwrap();
        let processes = Arc::default();
        let connections = Arc::default();
        let site = Folders {
            root: folder.path().join("places"),
            processes: Arc::clone(&processes),
            opener: Arc::clone(&connections),
        };
        let driver = ProcessDriver::new(ProcessParts {
            system: Arc::new(system),
            system_folder: "/nowhere".into(),
            programs: Programs::default(),
            supervisor: "/bin/false".into(),
            limiter: Limiter::without_limits(),
            external_tls: TlsOfPorts::new(),
            created: None,
        });
        Self {
            driver: driver.with_site(Box::new(site), "test"),
            folder,
            secrets: Secrets::default(),
            parameters: BTreeMap::new(),
            limits: BTreeMap::new(),
            processes,
            connections,
        }
    }

    async fn start(&mut self) -> Result<(), Failure> {
        self.bring_up(false).await
    }

    async fn bring_up(&mut self, is_restored: bool) -> Result<(), Failure> {
        let logs = self.folder.path().join("logs");
        let setup = Setup {
            upgrades: &[],
            has_drains: false,
            parameters: &self.parameters,
            limits: &self.limits,
            secrets: &self.secrets,
            folder: self.folder.path(),
            logs: &logs,
            cpus: &[],
            is_restored,
            deadline: Instant::now() + AT_MOST,
        };
        self.driver.start_all(setup).await?;
        self.driver.ready(setup).await
    }

    fn log(&self, replica: &str) -> String {
        let file = self
            .folder
            .path()
            .join("logs")
            .join(format!("{replica}.log"));
        fs::read_to_string(file).unwrap_or_default()
    }

    async fn wait_until(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + AT_MOST;
        while !is_so(self) {
            assert!(Instant::now() < deadline, "{what}: {}", self.log("store-0"));
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    fn kill(pid: u32) {
        let pid = Pid::from_raw(pid.try_into().unwrap()).unwrap();
        kill_process(pid, Signal::KILL).unwrap();
    }
}

const SCRIPT: &str = "[sh, -c, 'echo life in ${dir} of ${system_dir} with $WORD; cat note; exec STORE $0', '${port.http}']";

fn store_with_note() -> String {
    let process = "    process: {";
    one_store(SCRIPT).replacen(process, "    files: { note: \"noted\\n\" }\n    process: { environment: { WORD: '${secret.word}' },", 1)
}

#[tokio::test]
async fn a_replica_elsewhere_is_started_killed_and_started_again() {
    let mut up = Up::new(&store_with_note());
    up.start().await.unwrap();
    let place = up.folder.path().join("places/store-0");
    let line = format!(
        "life in {} of /system with ",
        place.join("store-0").display()
    );
    up.wait_until("its log is here", |up| up.log("store-0").contains("noted"))
        .await;
    let log = up.log("store-0");
    assert!(log.starts_with(&line), "{log}");
    // The secret is hidden where the log is written.
    let (_, word) = up.secrets.used_values().into_iter().next().unwrap();
    let there = fs::read_to_string(place.join("replica.log")).unwrap();
    assert!(
        !there.contains(&word) && there.contains("[secret word]"),
        "{there}"
    );
    up.wait_until("its usage is known", |up| {
        up.driver
            .usage()
            .iter()
            .any(|used| used.replica == "store-0" && used.rss_bytes > 0)
    })
    .await;
    up.driver.kill("store", 0).await.unwrap();
    assert!(up.driver.deaths().0.borrow().is_empty());
    let deadline = Instant::now() + AT_MOST;
    up.driver.start_again("store", 0, deadline).await.unwrap();
    up.wait_until("its second life is in the log", |up| {
        up.log("store-0").matches("life in").count() == 2
    })
    .await;
    assert!(up.log("store-0").contains("[waggle started it again here]"));
    assert!(up.driver.stop_all().await.is_empty());
    assert!(up.folder.path().join("logs/removed").exists());
    // The copy is whole when the system is down.
    assert!(
        up.driver
            .deaths()
            .0
            .borrow()
            .iter()
            .all(|death| death.replica == "store-0")
    );
    assert_eq!(up.log("store-0").matches("noted").count(), 2);
}

#[tokio::test]
async fn folders_of_replicas_elsewhere_are_fetched_and_begun_with() {
    let script =
        "[sh, -c, 'echo row >> rows; echo has $(wc -l < rows); exec STORE $0', '${port.http}']";
    let mut up = Up::new(&one_store(script));
    up.start().await.unwrap();
    let (remarks, fetched) = up.driver.stop_and_fetch(up.folder.path()).await;
    assert!(remarks.is_empty(), "{remarks:?}");
    fetched.unwrap();
    let rows = up.folder.path().join("store-0/rows");
    assert_eq!(fs::read_to_string(&rows).unwrap(), "row\n");
    fs::write(&rows, "row\nrow\n").unwrap();
    up.bring_up(true).await.unwrap();
    up.wait_until("it began with its folder", |up| {
        up.log("store-0").contains("has 3")
    })
    .await;
    // Nothing can be written here.
    let (_, fetched) = up.driver.stop_and_fetch(Path::new("/proc/none")).await;
    let why = fetched.unwrap_err().to_string();
    assert!(
        why.starts_with("the folder of store-0 is not copied: "),
        "{why}"
    );
}

#[tokio::test]
async fn a_connection_that_breaks_ends_nothing_and_loses_nothing() {
    let script = "[sh, -c, 'trap \"\" TERM; i=0; while :; do i=$((i+1)); echo line $i; sleep 0.01; done & exec STORE $0', '${port.http}']";
    let mut up = Up::new(&one_store(script));
    up.start().await.unwrap();
    for turn in 2..5 {
        Up::kill(up.connections.newest.load(Ordering::SeqCst));
        up.wait_until("it is connected again", |up| {
            up.connections.count.load(Ordering::SeqCst) >= turn
        })
        .await;
        let lines = up.log("store-0").lines().count();
        up.wait_until("the log goes on", |up| {
            up.log("store-0").lines().count() > lines
        })
        .await;
    }
    assert!(up.driver.deaths().0.borrow().is_empty());
    let log = up.log("store-0");
    let numbers = log
        .lines()
        .filter_map(|line| line.strip_prefix("line ")?.parse::<u32>().ok());
    let numbers: Vec<u32> = numbers.collect();
    let expected: Vec<u32> = (1..=u32::try_from(numbers.len()).unwrap()).collect();
    assert_eq!(numbers, expected);
    up.driver.stop_all().await;
}

#[tokio::test]
async fn a_replica_whose_place_is_gone_is_dead_with_the_reason() {
    let mut up = Up::new(&one_store("[STORE, '${port.http}']"));
    up.start().await.unwrap();
    let process = up.processes.lock().unwrap()["store-0"].id().unwrap();
    Up::kill(process);
    let death = timeout(AT_MOST, up.driver.deaths().next_death())
        .await
        .unwrap();
    assert_eq!(death.replica, "store-0");
    assert_eq!(death.how, "with its pod: its place is gone");
    // What needs the process that was killed to end it is not there any more.
    up.processes.lock().unwrap().clear();
    up.driver.stop_all().await;
}

#[tokio::test]
async fn what_a_replica_elsewhere_says_before_it_ends_is_in_the_failure() {
    let mut up = Up::new(&one_store("[sh, -c, 'echo no store here; exit 3']"));
    let failure = up.start().await.unwrap_err();
    assert!(
        failure
            .reason
            .starts_with("store-0 ended with exit code 3 before it was ready"),
        "{}",
        failure.reason
    );
    assert_eq!(failure.log_tail, ["no store here"]);
    up.driver.stop_all().await;
    // A program that is not there.
    let mut up = Up::new(&one_store("[/nowhere/store]"));
    let failure = up.start().await.unwrap_err();
    assert!(
        failure
            .reason
            .starts_with("store-0 could not be started: cannot start /nowhere/store"),
        "{}",
        failure.reason
    );
    up.driver.stop_all().await;
}
