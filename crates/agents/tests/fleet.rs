//! Agents in threads of this process, and the fleet that leads them: over real sockets with TLS, through links that are slow, cut or
//! silent.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    thread::{self, JoinHandle},
    time::Duration,
};

use tokio::{runtime, sync::mpsc};
use waggle_agents::{
    AgentError, AgentOptions, Asked, Fleet, FleetError, FleetMember, JoinFile, Notice, run_agent,
};
use waggle_load::{
    BodyCheck, Expect, Generators, Job, KEY_DIGITS, Limits, Outcome, Prepared, Slot, Stamp, Target,
    Transport, What, worker_and_sequence,
};
use waggle_spec::LoadModel;
use waggle_testkit::{
    Link, Proxy,
    http::{Reply, Server, ok},
    wait_until,
};

const WAIT: Duration = Duration::from_secs(60);

/// Two notices must not be lost to the bound.
const NOTICES: usize = 100;

struct Run {
    fleet: Fleet,
    notices: mpsc::Receiver<Notice>,
}

impl Run {
    fn start(agents: usize) -> Self {
        let asked = Asked {
            run: "the run of the test".to_owned(),
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            advertise: Vec::new(),
            agents,
        };
        let (sender, notices) = mpsc::channel(NOTICES);
        let fleet = Fleet::start(&asked, sender).unwrap();
        Self { fleet, notices }
    }

    fn wait_for_all(&self) -> Result<Vec<FleetMember>, FleetError> {
        wait(self.fleet.wait_for_agents(self.fleet.agents(), WAIT))
    }

    fn address(&self) -> SocketAddr {
        self.fleet.join_file().addresses[0].parse().unwrap()
    }

    fn join(&self) -> Agent {
        Agent::start(self.fleet.join_file().clone(), None)
    }

    /// An agent behind a proxy.
    fn join_through(&self, proxy: &Proxy) -> Agent {
        proxy.lead_to(self.address());
        let join = JoinFile {
            addresses: vec![proxy.address().to_string()],
            ..self.fleet.join_file().clone()
        };
        Agent::start(join, None)
    }

    /// The text of the next notice that has these words.
    fn notice(&mut self, words: &str) -> String {
        let mut seen = Vec::new();
        let mut text = None;
        wait_until(&format!("{words:?} in {seen:?}"), || {
            while let Ok(notice) = self.notices.try_recv() {
                seen.push(notice.to_string());
            }
            text = seen.iter().find(|notice| notice.contains(words)).cloned();
            text.is_some()
        });
        text.unwrap()
    }
}

/// An agent in a thread.
struct Agent {
    thread: JoinHandle<Result<(), AgentError>>,
    said: Arc<Mutex<Vec<String>>>,
}

impl Agent {
    fn start(join: JoinFile, number: Option<usize>) -> Self {
        let options = AgentOptions {
            join,
            number,
            wait: WAIT,
        };
        let said = Arc::new(Mutex::new(Vec::new()));
        let theirs = Arc::clone(&said);
        let thread = thread::spawn(move || {
            run_agent(&options, |line| {
                theirs.lock().unwrap().push(line.to_string())
            })
        });
        Self { thread, said }
    }

    fn end(self) -> Result<(), String> {
        let ended = self.thread.join().unwrap();
        ended.map_err(|why| why.to_string())
    }
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    let runtime = runtime::Builder::new_current_thread().enable_all().build();
    runtime.unwrap().block_on(future)
}

/// Stamped requests over eight connections.
fn job(address: SocketAddr, requests: u64) -> Job {
    let body = "0".repeat(KEY_DIGITS);
    let head = format!("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: {KEY_DIGITS}\r\n\r\n");
    let slot = Slot {
        at: head.len(),
        stamp: Stamp::Key { record: 0 },
    };
    Job {
        name: "post".to_owned(),
        targets: vec![Target { address }],
        transport: Transport::default(),
        model: LoadModel::Closed {
            connections: 8,
            pipelining: 1,
        },
        stages: Vec::new(),
        what: What::Requests {
            requests: vec![Prepared {
                bytes: (head + &body).into_bytes(),
                slots: vec![slot],
                records: 1,
                is_head: false,
            }],
            expect: Expect {
                status: Vec::new(),
                body: BodyCheck::Any,
            },
            inspect: None,
        },
        limits: Limits::default(),
        workers: vec![None; 4],
        interval: Duration::from_millis(50),
        max_duration: Duration::from_secs(600),
        max_requests: Some(requests),
        max_tracked_requests: (requests < u64::MAX).then_some(requests),
        seed: 7,
    }
}

/// A server that notes the keys it gets.
fn key_server() -> (Server, Arc<Mutex<Vec<u64>>>) {
    let keys = Arc::new(Mutex::new(Vec::new()));
    let theirs = Arc::clone(&keys);
    let server = Server::start(move |request| {
        theirs.lock().unwrap().push(request.text().parse().unwrap());
        Reply::Answer(ok("fine"))
    });
    (server, keys)
}

fn run_load(fleet: &Fleet, job: &Job, agents: usize) -> Outcome {
    let links = fleet.open(1..=agents).unwrap();
    let mut running = Generators::start(job, links).unwrap();
    while !running.has_ended() {
        running.next_interval(Duration::from_millis(100)).unwrap();
    }
    running.join().unwrap()
}

/// Each key was sent once in each of the two loads, which are the same.
fn check_keys(mut keys: Vec<u64>) {
    keys.sort_unstable();
    let pairs: Vec<&[u64]> = keys.chunks(2).collect();
    assert!(pairs.iter().all(|pair| pair[0] == pair[1]), "{keys:?}");
    assert!(pairs.windows(2).all(|next| next[0][0] < next[1][0]));
    let workers = keys
        .iter()
        .map(|key| worker_and_sequence(*key).unwrap().0)
        .max();
    assert_eq!((keys.len(), workers), (2_000, Some(3)));
}

#[test]
fn agents_make_one_load_and_end_with_the_run() {
    let mut run = Run::start(3);
    let agents: Vec<Agent> = (0..3).map(|_| run.join()).collect();
    let members = run.wait_for_all().unwrap();
    let numbers: Vec<usize> = members.iter().map(|member| member.number).collect();
    assert_eq!(numbers, [1, 2, 3]);
    assert!(members.iter().all(|member| member.is_same_program));
    run.notice("agent 3 of 3 joined: ");

    // Two loads, one after the other, and another one beside them.
    let (server, keys) = key_server();
    let (other, other_keys) = key_server();
    for round in 1..=2 {
        let load = wait(run.fleet.begin_load(3)).unwrap();
        let outcome = thread::scope(|scope| {
            let beside = scope.spawn(|| run_load(&run.fleet, &job(other.address, 300), 1));
            let outcome = run_load(&run.fleet, &job(server.address, 1_000), 3);
            assert_eq!(beside.join().unwrap().totals.succeeded, 300);
            outcome
        });
        assert_eq!(
            (outcome.totals.sent, outcome.totals.succeeded),
            (1_000, 1_000)
        );
        assert_eq!(outcome.request_outcomes.len(), 4);
        assert_eq!(outcome.first_sent_by_each.len(), 3);
        assert!(
            outcome.first_sent_by_each.iter().all(Option::is_some),
            "{outcome:?}"
        );
        assert_eq!(
            outcome.first_sent,
            outcome.first_sent_by_each.iter().flatten().min().copied()
        );
        assert_eq!(other_keys.lock().unwrap().len(), 300 * round);

        let uses = wait(run.fleet.end_load(&load)).unwrap();
        assert_eq!(uses.len(), 3);
        for agent in &uses {
            // It is the same clock.
            let clock = agent.clock;
            for reading in [clock.before, clock.after] {
                assert!(
                    reading.offset_ns.unsigned_abs() <= reading.bound_ns,
                    "{clock:?}"
                );
                assert!(
                    reading.wall_offset_ns.unsigned_abs() <= 1_000_000_000,
                    "{clock:?}"
                );
            }
            assert!(clock.error_ns >= clock.before.bound_ns, "{clock:?}");
            assert!(clock.drift_ppm.abs() <= clock.drift_bound_ppm, "{clock:?}");
        }
    }
    check_keys(keys.lock().unwrap().clone());

    drop(run);
    for agent in agents {
        let said = Arc::clone(&agent.said);
        assert_eq!(agent.end(), Ok(()));
        let said = said.lock().unwrap();
        assert!(
            said[0].contains(" of 3 of the run of the test, with the runner at "),
            "{said:?}"
        );
        assert_eq!(said[1], "the run is over");
    }
}

#[test]
fn who_does_not_belong_to_the_run_is_refused_with_a_line_at_both_ends() {
    let mut run = Run::start(2);
    let join = run.fleet.join_file().clone();
    let first = Agent::start(join.clone(), Some(2));
    run.notice("agent 2 of 2 joined");
    let check = |run: &mut Run, join: JoinFile, number, at_agent: &str, at_runner: &str| {
        let error = Agent::start(join, number).end().unwrap_err();
        assert!(error.contains(at_agent), "{error}");
        run.notice(at_runner);
    };
    let wrong = JoinFile {
        token: "0".repeat(64),
        ..join.clone()
    };
    let why = "its token is not that of this run";
    check(&mut run, wrong, None, why, why);
    let why = "agent 2 is there already: ";
    check(&mut run, join.clone(), Some(2), why, why);
    let why = "it has the number 3, and the run has 2 agents";
    check(&mut run, join.clone(), Some(3), why, why);
    let earlier = JoinFile {
        certificate: Run::start(1).fleet.join_file().certificate.clone(),
        ..join.clone()
    };
    let at_agent = "is not that of the run of the test: its certificate is another one";
    let at_runner = "it does not trust this run's certificate: an agent of another run?";
    check(&mut run, earlier, None, at_agent, at_runner);

    // What is no agent at all.
    let mut stream = std::net::TcpStream::connect(run.address()).unwrap();
    std::io::Write::write_all(&mut stream, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    run.notice("it does not speak TLS as agents do");
    drop(stream);

    let second = Agent::start(join.clone(), None);
    run.notice("agent 1 of 2 joined");
    let why = "all 2 agents of the run are there already";
    check(&mut run, join, None, why, why);
    drop(run);
    assert_eq!([first.end(), second.end()], [Ok(()), Ok(())]);
}

#[test]
fn agents_that_are_not_there_are_waited_for_and_counted() {
    let mut run = Run::start(2);
    let agent = run.join();
    run.notice("agent 1 of 2 joined");
    let error = wait(run.fleet.wait_for_agents(2, Duration::from_millis(10))).unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with("1 of 2 agents had joined after 0 s: 1 ("),
        "{text}"
    );
    let error = run.fleet.open([2]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "agent 2 of 2: it is lost: it has not joined"
    );
    drop(run);
    assert_eq!(agent.end(), Ok(()));
    let nobody = JoinFile {
        run: "nothing".to_owned(),
        // Reserved: nobody listens there.
        addresses: vec!["127.0.0.1:1".to_owned()],
        token: String::new(),
        certificate: Run::start(1).fleet.join_file().certificate.clone(),
    };
    let options = AgentOptions {
        join: nobody,
        number: None,
        wait: Duration::ZERO,
    };
    let error = run_agent(&options, |_| {}).unwrap_err().to_string();
    assert!(
        error.contains("there is no runner of nothing at 127.0.0.1:1 within 0 s: "),
        "{error}"
    );
}

#[test]
fn a_lost_agent_ends_the_load_by_name_and_another_one_takes_its_place() {
    let mut run = Run::start(2);
    let proxy = Proxy::start();
    let near = run.join();
    run.notice("agent 1 of 2 joined");
    let far = run.join_through(&proxy);
    run.wait_for_all().unwrap();
    let (server, _) = key_server();
    let links = run.fleet.open(1..=2).unwrap();
    let mut running = Generators::start(&job(server.address, u64::MAX), links).unwrap();
    proxy.cut();
    let error = loop {
        match running.next_interval(Duration::from_millis(100)) {
            Ok(_) => {}
            Err(error) => break error.to_string(),
        }
    };
    assert!(error.starts_with("agent 2 of 2 ("), "{error}");
    assert!(
        error.contains(" ended (its connection was closed) before its results were complete"),
        "{error}"
    );
    drop(running);
    run.notice("is lost: its connection was closed");
    let lost = far.end().unwrap_err();
    assert!(lost.contains("was lost: "), "{lost}");
    let error = run.fleet.open([2]).unwrap_err().to_string();
    let name = run.fleet.members()[0].host.name.clone();
    let lost = format!("({name}): it is lost: its connection was closed");
    assert_eq!(error, format!("agent 2 of 2 {lost}"));
    // A load of the first one alone does not wait for it.
    let first = wait(run.fleet.wait_for_agents(1, Duration::from_millis(10)));
    assert_eq!(first.unwrap().len(), 1);
    let error = wait(run.fleet.wait_for_agents(2, Duration::from_millis(10))).unwrap_err();
    let lost = format!("; agent 2 ({name}) is lost: its connection was closed");
    assert!(error.to_string().ends_with(&lost), "{error}");

    let again = run.join();
    run.wait_for_all().unwrap();
    let outcome = run_load(&run.fleet, &job(server.address, 100), 2);
    assert_eq!(outcome.totals.succeeded, 100);
    drop(run);
    assert_eq!([near.end(), again.end()], [Ok(()), Ok(())]);
}

#[test]
fn an_agent_that_says_nothing_is_lost() {
    let mut run = Run::start(1);
    let proxy = Proxy::start();
    let agent = run.join_through(&proxy);
    run.wait_for_all().unwrap();
    proxy.set(Link::Swallow);
    run.notice("is lost: it has said nothing for 10 s");
    proxy.set(Link::Open);
    assert!(agent.end().is_err());
}

#[test]
fn a_distance_widens_the_bound_and_the_offset_stays_within_it() {
    let run = Run::start(1);
    let proxy = Proxy::start();
    proxy.set(Link::Slow(Duration::from_millis(5)));
    let agent = run.join_through(&proxy);
    run.wait_for_all().unwrap();
    let load = wait(run.fleet.begin_load(1)).unwrap();
    let (server, _) = key_server();
    let outcome = run_load(&run.fleet, &job(server.address, 100), 1);
    assert_eq!(outcome.totals.succeeded, 100);
    let uses = wait(run.fleet.end_load(&load)).unwrap();
    let clock = uses[0].clock;
    for reading in [clock.before, clock.after] {
        assert!(reading.bound_ns >= 5_000_000, "{clock:?}");
        assert!(
            reading.offset_ns.unsigned_abs() <= reading.bound_ns,
            "{clock:?}"
        );
    }
    assert!(clock.error_ns >= 5_000_000, "{clock:?}");
    drop(run);
    assert_eq!(agent.end(), Ok(()));
}

#[test]
fn load_connections_are_opened_at_the_same_time() {
    const AGENTS: usize = 8;
    let run = Run::start(AGENTS);
    let proxy = Proxy::start();
    let agents: Vec<Agent> = (0..AGENTS).map(|_| run.join_through(&proxy)).collect();
    run.wait_for_all().unwrap();
    // None is let through before all have come: one after the other, the first would wait in vain.
    proxy.set(Link::Gather(AGENTS));
    assert_eq!(run.fleet.open(1..=AGENTS).unwrap().len(), AGENTS);
    drop(run);
    for agent in agents {
        assert_eq!(agent.end(), Ok(()));
    }
}

#[test]
fn a_load_that_was_given_up_leaves_no_reading_to_the_next_one() {
    let run = Run::start(1);
    let proxy = Proxy::start();
    let agent = run.join_through(&proxy);
    run.wait_for_all().unwrap();
    proxy.set(Link::Slow(Duration::from_millis(20)));
    // What was on its way comes at once, so that this reading is better than those to come.
    drop(wait(run.fleet.begin_load(1)).unwrap());
    let links = run.fleet.open([1]).unwrap();
    assert!(
        links[0].round_trip >= Duration::from_millis(40),
        "{links:?}"
    );
    drop((links, run));
    assert_eq!(agent.end(), Ok(()));
}
