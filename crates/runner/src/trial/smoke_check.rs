//! The functional check of a server without one of its own: the load's own requests, once, over one connection.

use std::{fmt::Display, sync::Arc, time::Duration};

use tokio::time::{Instant, sleep};
use waggle_agents::FleetMember;
use waggle_load::{
    Action, Failures, Flow, Job, Limits, Outcome, Repeat, Rounds, Scenario, What, WhileCaptured,
};
use waggle_results::PhaseName;
use waggle_spec::{LoadModel, OnFailure};
use waggle_study as study;
use waggle_system::{
    components::driver::{Driver, Failure},
    http::client::HttpConnector,
    secrets::words::Secrets,
};

use crate::{
    clock::Clock,
    load::{
        counts,
        counts::StepFailures,
        job,
        load_run::{Load, LoadRun},
    },
    trial::{
        Trial, TrialEnvironment, load_content,
        phases::{Allowed, Phases, SPARE, Stop},
    },
};

/// Timeout of the whole check.
const AT_MOST: Duration = Duration::from_secs(30);
/// As long as a request is refused that reaches nothing: the first connections to a Service may be, until every node knows its pods.
const REFUSED_AT_MOST: Duration = Duration::from_secs(10);
const REFUSED_PAUSE: Duration = Duration::from_millis(500);
/// What the engine needs at most to notice that an answer is overdue.
const NOTICED_AT_MOST: Duration = Duration::from_secs(1);
const SMOKE: &str = "the load's requests, tried once";

impl Trial<'_> {
    /// An external server has no functional check of its own, so the load's requests are tried once.
    pub(super) async fn smoke_check<D: Driver, L: Load, W: HttpConnector>(
        &self,
        environment: &mut TrialEnvironment<D, L, W>,
        phases: &mut Phases,
    ) -> Result<(), Stop> {
        let fleet = environment.load.fleet();
        let senders: Vec<Sender> = match &fleet {
            None => vec![Sender::default()],
            Some(fleet) => {
                let members = fleet.members().into_iter();
                // Those that make the load.
                let members = members.take(self.context.cell.generators as usize);
                members.map(Sender::from).collect()
            }
        };
        let each = AT_MOST + job::finish(self.context.cell) + NOTICED_AT_MOST;
        let count = u32::try_from(senders.len()).unwrap_or(u32::MAX);
        let allowed = Allowed::limit(each.saturating_mul(count) + SPARE);
        let smoke_check = async {
            let (driver, http) = (&environment.driver, &environment.http);
            self.ensure_token(driver, http).await?;
            for Sender {
                agent,
                name,
                is_here,
            } in senders
            {
                // Its records are marked as neither the trial's nor another check's.
                let mark = load_content::mark(Clock::start(), self.context.position);
                let run = match is_here {
                    None => format!("rehearsal{mark}"),
                    Some(_) => format!("rehearsal{mark}a{agent}"),
                };
                let kept = &environment.prepared.kept;
                let job = load_content::job_of(self.context, &environment.driver, &run, kept)?;
                if is_here == Some(false) {
                    refuse_loopback(&name, &job)?;
                }
                // Another seed for each, so that random values differ.
                let seed = job.seed.wrapping_add(agent as u64 - 1);
                let job = Job { seed, ..job };
                let sent = Sent {
                    what: &self.context.cell.what,
                    secrets: self.context.secrets,
                    agent,
                };
                let checked = check_requests(&mut environment.load, job, sent).await;
                checked.map_err(|why| Failure::new(format!("{SMOKE}{name}: {}", why.reason)))?;
            }
            Ok(())
        };
        phases.run(PhaseName::Verify, allowed, smoke_check).await
    }
}

/// What the job sends.
#[derive(Clone, Copy)]
struct Sent<'a> {
    what: &'a study::What,
    /// Removed from the values of answers.
    secrets: &'a Secrets,
    /// Counted from 1; without agents it is sent from here.
    agent: usize,
}

/// Who sends a check's requests.
struct Sender {
    /// Counted from 1; without agents there is one, which is this process.
    agent: usize,
    /// In messages: ` from agent 2 (n2)`.
    name: String,
    /// Whether it is on this machine; `None`: it is this process.
    is_here: Option<bool>,
}

impl Default for Sender {
    fn default() -> Self {
        Self {
            agent: 1,
            name: String::new(),
            is_here: None,
        }
    }
}

impl From<FleetMember> for Sender {
    fn from(member: FleetMember) -> Self {
        Self {
            agent: member.number,
            name: format!(" from agent {} ({})", member.number, member.host.name),
            is_here: Some(member.host.machine == waggle_agents::machine_id()),
        }
    }
}

/// An address of this machine's own loopback is another server, or none, on another machine. So is a port that is forwarded to here.
fn refuse_loopback(name: &str, job: &Job) -> Result<(), Failure> {
    let mut targets = job.targets.iter();
    match targets.find(|target| target.address.ip().is_loopback()) {
        None => Ok(()),
        Some(target) => Err(Failure::new(format!(
            "{SMOKE}{name}: {} is on each machine itself, and the agent is on another one; a load needs an address that its agents reach, \
             and no forwarded port",
            target.address
        ))),
    }
}

/// Sends the job's request once, or runs every flow of its scenario once, without pauses and with one pass through each loop.
/// Every answer must be as expected.
async fn check_requests<L: Load>(load: &mut L, job: Job, sent: Sent<'_>) -> Result<(), Failure> {
    let until = Instant::now() + AT_MOST;
    // Another seed, so that a random value, such as a request's id, does not occur here and in the load as well.
    let seed = !job.seed;
    let job = Job { seed, ..job };
    let What::Scenario(scenario) = &job.what else {
        return check_request(load, job, sent, until).await;
    };
    let scenario = Arc::clone(scenario);
    for (number, flow) in (0..).zip(&scenario.flows) {
        let actions = straight(&flow.actions);
        let requests = request_count(&actions);
        let alone = Scenario {
            flows: vec![Flow {
                actions,
                ..flow.clone()
            }],
            // Each flow has its own load, which numbers its records from the first on.
            run: format!("{}f{number}", scenario.run),
            ..Scenario::clone(&scenario)
        };
        let job = Job {
            what: What::Scenario(Arc::new(alone)),
            seed: seed.wrapping_sub(number),
            ..job.clone()
        };
        let timeouts = timeouts(&flow.actions, job.limits.request_timeout);
        let tried = send_once(
            load,
            job,
            OneTry {
                requests,
                agent: sent.agent,
                until,
            },
        )
        .await?;
        let outcome = &tried.outcome;
        let failures = StepFailures {
            names: &scenario.steps,
            outcome,
            secrets: sent.secrets,
        };
        let failed = failures.in_words(|counts| counts.failed > 0);
        let wrong = match failed.is_empty() {
            true => kinds(outcome),
            false => Some(failed.join("; ")),
        };
        verdict(wrong, &tried, sent, &timeouts)?;
    }
    Ok(())
}

/// Sends one of the requests: it represents all, which differ in their records only.
async fn check_request<L: Load>(
    load: &mut L,
    job: Job,
    sent: Sent<'_>,
    until: Instant,
) -> Result<(), Failure> {
    let timeout = job.limits.request_timeout;
    let one_try = OneTry {
        requests: 1,
        agent: sent.agent,
        until,
    };
    let tried = send_once(load, job, one_try).await?;
    verdict(kinds(&tried.outcome), &tried, sent, &[timeout])
}

/// So many requests, sent once.
struct OneTry {
    requests: u64,
    /// Counted from 1.
    agent: usize,
    until: Instant,
}

/// What came of a try.
struct Tried {
    outcome: Outcome,
    /// Requests that were to be answered.
    asked: u64,
    /// How long requests were sent at most.
    at_most: Duration,
}

/// Sends this many requests over one connection of an agent, session after session.
async fn send_once<L: Load>(
    load: &mut L,
    job: Job,
    OneTry {
        requests,
        agent,
        until,
    }: OneTry,
) -> Result<Tried, Failure> {
    let job = Job {
        model: LoadModel::Closed {
            connections: 1,
            pipelining: 1,
        },
        workers: job.workers[..1].to_vec(),
        max_requests: Some(requests),
        max_tracked_requests: None,
        limits: Limits {
            // The load ends with its last request: what is overdue must be noticed as such before the wait for its answer ends.
            finish: job.limits.finish + NOTICED_AT_MOST,
            ..job.limits
        },
        ..job
    };
    let refused_until = until.min(Instant::now() + REFUSED_AT_MOST);
    loop {
        let max_duration = until.saturating_duration_since(Instant::now());
        let job = Job {
            max_duration,
            ..job.clone()
        };
        let mut run = load.start_on(job, agent).await.map_err(smoke_failure)?;
        while run.next_interval().await.map_err(smoke_failure)?.is_some() {}
        let outcome = run.join().await.map_err(smoke_failure)?;
        if !is_refused_connection(&outcome) || Instant::now() + REFUSED_PAUSE >= refused_until {
            return Ok(Tried {
                outcome,
                asked: requests,
                at_most: max_duration,
            });
        }
        sleep(REFUSED_PAUSE).await;
    }
}

/// Whether no request has reached anything, because each connection was refused: then nothing is sent twice if it is tried again.
fn is_refused_connection(outcome: &Outcome) -> bool {
    let totals = &outcome.totals;
    let mut failures = totals.failures.0.iter();
    totals.succeeded == 0
        && totals.failed > 0
        && failures.all(|(failure, _)| matches!(failure, waggle_load::Failure::Refused))
}

/// The requests of a flow in their order: no pause, one round of each loop.
fn straight(actions: &[Action]) -> Vec<Action> {
    let mut requests = Vec::new();
    for action in actions {
        match action {
            Action::Request(_) => requests.push(action.clone()),
            Action::Pause(_) => {}
            Action::Repeat(repeat) => requests.push(single_round(repeat)),
        }
    }
    requests
}

fn request_count(straight: &[Action]) -> u64 {
    let counts = straight.iter().map(|action| match action {
        Action::Request(_) => 1,
        Action::Pause(_) => 0,
        Action::Repeat(repeat) => request_count(&repeat.actions),
    });
    counts.sum()
}

/// A loop that is left after one round.
fn single_round(repeat: &Repeat) -> Action {
    let rounds = match &repeat.rounds {
        Rounds::Times(_) => Rounds::Times(1),
        Rounds::While(condition) => Rounds::While(WhileCaptured {
            max_rounds: 1,
            on_limit: OnFailure::Continue,
            ..condition.clone()
        }),
    };
    Action::Repeat(Repeat {
        rounds,
        offset_step: repeat.offset_step,
        actions: straight(&repeat.actions),
    })
}

/// The timeouts of the requests in these actions, each once, the shortest first.
fn timeouts(actions: &[Action], otherwise: Duration) -> Vec<Duration> {
    let mut all = Vec::new();
    for action in actions {
        match action {
            Action::Request(request) => all.push(request.timeout.unwrap_or(otherwise)),
            Action::Pause(_) => {}
            Action::Repeat(repeat) => all.extend(timeouts(&repeat.actions, otherwise)),
        }
    }
    all.sort_unstable();
    all.dedup();
    all
}

/// An error if something is wrong, with what helps, or if not everything was answered. `timeouts`: of the requests that were sent.
fn verdict(
    wrong: Option<String>,
    tried: &Tried,
    sent: Sent<'_>,
    timeouts: &[Duration],
) -> Result<(), Failure> {
    let (succeeded, asked) = (tried.outcome.totals.succeeded, tried.asked);
    match wrong {
        Some(why) => {
            let limit = timeout_hint(&tried.outcome, timeouts);
            let hint = credentials_hint(&tried.outcome, sent.what);
            Err(smoke_failure(why + &limit + &hint))
        }
        None if succeeded < asked => Err(smoke_failure(format!(
            "{succeeded} of {asked} were answered within {:.0} s",
            tried.at_most.as_secs_f64()
        ))),
        None => Ok(()),
    }
}

/// How long an answer was waited for, if one did not come in time; else empty.
fn timeout_hint(outcome: &Outcome, timeouts: &[Duration]) -> String {
    let mut failures = outcome.totals.failures.0.iter();
    if !failures.any(|(failure, _)| matches!(failure, waggle_load::Failure::TimedOut)) {
        return String::new();
    }
    let limits = timeouts
        .iter()
        .map(|timeout| format!("{} s", timeout.as_secs_f64()));
    let limits: Vec<String> = limits.collect();
    format!(" (no answer within {})", limits.join(" or "))
}

fn smoke_failure(why: impl Display) -> Failure {
    Failure::new(why.to_string())
}

/// What failed; `None` if nothing did.
fn kinds(outcome: &Outcome) -> Option<String> {
    let kinds = counts::kinds(&outcome.totals, &outcome.examples);
    (!kinds.is_empty()).then_some(kinds)
}

/// What to look at if the server refused who asked, and the refused requests have values from outside; else empty.
fn credentials_hint(outcome: &Outcome, what: &study::What) -> String {
    let is_refused = |failures: &Failures| {
        let mut failures = failures.0.iter();
        failures.any(|(failure, _)| matches!(failure, waggle_load::Failure::Status(401 | 403)))
    };
    let mut names: Vec<&str> = Vec::new();
    match what {
        study::What::Request(request) if is_refused(&outcome.totals.failures) => {
            names.extend(request.from_outside.iter().map(String::as_str));
        }
        study::What::Request(_) => {}
        study::What::Scenario(scenario) => {
            let steps = outcome.steps.iter().enumerate();
            for (step, _) in steps.filter(|(_, counts)| is_refused(&counts.failures)) {
                names.extend(scenario.values_from_outside(step));
            }
            names.sort_unstable();
            names.dedup();
        }
    }
    let names: Vec<String> = names.iter().map(|name| format!("${{{name}}}")).collect();
    match names.is_empty() {
        true => String::new(),
        false => format!("; look at the value of {}", names.join(", ")),
    }
}
