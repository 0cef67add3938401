//! Running programs in the project's folder, and steps with their names, times and ends.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

/// The project's folder.
pub(crate) struct Root(PathBuf);

impl Root {
    /// Found from the place of this package.
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

    /// Where cargo puts what it builds.
    pub(crate) fn target(&self) -> PathBuf {
        let set = env::var_os("CARGO_TARGET_DIR").filter(|folder| !folder.is_empty());
        self.0.join(set.unwrap_or_else(|| "target".into()))
    }

    /// Runs cargo; an error if it does not end well.
    pub(crate) fn cargo(&self, arguments: &[&str]) -> Result<()> {
        self.cargo_with(arguments, &[])
    }

    /// Runs cargo with more in its environment.
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

    /// What a program prints; an error if it does not end well.
    pub(crate) fn output(&self, command: &mut Command) -> Result<String> {
        let told = format!("{command:?}");
        let output = command
            .current_dir(&self.0)
            .output()
            .with_context(|| format!("starting {told}"))?;
        if !output.status.success() {
            let errors = String::from_utf8_lossy(&output.stderr);
            bail!("{told} ended with {}: {errors}", output.status);
        }
        String::from_utf8(output.stdout).with_context(|| format!("reading the output of {told}"))
    }
}

/// The cargo that runs these chores.
pub(crate) fn cargo_program() -> OsString {
    env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// What has run so far and how it ended. A step runs also when one before it failed: all that is wrong, at once.
#[derive(Default)]
pub(crate) struct Steps(Vec<Step>);

struct Step {
    name: String,
    took: Duration,
    failure: Option<String>,
}

impl Steps {
    pub(crate) fn run(&mut self, name: &str, work: impl FnOnce() -> Result<()>) {
        println!("── {name}");
        let start = Instant::now();
        let failure = work().err().map(|error| format!("{error:#}"));
        self.note(name, start.elapsed(), failure);
    }

    /// Notes a step that ran elsewhere.
    pub(crate) fn note(&mut self, name: &str, took: Duration, failure: Option<String>) {
        match &failure {
            None => println!("── {name}: fine, {:.1} s", took.as_secs_f64()),
            Some(failure) => eprintln!("{failure}\n── {name}: FAILED, {:.1} s", took.as_secs_f64()),
        }
        let name = name.to_owned();
        self.0.push(Step {
            name,
            took,
            failure,
        });
    }

    /// Prints every step with its time; `true` if none failed.
    pub(crate) fn summary(&self) -> bool {
        println!();
        let wide = self.0.iter().map(|step| step.name.len()).max().unwrap_or(0);
        for step in &self.0 {
            let end = step.failure.as_ref().map_or("fine", |_| "FAILED");
            println!(
                "{:wide$}  {:7.1} s  {end}",
                step.name,
                step.took.as_secs_f64()
            );
        }
        let failed = self.0.iter().filter(|step| step.failure.is_some()).count();
        match failed {
            0 => println!("all fine"),
            _ => println!("{failed} of {} failed", self.0.len()),
        }
        failed == 0
    }
}
