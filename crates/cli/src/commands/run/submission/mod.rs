//! A run that is driven from a pod of a cluster: its study is sent there (`bundle`), the run is shown here, and its folder is fetched.
//! `choice` is what the study and the command line say of it, `job` makes and finds it, `remote` talks to its pod.

mod bundle;
mod choice;
mod job;
mod remote;

use std::{
    path::Path,
    thread::{self, JoinHandle},
    time::Duration,
};

use anyhow::{Context, Result, anyhow};
use tokio::{runtime::Handle, sync::oneshot};
use waggle_runner::object_name;

use self::{
    bundle::Bundle,
    choice::{Choice, Place},
    job::Submitted,
    remote::Remote,
};
use super::attach::{
    follow::{Open, Shown, follow},
    screen::Presentation,
};
use crate::{
    arguments::Run,
    inputs::{runs, study::Loaded},
    output,
    process::{exit::Exit, interrupts::Interrupts},
};

/// A stream that was lost is opened again after so long, and after twice as long each time.
const PAUSE: Duration = Duration::from_millis(500);
/// A cluster that does not answer is tried again for so long.
const OPEN_TIMEOUT: Duration = Duration::from_secs(120);

/// Sends a study to a pod that is made for it, shows the run, and fetches its folder.
pub(super) fn submit(arguments: &Run, loaded: &Loaded, interrupts: &Interrupts) -> Result<Exit> {
    let choice = Choice::new(arguments, loaded)?;
    let mut bundle = Bundle::new(&arguments.choice, loaded)?;
    let reserved = runs::new_run(&arguments.runs, &loaded.study.name, runs::OTHER_RUNS)?;
    interrupts.listen()?;
    let connections = Connections::start()?;
    if loaded.system.manifests.is_some() {
        let rendering = async {
            let access = choice.place.access().await?;
            bundle
                .render(loaded, &choice.place.namespace_in(&access))
                .await
        };
        connections.handle.block_on(rendering)?;
    }
    let submitted = Submitted::make(&choice, &bundle, reserved.folder(), interrupts);
    let submitted = connections.handle.block_on(submitted)?;
    let Some(submitted) = submitted else {
        return Ok(Exit::Interrupted);
    };
    let again = submitted.attach_command(choice.place.kubeconfig.as_deref(), &arguments.runs);
    if !arguments.quiet {
        output::print_progress(&format!("{}; to show it again: {again}", submitted.line()));
    }
    Submission {
        arguments,
        handle: &connections.handle,
        is_own: true,
        again,
    }
    .show_and_fetch(submitted)
}

/// Shows a run that goes on in a cluster, and fetches its folder at its end.
pub(super) fn attach(arguments: &Run, given: Option<&Path>) -> Result<Exit> {
    let place = Place::of_flags(&arguments.in_cluster);
    let connections = Connections::start()?;
    // By the name that it was said to have, or by that of its folder.
    let wanted = given.map(object_name);
    let submitted = connections
        .handle
        .block_on(Submitted::find(&place, wanted.as_deref()))?;
    let again = submitted.attach_command(place.kubeconfig.as_deref(), &arguments.runs);
    Submission {
        arguments,
        handle: &connections.handle,
        is_own: false,
        again,
    }
    .show_and_fetch(submitted)
}

/// A thread for connections, which go on while this one shows the run.
struct Connections {
    handle: Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Connections {
    fn start() -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("cannot start the runtime")?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel();
        let thread = thread::Builder::new()
            .name("connections".to_owned())
            .spawn(move || {
                runtime.block_on(stopped).ok();
            })
            .context("cannot start the thread of connections")?;
        Ok(Self {
            handle,
            stop: Some(stop),
            thread: Some(thread),
        })
    }
}

impl Drop for Connections {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            stop.send(()).ok();
        }
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

/// A run in a cluster, as this command shows it.
struct Submission<'a> {
    arguments: &'a Run,
    handle: &'a Handle,
    /// It was begun by this command.
    is_own: bool,
    /// The command that shows it again.
    again: String,
}

impl Submission<'_> {
    fn show_and_fetch(&self, submitted: Submitted) -> Result<Exit> {
        let remote = Remote::new(self.handle.clone(), &submitted);
        let Shown { exit, is_over } = match self.show(&remote) {
            Ok(shown) => shown,
            Err(why) if remote.is_lost() => {
                self.remove(submitted, true);
                return Err(why);
            }
            Err(why) => {
                submitted.leave();
                let again = &self.again;
                let reason = remote.last_problem();
                let reason = reason.map_or_else(String::new, |why| format!(" ({why})"));
                return Err(anyhow!(
                    "{why}{reason}; the run may go on, and is shown again by: {again}"
                ));
            }
        };
        if !is_over {
            submitted.leave();
            return Ok(exit);
        }
        let interrupts = Interrupts::new(|| {});
        interrupts.listen()?;
        match remote.fetch(&self.arguments.runs, &interrupts) {
            Ok(Some(folder)) if !self.arguments.quiet => {
                output::print_progress(&format!("fetched {}", folder.display()));
            }
            Ok(_) => {}
            Err(_) if remote.is_gone() => {
                self.remove(submitted, true);
                return Err(anyhow!("{}", remote.loss()));
            }
            Err(why) => {
                submitted.leave();
                let again = &self.again;
                return Err(anyhow!(
                    "{why:#}; the folder of the run is not fetched, and its pod keeps it for four hours: {again}"
                ));
            }
        }
        remote.finish();
        self.remove(submitted, matches!(exit, Exit::TrialFailed | Exit::Mistake));
        Ok(exit)
    }

    fn show(&self, remote: &Remote) -> Result<Shown> {
        let presentation = Presentation {
            is_quiet: self.arguments.quiet,
            may_be_live: !self.arguments.no_live,
            again: self.again.clone(),
            is_own: self.is_own,
            pause: PAUSE,
            runs: Some(self.arguments.runs.clone()),
            open_timeout: OPEN_TIMEOUT,
        };
        let mut open = || remote.open();
        let open: Open<'_> = &mut open;
        follow(open, &presentation)
    }

    /// Removes what the run has made, unless it failed and that is to be kept.
    fn remove(&self, submitted: Submitted, has_failed: bool) {
        let keeps = has_failed && self.arguments.in_cluster.keep_pods;
        for problem in self.handle.block_on(submitted.end(keeps)) {
            output::print_progress(&problem);
        }
    }
}
