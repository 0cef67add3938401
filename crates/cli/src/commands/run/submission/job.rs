//! The pod of a run: made for it, found again, and removed with all that the run has made.

use std::{path::Path, time::Duration};

use anyhow::{Context, Result, anyhow, bail};
use tokio::sync::watch;
use waggle_cluster::{
    Access, Created, Kind, Ledger, PodShape, PodStatus, RunnerJob, Streams, WaitLimits,
};
use waggle_runner::{object_name, pod_shape};
use waggle_system::host::NODE_VARIABLE;

use super::{
    bundle::Bundle,
    choice::{Choice, Place},
};
use crate::{
    commands::run::pod::submission::{FILE, PodPlace, RUNS, Submission},
    inputs::runs::shell_word,
    output,
    process::interrupts::Interrupts,
};

/// The program in the image.
pub(super) const PROGRAM: &str = "waggle";
/// The folder of the pod.
pub(super) const FOLDER: &str = "/var/run/waggle";
/// The folder of caches, where the run has a volume for waggle's.
const CACHE: &str = "/var/cache";
const FOLDER_MAX_BYTES: u64 = 16 << 30;
/// A run that is longer than this is not expected to end.
const AT_MOST: Duration = Duration::from_secs(14 * 24 * 3600);
/// How long Kubernetes keeps the pod after its end.
const KEPT: Duration = Duration::from_secs(4 * 3600);
const REMOVAL_AT_MOST: Duration = Duration::from_secs(60);
/// How long the study may take to be there.
const SENDING_AT_MOST: Duration = Duration::from_secs(300);

/// A run that was submitted.
pub(super) struct Submitted {
    pub(super) access: Access,
    pub(super) namespace: String,
    /// By which its objects are known.
    pub(super) run: String,
    pub(super) job: String,
    pub(super) pod: String,
    ledger: Ledger,
}

impl Submitted {
    /// Makes the pod, and sends the study; `None`: the user interrupted that. What was made until a failure is removed.
    pub(super) async fn make(
        choice: &Choice,
        bundle: &Bundle,
        run_folder: &Path,
        interrupts: &Interrupts,
    ) -> Result<Option<Self>> {
        let access = choice.place.access().await?;
        let run = object_name(run_folder);
        let ledger = Ledger::new(access.clone(), choice.notes.as_ref(), &run);
        let mut submitted = Self {
            namespace: choice.place.namespace_in(&access),
            job: job_name(&run),
            pod: String::new(),
            access,
            run,
            ledger,
        };
        let (stop, mut is_stopped) = watch::channel(false);
        interrupts.follow(move || {
            stop.send_replace(true);
        });
        let begun = tokio::select! {
            begun = submitted.begin(choice, bundle, run_folder) => begun.map(|()| true),
            _ = is_stopped.wait_for(|is_stopped| *is_stopped) => Ok(false),
        };
        if let Ok(true) = begun {
            return Ok(Some(submitted));
        }
        let keeps = choice.keeps && begun.is_err();
        let problems = submitted.end(keeps).await;
        for problem in problems {
            output::print_progress(&problem);
        }
        begun.map(|_| None)
    }

    async fn begin(&mut self, choice: &Choice, bundle: &Bundle, run_folder: &Path) -> Result<()> {
        let facts = [("study", choice.study.as_str())];
        let anchor = self.ledger.anchor(&self.namespace, &facts).await?;
        if choice.has_drains {
            self.ledger.expect_cordons()?;
        }
        let job = RunnerJob {
            name: self.job.clone(),
            pod: PodShape {
                command: vec![PROGRAM.to_owned()],
                arguments: ["__runner", "serve", FOLDER].map(str::to_owned).to_vec(),
                scratch: Some((FOLDER.to_owned(), FOLDER_MAX_BYTES)),
                claim: choice.cache_claim.clone().map(|claim| {
                    let folder = Path::new(CACHE).join("waggle");
                    (folder.display().to_string(), claim)
                }),
                environment: match choice.cache_claim {
                    Some(_) => [("XDG_CACHE_HOME".to_owned(), CACHE.to_owned())].into(),
                    None => Default::default(),
                },
                node_variable: NODE_VARIABLE.to_owned(),
                ..pod_shape(&choice.pod)
            },
            service_account: choice.service_account.clone(),
            deadline: AT_MOST,
            kept: KEPT,
        };
        let space = Some(self.namespace.as_str());
        self.ledger.create(Kind::Job, space, job.manifest()).await?;
        let limits = WaitLimits {
            total: choice.wait,
            ..WaitLimits::default()
        };
        let (access, namespace) = (&self.access, &self.namespace);
        let pods = access.watch_pods(namespace, &self.job, limits, |_, _| {});
        let pods = pods.await?;
        let pod = pods.first().context("the runner has no pod")?;
        self.pod = pod.name.clone();
        self.refuse_second(pod).await?;
        self.send(choice, bundle, run_folder, &anchor).await
    }

    /// One run has a namespace at a time: the one whose pod was made first.
    async fn refuse_second(&self, this: &PodStatus) -> Result<()> {
        let runners = self.access.runner_pods(&self.namespace).await?;
        let is_first = |pod: &&PodStatus| {
            pod.run != self.run
                && is_busy(pod)
                && (&pod.created, &pod.name) < (&this.created, &this.name)
        };
        match runners.iter().find(is_first) {
            None => Ok(()),
            Some(first) => bail!(
                "namespace {} is used by run {} since {}; wait for its end, or choose another namespace",
                self.namespace,
                first.run,
                first.created
            ),
        }
    }

    async fn send(
        &self,
        choice: &Choice,
        bundle: &Bundle,
        run_folder: &Path,
        anchor: &Created,
    ) -> Result<()> {
        let name = run_folder.file_name().unwrap_or_default();
        let study = bundle.study()?.display().to_string();
        let arguments = ["run".to_owned(), study].into_iter();
        let submission = Submission {
            run: name.to_string_lossy().into_owned(),
            arguments: arguments.chain(choice.flags.iter().cloned()).collect(),
            variables: bundle.variables.clone(),
            place: PodPlace {
                namespace: self.namespace.clone(),
                anchor_name: anchor.name.clone(),
                anchor_uid: anchor.uid.clone(),
            },
        };
        let text = serde_json::to_vec(&submission).context("cannot write the submission")?;
        let archive = bundle.archive(FILE, &text)?;
        let command = command("receive");
        let streams = Streams {
            stdin: Some(&mut archive.as_slice()),
            stdout: &mut tokio::io::sink(),
        };
        let (access, pod) = (&self.access, &self.pod);
        let end = access.exec(&self.namespace, pod, &command, streams, SENDING_AT_MOST);
        let end = end.await.context("cannot send the study")?;
        match end.code {
            0 => Ok(()),
            code => bail!(
                "pod {pod} did not take the study (exit code {code}): {}",
                end.stderr.trim_end()
            ),
        }
    }

    /// The given run of a namespace, or the newest one that goes on there.
    pub(super) async fn find(place: &Place, wanted: Option<&str>) -> Result<Self> {
        let access = place.access().await?;
        let namespace = place.namespace_in(&access);
        let mut pods = access.runner_pods(&namespace).await?;
        let all: Vec<String> = pods.iter().map(|pod| pod.run.clone()).collect();
        let newest = pods.iter().rposition(|pod| match wanted {
            Some(run) => pod.run == run,
            None => is_busy(pod),
        });
        let Some(newest) = newest else {
            let what = wanted.map_or("no run goes on".to_owned(), |run| {
                format!("there is no run {run}")
            });
            let there = match all.is_empty() {
                true => String::new(),
                false => format!("; it has the runs {}", all.join(", ")),
            };
            bail!(
                "{what} in namespace {namespace} of {}{there}",
                access.origin.server
            );
        };
        let pod = pods.swap_remove(newest);
        let mut ledger = Ledger::new(access.clone(), None, &pod.run);
        let job = job_name(&pod.run);
        ledger.take_over(&namespace, &job);
        Ok(Self {
            job,
            access,
            namespace,
            run: pod.run,
            pod: pod.name,
            ledger,
        })
    }

    /// `run a-1 is driven by pod waggle-a-1-runner-x in namespace load of https://…`
    pub(super) fn line(&self) -> String {
        format!(
            "run {} is driven by pod {} in namespace {} of {}",
            self.run, self.pod, self.namespace, self.access.origin.server
        )
    }

    /// The run goes on, or its results are not fetched: it is nobody's remains, and the cluster knows it.
    pub(super) fn leave(self) {
        self.ledger.forget();
    }

    /// The command that shows the run again, from wherever it is given.
    pub(super) fn attach_command(&self, kubeconfig: Option<&Path>, runs: &Path) -> String {
        let mut command = format!("waggle run --attach={} --cluster", self.run);
        if let Some(context) = &self.access.origin.context {
            command += &format!("={}", shell_word(context));
        }
        command += &format!(" --namespace {}", shell_word(&self.namespace));
        let runs = Some(runs).filter(|runs| *runs != Path::new(RUNS));
        for (flag, path) in [("--kubeconfig", kubeconfig), ("--runs", runs)] {
            if let Some(path) = path {
                command += &format!(" {flag} {}", shell_word(&path.display().to_string()));
            }
        }
        command
    }

    /// Removes what was made, or keeps it; what is still there is returned.
    pub(super) async fn end(mut self, keeps: bool) -> Vec<String> {
        if keeps {
            let (job, namespace) = (&self.job, &self.namespace);
            let kept =
                format!("the Job {job} in namespace {namespace} is kept, because the run failed");
            self.ledger.keep();
            return vec![kept];
        }
        let left = self.ledger.delete_all(REMOVAL_AT_MOST).await;
        left.iter().map(ToString::to_string).collect()
    }
}

/// It waits for a study, or drives a run, or its results are not fetched.
fn is_busy(pod: &PodStatus) -> bool {
    !pod.is_terminating && matches!(pod.phase.as_str(), "Pending" | "Running")
}

fn job_name(run: &str) -> String {
    format!("waggle-{run}-runner")
}

/// A command in the pod.
pub(super) fn command(action: &str) -> [&str; 4] {
    [PROGRAM, "__runner", action, FOLDER]
}

impl Place {
    pub(super) async fn access(&self) -> Result<Access> {
        let access = Access::load(self.kubeconfig.as_deref(), self.context.as_deref());
        access.await.map_err(|why| anyhow!("{why}"))
    }

    pub(super) fn namespace_in(&self, access: &Access) -> String {
        let given = self.namespace.clone();
        given.unwrap_or_else(|| access.origin.namespace.clone())
    }
}
