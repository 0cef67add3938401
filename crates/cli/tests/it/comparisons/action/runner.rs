//! Plays GitHub's runner: reads `action.yml` and runs its steps as the runner does, with its variables, files, outputs and conditions.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::Value;

use super::expressions::{Contexts, Status, fill, holds};

/// The folder of the project, in which the action is.
pub(super) fn project() -> PathBuf {
    let ancestors = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    ancestors.into_iter().nth(2).unwrap().to_owned()
}

pub(super) fn action() -> Value {
    let text = fs::read_to_string(project().join("action.yml")).unwrap();
    serde_saphyr::from_str(&text).unwrap()
}

/// A job with this one action.
pub(super) struct Job<'a> {
    /// The checkout.
    pub(super) workspace: &'a Path,
    /// For the runner's files.
    pub(super) temp: &'a Path,
    /// What the workflow sets under `with`.
    pub(super) inputs: &'a [(&'a str, &'a str)],
    pub(super) token: &'a str,
    pub(super) api: &'a str,
    pub(super) event: &'a Value,
    /// Further variables of the job.
    pub(super) env: &'a [(&'a str, &'a Path)],
}

/// How the action ended.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) has_failed: bool,
    /// Of the action.
    pub(super) outputs: Contexts,
    /// What the steps printed.
    pub(super) log: String,
    pub(super) summary: String,
}

impl Job<'_> {
    pub(super) fn run(&self) -> Done {
        let action = action();
        fs::create_dir_all(self.temp).unwrap();
        let event = self.temp.join("event.json");
        fs::write(&event, self.event.to_string()).unwrap();
        let summary = self.temp.join("summary.md");
        fs::write(&summary, "").unwrap();
        let mut contexts = self.contexts(&action);
        let mut status = Status::default();
        let mut log = String::new();
        for step in action["runs"]["steps"].as_array().unwrap() {
            if !holds(step["if"].as_str(), &contexts, status) {
                continue;
            }
            let id = step["id"].as_str().unwrap();
            let output = self.temp.join(format!("output-{id}"));
            fs::write(&output, "").unwrap();
            let mut command = self.command(step, &contexts);
            command.env("GITHUB_OUTPUT", &output);
            let ran = command.output().unwrap();
            log += &format!("── {id}: {}\n", ran.status);
            log += &String::from_utf8_lossy(&ran.stdout);
            log += &String::from_utf8_lossy(&ran.stderr);
            status.has_failed |= !ran.status.success();
            for line in fs::read_to_string(&output).unwrap().lines() {
                let (name, value) = line.split_once('=').expect("NAME=VALUE");
                contexts.insert(format!("steps.{id}.outputs.{name}"), value.to_owned());
            }
        }
        let outputs = action["outputs"].as_object().unwrap();
        let outputs = outputs.iter().map(|(name, output)| {
            let value = output["value"].as_str().unwrap();
            (name.clone(), fill(value, &contexts))
        });
        Done {
            has_failed: status.has_failed,
            outputs: outputs.collect(),
            log,
            summary: fs::read_to_string(&summary).unwrap(),
        }
    }

    /// The inputs, given or by default.
    fn contexts(&self, action: &Value) -> Contexts {
        let token = ("github.token".to_owned(), self.token.to_owned());
        let mut contexts = Contexts::from([token]);
        let declared = action["inputs"].as_object().unwrap();
        for (name, _) in self.inputs {
            assert!(declared.contains_key(*name), "there is no input {name}");
        }
        for (name, input) in declared {
            let given = self.inputs.iter().find(|(given, _)| given == name);
            let value = match given {
                Some((_, value)) => (*value).to_owned(),
                None => fill(input["default"].as_str().unwrap_or_default(), &contexts),
            };
            let is_required = input["required"].as_bool() == Some(true);
            assert!(
                !is_required || given.is_some(),
                "the input {name} is required"
            );
            contexts.insert(format!("inputs.{name}"), value);
        }
        contexts
    }

    /// The shell of a step, with the variables of a runner and no others.
    fn command(&self, step: &Value, contexts: &Contexts) -> Command {
        assert_eq!(step["shell"], "bash");
        let script = self.temp.join("step.sh");
        fs::write(&script, fill(step["run"].as_str().unwrap(), contexts)).unwrap();
        let mut command = Command::new("bash");
        command
            .args(["--noprofile", "--norc", "-e", "-o", "pipefail"])
            .arg(&script)
            .current_dir(self.workspace)
            .stdin(Stdio::null())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.temp)
            .env("CI", "true")
            .env("GITHUB_ACTIONS", "true")
            .env("GITHUB_ACTION_PATH", project())
            .env("GITHUB_WORKSPACE", self.workspace)
            .env("GITHUB_EVENT_PATH", self.temp.join("event.json"))
            .env("GITHUB_EVENT_NAME", "pull_request")
            .env("GITHUB_STEP_SUMMARY", self.temp.join("summary.md"))
            .env("GITHUB_ENV", self.temp.join("env"))
            .env("GITHUB_PATH", self.temp.join("path"))
            .env("GITHUB_REPOSITORY", "shop/server")
            .env("GITHUB_API_URL", self.api)
            .env("GITHUB_SERVER_URL", "https://github.test")
            .env("GITHUB_RUN_ID", "42")
            .env("RUNNER_TEMP", self.temp)
            .env("no_proxy", "127.0.0.1")
            .envs(self.env.iter().copied());
        for (name, value) in step["env"].as_object().into_iter().flatten() {
            command.env(name, fill(value.as_str().unwrap(), contexts));
        }
        command
    }
}
