//! Runs programs in the project's folder, and steps with their names, times and results.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Mutex, PoisonError,
        mpsc::{self, Sender},
    },
    thread,
    time::{Duration, Instant},
    vec::IntoIter,
};

use anyhow::{Context, Result, bail};

/// What is checked and tested: packages have it, a build without it has less.
pub(crate) const FEATURES: &str =
    "--features=waggle-cli/cluster,waggle-cli/mcp,waggle-gateway/kafka-tls,waggle-sink/kafka-tls";

/// Those of a package, for a command that is about it alone.
pub(crate) fn package_features(package: &str) -> Option<String> {
    let (flag, features) = FEATURES.split_once('=')?;
    let prefix = format!("{package}/");
    let chosen: Vec<&str> = features
        .split(',')
        .filter(|feature| feature.starts_with(&prefix))
        .collect();
    (!chosen.is_empty()).then(|| format!("{flag}={}", chosen.join(",")))
}

/// The project's folder.
pub(crate) struct Root(PathBuf);

impl Root {
    /// Finds it from the folder of this package.
    pub(crate) fn find() -> Result<Self> {
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = package
            .parent()
            .context("the chores lie in no project's folder")?;
        Ok(Self(root.to_owned()))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Cargo's target folder.
    pub(crate) fn target(&self) -> PathBuf {
        let set = env::var_os("CARGO_TARGET_DIR").filter(|folder| !folder.is_empty());
        self.0.join(set.unwrap_or_else(|| "target".into()))
    }

    /// Runs cargo; an error if it fails.
    pub(crate) fn cargo(&self, arguments: &[&str]) -> Result<()> {
        self.cargo_with(arguments, &[])
    }

    /// Runs cargo with further environment variables.
    pub(crate) fn cargo_with(
        &self,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Result<()> {
        let mut command = Command::new(cargo_program());
        command.args(arguments).envs(environment.iter().copied());
        let status = command
            .current_dir(&self.0)
            .status()
            .context("starting cargo")?;
        if !status.success() {
            bail!("cargo {} ended with {status}", arguments.join(" "));
        }
        Ok(())
    }

    /// The output of a program; an error if it fails.
    pub(crate) fn output(&self, command: &mut Command) -> Result<String> {
        let command_text = format!("{command:?}");
        let output = command
            .current_dir(&self.0)
            .output()
            .with_context(|| format!("starting {command_text}"))?;
        if !output.status.success() {
            let errors = String::from_utf8_lossy(&output.stderr);
            bail!("{command_text} ended with {}: {errors}", output.status);
        }
        String::from_utf8(output.stdout)
            .with_context(|| format!("reading the output of {command_text}"))
    }
}

/// The cargo that runs these chores.
pub(crate) fn cargo_program() -> OsString {
    env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Does the work for each item, several in parallel, and hands over each result as soon as it is available.
pub(crate) fn in_parallel<T: Send, R: Send>(
    items: Vec<T>,
    at_once: usize,
    work: impl Fn(T) -> R + Sync,
    ended: impl FnMut(R),
) {
    let (sender, results) = mpsc::channel();
    let workers = at_once.min(items.len());
    let items = Mutex::new(items.into_iter());
    let (items, work) = (&items, &work);
    // The results end when all senders are dropped.
    let senders = vec![sender; workers];
    thread::scope(|scope| {
        let spawn = |sender| drop(scope.spawn(move || work_off(items, work, &sender)));
        senders.into_iter().for_each(spawn);
        results.into_iter().for_each(ended);
    });
}

/// Does the work for the items that no other thread has taken.
fn work_off<T, R>(items: &Mutex<IntoIter<T>>, work: &impl Fn(T) -> R, sender: &Sender<R>) {
    loop {
        let next = items.lock().unwrap_or_else(PoisonError::into_inner).next();
        let Some(item) = next else { return };
        // The receiver is gone only if its thread has panicked.
        let _ = sender.send(work(item));
    }
}

/// A failure, and the command that runs it alone.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) what: String,
    pub(crate) alone: String,
}

/// The steps so far and their results. A step runs even if one before it failed, so that all failures are shown at once.
#[derive(Default)]
pub(crate) struct Steps {
    all: Vec<Step>,
    not_tested: Vec<String>,
}

struct Step {
    name: String,
    took: Duration,
    failures: Vec<Failure>,
}

impl Steps {
    /// Runs a step that `cargo xtask NAME` runs alone.
    pub(crate) fn run(&mut self, name: &str, work: impl FnOnce() -> Result<()>) {
        self.run_part(name, &format!("cargo xtask {name}"), work);
    }

    /// Runs a step that another command runs alone.
    pub(crate) fn run_part(&mut self, name: &str, alone: &str, work: impl FnOnce() -> Result<()>) {
        println!("── {name}");
        let start = Instant::now();
        let failures = match work() {
            Ok(()) => Vec::new(),
            Err(error) => {
                eprintln!("{error:#}");
                vec![Failure {
                    what: name.to_owned(),
                    alone: alone.to_owned(),
                }]
            }
        };
        self.note(name, start.elapsed(), failures);
    }

    /// Adds a step that ran elsewhere.
    pub(crate) fn note(&mut self, name: &str, took: Duration, failures: Vec<Failure>) {
        let step = Step {
            name: name.to_owned(),
            took,
            failures,
        };
        println!("── {name}: {}, {:.1} s", step.end(), took.as_secs_f64());
        self.all.push(step);
    }

    /// Adds what could not be tested on this machine, a line for each, with the reason.
    pub(crate) fn note_not_tested(&mut self, lines: Vec<String>) {
        self.not_tested.extend(lines);
    }

    pub(crate) fn has_succeeded(&self) -> bool {
        self.all.iter().all(|step| step.failures.is_empty())
    }

    /// Every step with its time, what was not tested here, then every failure with the command that runs it alone, one per line.
    pub(crate) fn summary(&self) -> String {
        let mut lines = Vec::new();
        let widest = |texts: &mut dyn Iterator<Item = &String>| {
            texts.map(|text| text.chars().count()).max().unwrap_or(0)
        };
        let wide = widest(&mut self.all.iter().map(|step| &step.name));
        for step in &self.all {
            let seconds = step.took.as_secs_f64();
            lines.push(format!(
                "{:wide$}  {seconds:7.1} s  {}",
                step.name,
                step.end()
            ));
        }
        if !self.not_tested.is_empty() {
            lines.push("not tested on this machine".to_owned());
            lines.extend(self.not_tested.iter().map(|line| format!("  {line}")));
        }
        let failures = || self.all.iter().flat_map(|step| &step.failures);
        let wide = widest(&mut failures().map(|failure| &failure.what));
        match failures().count() {
            0 => lines.push("all passed".to_owned()),
            count => lines.push(format!("{count} failed; each alone:")),
        }
        for failure in failures() {
            lines.push(format!("{:wide$}  {}", failure.what, failure.alone));
        }
        lines.join("\n")
    }
}

impl Step {
    fn end(&self) -> &'static str {
        if self.failures.is_empty() {
            "passed"
        } else {
            "FAILED"
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use anyhow::bail;

    use super::{Failure, Steps, in_parallel};

    #[test]
    fn the_summary_names_what_failed_and_how_to_run_it_alone() {
        let mut steps = Steps::default();
        steps.note("fmt", Duration::from_millis(1_240), Vec::new());
        assert!(steps.has_succeeded());
        let failure = |what: &str, alone: &str| Failure {
            what: what.to_owned(),
            alone: alone.to_owned(),
        };
        let failures = vec![
            failure("waggle-cli a", "cargo test a"),
            failure("waggle-load bcd", "cargo test bcd"),
        ];
        steps.note("test", Duration::from_secs(312), failures);
        assert!(!steps.has_succeeded());
        assert_eq!(
            steps.summary(),
            "fmt       1.2 s  passed\n\
             test    312.0 s  FAILED\n\
             2 failed; each alone:\n\
             waggle-cli a     cargo test a\n\
             waggle-load bcd  cargo test bcd"
        );
    }

    #[test]
    fn the_summary_names_what_was_not_tested() {
        let mut steps = Steps::default();
        steps.note("test", Duration::from_secs(2), Vec::new());
        steps.note_not_tested(vec!["trot was not tested: no registry".to_owned()]);
        assert!(steps.has_succeeded());
        assert_eq!(
            steps.summary(),
            "test      2.0 s  passed\n\
             not tested on this machine\n  \
             trot was not tested: no registry\n\
             all passed"
        );
    }

    #[test]
    fn a_step_that_fails_does_not_keep_others_from_running() {
        let mut steps = Steps::default();
        steps.run("fmt", || bail!("wrong"));
        steps.run("tidy", || Ok(()));
        let summary = steps.summary();
        let ends: Vec<bool> = steps
            .all
            .iter()
            .map(|step| step.failures.is_empty())
            .collect();
        assert_eq!(ends, [false, true]);
        assert!(
            summary.ends_with("1 failed; each alone:\nfmt  cargo xtask fmt"),
            "{summary}"
        );
    }

    #[test]
    fn each_item_is_worked_on_once() {
        for at_once in [1, 3, 100] {
            let mut squares = Vec::new();
            in_parallel(
                (0..20).collect(),
                at_once,
                |n: u32| n * n,
                |n| squares.push(n),
            );
            squares.sort_unstable();
            let expected: Vec<u32> = (0..20).map(|n| n * n).collect();
            assert_eq!(squares, expected);
        }
    }
}
