//! Prepares a system before its load: the loads of a preparation, their checks, and a pause.

use waggle_spec::{LoadModel, LoadRole};
mod settle;

use std::{io, pin::pin, sync::Arc, time::Duration};

use tokio::{task::spawn_blocking, time::Instant};
use waggle_load as load;
use waggle_load::{Job, KeptRows, Retries, What};
use waggle_results::{FillInfo, LoadInfo, PhaseName, PreparationInfo, TrialInfo};
use waggle_study::{Cell, Preparation, PrepareLoad, Scenario};
use waggle_system::{
    components::driver::{Driver, Failure},
    http::client::HttpConnector,
};

use crate::{
    event::Event,
    load::{
        counts::{GeneratorSettings, StepFailures, kinds},
        job,
        job::{OtherLoad, Parts},
        load_run::{Load, LoadError, LoadRun},
        scenario::{Kept, load_scenario},
        side_load::{SideLoad, SideLoadSums},
    },
    trial::{
        Trial, TrialContext, TrialEnvironment,
        beside::{
            resend::{Content, Resends},
            token_renewal,
        },
        load_content::{no_secret, targets_and_host},
        phases::{Abort, Allowed, Phases, SPARE, Stop},
        snapshot::{Contents, Prepared, SnapshotUse},
        tear_down,
    },
};

/// Pauses between two tries of a request, first and longest.
const RETRY_PAUSE: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(60));
/// The same in the check at the end of a load.
const VERIFY_PAUSE: (Duration, Duration) = (Duration::from_millis(50), Duration::from_millis(500));
/// The longest that copying a prepared system may take.
const SNAPSHOT_AT_MOST: Duration = Duration::from_secs(1800);

impl Prepared {
    /// Whether a system that is prepared so far can have a trial of this cell: nothing would have to be removed.
    pub(crate) fn can_grow(&self, cell: &Cell) -> bool {
        let loads = cell
            .preparation
            .iter()
            .flat_map(|preparation| &preparation.loads);
        loads
            .into_iter()
            .all(|load| self.done_of(load) <= load.sessions)
    }

    fn done_of(&self, load: &PrepareLoad) -> u64 {
        self.done.get(load.name()).copied().unwrap_or(0)
    }

    /// A load is done; it has kept these rows.
    fn add(&mut self, load: &PrepareLoad, rows: KeptRows) {
        self.done.insert(load.name().to_owned(), load.sessions);
        if load.keep.is_empty() {
            return;
        }
        let kept = self.kept.entry(load.name().to_owned()).or_default();
        match Arc::get_mut(kept) {
            Some(kept) if !kept.is_empty() => kept.extend(&rows),
            _ => *kept = Arc::new(rows),
        }
    }
}

/// What is sent to one endpoint of a system that is prepared.
#[derive(Clone)]
struct Sent<'a> {
    scenario: &'a Scenario,
    preparation: load::Preparation,
    model: LoadModel,
    max_duration: Duration,
}

impl Sent<'_> {
    fn content(&self, context: TrialContext<'_>, host: &str, kept: &Kept) -> Result<What, Failure> {
        let secret = |name: &str| context.secrets.placeholder(name);
        let scenario = self.scenario.with_secrets(&secret);
        let scenario = scenario.map_err(no_secret)?;
        let scenario = load_scenario(&scenario, host, "prepare", kept);
        Ok(What::Scenario(Arc::new(load::Scenario {
            preparation: Some(self.preparation.clone()),
            ..scenario
        })))
    }
}

impl Trial<'_> {
    /// Does what the cell asks for before its load, as far as an earlier trial on the same system has not done it.
    pub(super) async fn prepare<D: Driver, L: Load, W: HttpConnector>(
        &self,
        environment: &mut TrialEnvironment<D, L, W>,
        phases: &mut Phases,
        trial_info: &mut TrialInfo,
    ) -> Result<(), Stop> {
        let Some(preparation) = &self.context.cell.preparation else {
            return Ok(());
        };
        if let Some(why) = self.context.snapshot.and_then(|snapshot| snapshot.refused) {
            trial_info.remarks.push(why.to_owned());
        }
        if let Some(restored) = self.context.snapshot.and_then(|snapshot| snapshot.restored) {
            // Once for each cell: trials that begin with the same snapshot are no further observations of it.
            if self.context.key.repetition == 1 {
                trial_info.loads.clone_from(&restored.loads);
            }
            trial_info.preparation = Some(PreparationInfo {
                snapshot: Some(restored.info.clone()),
                ..PreparationInfo::default()
            });
        }
        if self.context.is_restored() {
            self.check_restored(environment, phases, preparation)
                .await?;
        }
        let is_done = |load: &PrepareLoad| environment.prepared.done_of(load) == load.sessions;
        if preparation.loads.iter().all(is_done) {
            return Ok(());
        }
        trial_info.preparation = Some(PreparationInfo::default());
        let allowed = Allowed::limit(preparation.at_most() + SPARE);
        let work = self.prepare_all(environment, preparation, trial_info);
        phases.run(PhaseName::Prepare, allowed, work).await?;
        self.keep_snapshot(environment, phases, trial_info).await
    }

    /// Keeps the prepared system, if the study asks for that and it was not restored: stops it, copies its folders, and starts it
    /// again.
    async fn keep_snapshot<D: Driver, L: Load, W: HttpConnector>(
        &self,
        environment: &mut TrialEnvironment<D, L, W>,
        phases: &mut Phases,
        trial_info: &mut TrialInfo,
    ) -> Result<(), Stop> {
        let Some(snapshot) = self.context.snapshot else {
            return Ok(());
        };
        phases.watch_no_more();
        let down = tear_down::down_at_most(self.context.system);
        let down = down + environment.driver.removal_timeout();
        let allowed = Allowed::limit(down + SNAPSHOT_AT_MOST);
        let (store, key) = (snapshot.store.clone(), snapshot.key.to_owned());
        let place = store.path(&key);
        let folder = self.context.folder.to_path_buf();
        let secrets = self.context.secrets;
        let prepared = &environment.prepared;
        let loads = trial_info.loads.clone();
        let driver = &mut environment.driver;
        let keep = async {
            let (remarks, fetched) = driver.stop_and_fetch(&folder).await;
            // What was prepared is gone with the replicas.
            fetched.map_err(Failure::from)?;
            // The secrets cannot leave this thread.
            let contents = Contents {
                secrets: secrets.used_values().into_iter().collect(),
                prepared: prepared.clone(),
                loads,
            };
            let copied = spawn_blocking(move || store.keep(&key, &folder, contents));
            let copied = copied
                .await
                .unwrap_or_else(|why| Err(io::Error::other(why)));
            Ok((remarks, copied))
        };
        let (remarks, copied) = phases.run(PhaseName::Prepare, allowed, keep).await?;
        trial_info.remarks.extend(remarks);
        match copied {
            Ok(info) => {
                if let Some(preparation) = &mut trial_info.preparation {
                    preparation.snapshot = Some(info);
                }
            }
            Err(why) => {
                let remark = format!(
                    "the prepared system was not kept as the snapshot {}: {why}",
                    place.display()
                );
                trial_info.remarks.push(remark);
            }
        }
        self.forget_token_of_system();
        self.bring_up(environment, phases, true).await?;
        match &self.context.cell.preparation {
            Some(preparation) => self.check_restored(environment, phases, preparation).await,
            None => Ok(()),
        }
    }

    /// Whether everything is there in a system that began with the files of an earlier life. A snapshot of one that has lost
    /// something is removed.
    async fn check_restored<D: Driver, L: Load, W: HttpConnector>(
        &self,
        environment: &mut TrialEnvironment<D, L, W>,
        phases: &mut Phases,
        preparation: &Preparation,
    ) -> Result<(), Stop> {
        let allowed = Allowed::limit(preparation.at_most() + SPARE);
        let work = async {
            for load in preparation.loads_with_sessions() {
                if let Some(verify) = &load.verify {
                    self.check_end(environment, load, verify).await?;
                }
            }
            match &preparation.settle {
                Some(settle) => self.settle(environment, settle).await,
                None => Ok(()),
            }
        };
        let checked = phases.run(PhaseName::Prepare, allowed, work).await;
        match (checked, self.context.snapshot) {
            (Err(Stop::Failed { phase, failure }), Some(snapshot)) => {
                let failure = remove_snapshot(snapshot, failure);
                Err(Stop::Failed { phase, failure })
            }
            (checked, _) => checked,
        }
    }

    async fn prepare_all<D: Driver, L: Load, W: HttpConnector>(
        &self,
        environment: &mut TrialEnvironment<D, L, W>,
        preparation: &Preparation,
        info: &mut TrialInfo,
    ) -> Result<(), Abort> {
        for load in preparation.loads_with_sessions() {
            let done = environment.prepared.done_of(load);
            if done < load.sessions {
                let kept = self.fill(environment, load, done, info).await?;
                environment.prepared.add(load, kept);
            }
            if let Some(verify) = &load.verify {
                self.check_end(environment, load, verify).await?;
            }
        }
        if let Some(settle) = &preparation.settle {
            let start = Instant::now();
            self.settle(environment, settle).await?;
            info.preparation.get_or_insert_default().settle_s = Some(start.elapsed().as_secs_f64());
        }
        Ok(())
    }

    /// Runs a load; its result so far is the last of `info`, also if it does not come to its end.
    async fn fill<D: Driver, L: Load, W: HttpConnector>(
        &self,
        environment: &mut TrialEnvironment<D, L, W>,
        load: &PrepareLoad,
        done: u64,
        info: &mut TrialInfo,
    ) -> Result<KeptRows, Abort> {
        let sent = Sent {
            scenario: &load.scenario,
            preparation: load::Preparation {
                done,
                sessions: load.sessions - done,
                retries: Retries {
                    max: load.retries,
                    pause: RETRY_PAUSE.0,
                    pause_max: RETRY_PAUSE.1,
                    any_answer: false,
                },
                keeps: load.keep.clone(),
            },
            model: load.model.clone(),
            max_duration: load.timeout,
        };
        let (job, content) = self.preparation_job(environment, load, sent).await?;
        let mut sums = SideLoadSums::new(SideLoad {
            role: LoadRole::Preparation,
            name: load.name().to_owned(),
            settings: GeneratorSettings::new(&load.model, job.sending_workers()),
            fill: Some(FillInfo {
                sessions: load.sessions,
                done_before: done,
                ..FillInfo::default()
            }),
            steps: load.scenario.steps.clone(),
        });
        info.loads.push(sums.counts());
        let mut run = start_load(&mut environment.load, job).await?;
        let resends = Resends::default();
        resends.add(&run, content);
        let view = self.view(environment);
        let mut renewal = pin!(self.renew_token(&view, &resends));
        while let Some(interval) =
            token_renewal::next_interval(&mut run, renewal.as_mut(), load_failure).await?
        {
            sums.add(&interval);
            note_last(info, sums.counts());
            let fill = sums.fill_info();
            // It cannot succeed any more.
            if fill.failed > 0 {
                run.stop();
            }
            self.events.show(Event::Preparing {
                load: load.name().to_owned(),
                done: done + fill.completed,
                sessions: load.sessions,
                retries: fill.retries,
            });
        }
        let outcome = run.join().await.map_err(load_failure)?;
        let mut load_info = sums.info();
        load_info.counts.seconds = outcome.ran_for.as_secs_f64();
        note_last(info, load_info);
        let failures = StepFailures {
            names: &load.scenario.steps,
            outcome: &outcome,
            secrets: self.context.secrets,
        };
        match incomplete(load, &sums.fill_info(), failures) {
            Some(why) => Err(Failure::new(why).into()),
            None => Ok(outcome.kept),
        }
    }

    /// The check at the end of a load: every step succeeds within some time.
    async fn check_end<D: Driver, L: Load, W: HttpConnector>(
        &self,
        environment: &mut TrialEnvironment<D, L, W>,
        load: &PrepareLoad,
        verify: &Scenario,
    ) -> Result<(), Abort> {
        let sent = Sent {
            scenario: verify,
            preparation: load::Preparation {
                done: 0,
                sessions: 1,
                retries: Retries {
                    max: u32::MAX,
                    pause: VERIFY_PAUSE.0,
                    pause_max: VERIFY_PAUSE.1,
                    any_answer: true,
                },
                keeps: Vec::new(),
            },
            model: LoadModel::Closed {
                connections: 1,
                pipelining: 1,
            },
            max_duration: load.verify_timeout,
        };
        let (job, content) = self.preparation_job(environment, load, sent).await?;
        let mut run = start_load(&mut environment.load, job).await?;
        let resends = Resends::default();
        resends.add(&run, content);
        let view = self.view(environment);
        let mut renewal = pin!(self.renew_token(&view, &resends));
        while token_renewal::next_interval(&mut run, renewal.as_mut(), load_failure)
            .await?
            .is_some()
        {}
        let outcome = run.join().await.map_err(load_failure)?;
        if outcome.totals.sessions.completed == 1 {
            return Ok(());
        }
        let failures = StepFailures {
            names: &verify.steps,
            outcome: &outcome,
            secrets: self.context.secrets,
        };
        let mut wrong = failures.in_words(|counts| counts.succeeded == 0);
        if wrong.is_empty() {
            wrong.push(kinds(&outcome.totals, &outcome.examples));
        }
        let why = format!(
            "the check after the preparation \"{}\" does not hold within {} ms: {}",
            load.name(),
            load.verify_timeout.as_millis(),
            wrong.join("; ")
        );
        Err(Failure::new(why).into())
    }

    /// The job of a load, and what makes its content with the newest token.
    async fn preparation_job<'s, D: Driver, L, W: HttpConnector>(
        &'s self,
        environment: &TrialEnvironment<D, L, W>,
        load: &PrepareLoad,
        sent: Sent<'s>,
    ) -> Result<(Job, Content<'s>), Failure> {
        let context = self.context;
        let driver = &environment.driver;
        self.ensure_token(driver, &environment.http).await?;
        let (targets, host) = targets_and_host(context, driver, &load.endpoint)?;
        let kept = environment.prepared.kept.clone();
        let other = OtherLoad {
            name: load.name(),
            model: sent.model.clone(),
            request_timeout: sent.scenario.timeout(),
            max_duration: sent.max_duration,
        };
        let content: Content<'s> = Box::new(move || sent.content(context, &host, &kept));
        let parts = Parts {
            targets,
            what: content()?,
            workers: context.shares.workers(None, 1),
            seed: context.seed,
        };
        Ok((job::other_job(context.cell, parts, other), content))
    }
}

/// A system that failed in the folders of its snapshot has no use for it.
fn remove_snapshot(snapshot: SnapshotUse<'_>, failure: Failure) -> Failure {
    let removed = match snapshot.store.remove(snapshot.key) {
        Ok(()) => "its snapshot was removed".to_owned(),
        Err(why) => format!("its snapshot {} cannot be removed: {why}", snapshot.key),
    };
    let reason = format!(
        "after a restart in the folders of its snapshot: {}; {removed}. A system that keeps its data in memory has no \
         snapshot",
        failure.reason
    );
    Failure { reason, ..failure }
}

/// One process prepares, whatever number of generators makes the measured load.
async fn start_load<L: Load>(load: &mut L, job: Job) -> Result<L::Run, Failure> {
    let started = load.start(job, 1).await;
    started.map_err(|why| Failure::new(format!("the load cannot be started: {why}")))
}

fn load_failure(why: LoadError) -> Failure {
    Failure::new(why.to_string())
}

/// Replaces what the load that is running has done so far.
fn note_last(info: &mut TrialInfo, load: LoadInfo) {
    if let Some(last) = info.loads.last_mut() {
        *last = load;
    }
}

/// Why a load is not complete; `None`: it is.
fn incomplete(load: &PrepareLoad, info: &FillInfo, failures: StepFailures<'_>) -> Option<String> {
    let outcome = failures.outcome;
    let name = load.name();
    let wanted = info.sessions - info.done_before;
    if info.completed == wanted {
        return None;
    }
    if let Some(time) = outcome.unconnected_for {
        let seconds = time.as_secs_f64();
        return Some(format!(
            "the preparation \"{name}\" ended after {} of {wanted} sessions: no connection was open for {seconds:.0} s",
            info.completed
        ));
    }
    let retries = match info.retries {
        0 => String::new(),
        retries => format!(", after {retries} retries"),
    };
    let kinds = match kinds(&outcome.totals, &outcome.examples) {
        kinds if kinds.is_empty() => String::new(),
        kinds => format!(": {kinds}"),
    };
    let mismatches: String = failures
        .mismatches()
        .iter()
        .map(|mismatch| format!("; {mismatch}"))
        .collect();
    let kinds = kinds + &mismatches;
    if info.failed == 0 {
        let seconds = outcome.ran_for.as_secs_f64();
        return Some(format!(
            "the preparation \"{name}\" completed {} of {wanted} sessions within {seconds:.0} s{retries}{kinds}; a longer timeout gives it \
             more time",
            info.completed
        ));
    }
    Some(format!(
        "{} of the first {} sessions of the preparation \"{name}\" failed, with at most {} retries of each request{kinds}",
        info.failed,
        info.failed + info.completed,
        load.retries
    ))
}
