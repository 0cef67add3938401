//! The GitHub Action, played from `action.yml`: a pull request against its base, a comment that the next run updates, pull requests from
//! forks, builds that fail, studies with a mistake, and inputs that would be commands if they came into a shell's text.
//!
//! The sides are scripts that start the same server with other delays, so that nothing is compiled.

mod expressions;
mod github;
mod runner;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};

use self::{
    github::{GitHub, READER, WRITER},
    runner::{Done, Job, action},
};
use crate::workspace::Workspace;

const SYSTEM: &str = "system: shop
summary: A server with a delay.
components:
  server:
    ports: [http]
    process: { command: [\"${program.shop-server}\", \"127.0.0.1:${port.http}\"] }
    ready: { tcp: { port: http } }
    stop_timeout: 5s
endpoints:
  page: { component: server, port: http }
verify:
  - { name: the server answers, endpoint: page, get: /, expect: { status: 200 } }
";

const STUDY: &str = "study: shop
question: Does the server answer as fast as before?
system: { use: shop }
load:
  model: closed
  connections: 2
  request: { name: page, get: / }
schedule: { warm_up: 200ms, measure: 600ms, interval: 100ms, repeat: 3 }
thresholds: [ page.failed == 0 ]
";

const STUDY_FILE: &str = "studies/shop.yaml";
const BUILD: &str = "mkdir -p out\ncp server.sh out/shop-server\nchmod +x out/shop-server";

/// A checkout of a repository whose commits differ in the delay of the server.
struct Repository {
    workspace: Workspace,
}

impl Repository {
    fn new() -> Self {
        let repository = Self {
            workspace: Workspace::new(),
        };
        for (file, text) in [("systems/shop/system.yaml", SYSTEM), (STUDY_FILE, STUDY)] {
            repository.write(file, text);
        }
        repository.git(&["init", "--quiet", "--initial-branch=main"]);
        repository
    }

    fn folder(&self) -> PathBuf {
        self.workspace.path().join("checkout")
    }

    fn write(&self, file: &str, text: &str) {
        let file = self.folder().join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    fn git(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("git");
        command
            .args(["-c", "user.name=a", "-c", "user.email=a@example.org"])
            .args(arguments)
            .current_dir(self.folder())
            .env("GIT_CONFIG_GLOBAL", "/dev/null");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// A commit with all files as they are.
    fn commit(&self) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message=change"]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// A commit in which the server has this delay in milliseconds, as a word of a shell.
    fn commit_delay(&self, delay: &str) -> String {
        let server = self.program("delaying");
        let script = format!("#!/bin/sh\nexec '{}' \"$1\" {delay}\n", server.display());
        self.write("server.sh", &script);
        self.commit()
    }

    /// A program of the build under test.
    fn program(&self, example: &str) -> PathBuf {
        let waggle = Path::new(env!("CARGO_BIN_EXE_waggle"));
        waggle.parent().unwrap().join("examples").join(example)
    }

    /// Runs the action for the checked-out commit.
    fn act(&self, request: &PullRequest<'_>, inputs: &[(&str, &str)]) -> Done {
        let results = self.workspace.path().join("results");
        let waggle = env!("CARGO_BIN_EXE_waggle");
        let mut given = vec![
            ("study", STUDY_FILE),
            ("component", "server"),
            ("program", "out/shop-server"),
            ("build", BUILD),
            ("metric", "page.response_time.p50"),
            ("margin", "60%"),
            ("waggle", waggle),
            ("runs", results.to_str().unwrap()),
        ];
        given.retain(|(name, _)| inputs.iter().all(|(other, _)| other != name));
        given.extend(inputs);
        // The caches of all tests.
        let caches = self.workspace.waggle(&[]);
        let caches: Vec<(&str, &Path)> = caches
            .get_envs()
            .filter(|(name, _)| name.to_string_lossy().starts_with("XDG_"))
            .filter_map(|(name, value)| Some((name.to_str()?, Path::new(value?))))
            .collect();
        let done = Job {
            workspace: &self.folder(),
            temp: &self.workspace.path().join("temp"),
            inputs: &given,
            token: request.token,
            api: &request.github.url,
            event: &request.event(),
            env: &caches,
        }
        .run();
        // Neither processes nor work trees are left, and steps set no variables of others.
        self.workspace.assert_none_left();
        assert_eq!(self.git(&["worktree", "list"]).lines().count(), 1);
        let temp = self.workspace.path().join("temp");
        assert!(!temp.join("env").exists() && !temp.join("path").exists());
        assert!(!done.log.contains(request.token), "{}", done.log);
        done
    }
}

struct PullRequest<'a> {
    base: &'a str,
    token: &'a str,
    github: &'a GitHub,
}

impl<'a> PullRequest<'a> {
    /// Of somebody who may write comments.
    fn new(base: &'a str, github: &'a GitHub) -> Self {
        Self {
            base,
            token: WRITER,
            github,
        }
    }

    fn event(&self) -> Value {
        let head = match self.token {
            READER => "fork/server",
            _ => "shop/server",
        };
        json!({ "pull_request": {
            "number": 7,
            "base": { "sha": self.base, "repo": { "full_name": "shop/server" } },
            "head": { "repo": { "full_name": head } },
        } })
    }
}

/// Checks how a comparison ended: outputs, exit code, files, summary and comment say the same. What other programs do on this machine
/// can make times doubtful, and then it is undecided, by its verdicts.
#[track_caller]
fn check_outcome(repository: &Repository, done: &Done, expected: &str, texts: &[&str]) {
    let log = &done.log;
    let folder = repository.workspace.path().join("results");
    assert_eq!(done.outputs["folder"], folder.to_str().unwrap(), "{log}");
    let read =
        |file: &str| fs::read_to_string(folder.join(file)).unwrap_or_else(|_| panic!("{log}"));
    let comparison: Value = serde_json::from_str(&read("compare.json")).unwrap();
    let cell = &comparison["cells"][0];
    let metrics = cell["metrics"].as_array().unwrap();
    let metric = metrics
        .iter()
        .find(|metric| metric["asked"] == true)
        .unwrap();
    let verdicts = cell["verdicts"].as_array().unwrap();
    let is_doubtful = verdicts.iter().any(|verdict| verdict != "valid");
    let outcome = &done.outputs["outcome"];
    let is_expected = outcome == expected || (outcome == "undecided" && is_doubtful);
    assert!(is_expected, "{expected}: {cell:#}\n{log}");
    assert_eq!(*outcome, comparison["outcome"].as_str().unwrap());
    let code: i32 = done.outputs["exit-code"].parse().unwrap();
    let least = match &**outcome {
        "same" | "better" => 0,
        "worse" => 3,
        _ => 4,
    };
    // A trial that failed or is doubtful counts more.
    assert!(
        code == least || (is_doubtful && code > least),
        "{code}\n{log}"
    );
    assert_eq!(done.has_failed, code != 0, "{log}");
    let is_red = read("compare.xml").contains("<failure") || read("compare.xml").contains("<error");
    assert_eq!(is_red, code != 0, "{}", read("compare.xml"));
    for text in texts.iter().chain([&done.summary.as_str()]) {
        assert!(text.contains(&format!("**{outcome}**")), "{text}");
        for part in ["changed ÷ baseline", "Response time", "×"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
    assert_eq!(metric["name"], "response_time_p50_us", "{metric}");
}

#[test]
fn a_comment_says_what_is_worse_and_the_next_run_updates_it() {
    let repository = Repository::new();
    let base = repository.commit_delay("30");
    // The action's comment is found on the second page, and those of others are left alone.
    let github = GitHub::start(100);
    let request = PullRequest::new(&base, &github);
    let head = repository.commit_delay("120");
    let done = repository.act(&request, &[]);
    let comments = github.comments();
    assert_eq!(comments.len(), 1, "{}", done.log);
    check_outcome(&repository, &done, "worse", &[&comments[0]]);
    for part in [
        &base[..12],
        &head[..12],
        "https://github.test/shop/server/actions/runs/42",
    ] {
        assert!(comments[0].contains(part), "{}", comments[0]);
    }

    repository.commit_delay("5");
    let done = repository.act(&request, &[]);
    let updated = github.comments();
    assert_eq!(updated.len(), 1, "{}", done.log);
    check_outcome(&repository, &done, "better", &[&updated[0]]);
    assert!(!updated[0].contains(&head[..12]), "{}", updated[0]);
}

#[test]
fn a_fork_gets_the_summary_and_no_comment() {
    let repository = Repository::new();
    let base = repository.commit_delay("30");
    repository.write("README.md", "a change that costs nothing");
    repository.commit();
    let github = GitHub::start(0);
    let request = PullRequest {
        token: READER,
        ..PullRequest::new(&base, &github)
    };
    let done = repository.act(&request, &[]);
    check_outcome(&repository, &done, "same", &[]);
    assert!(done.log.contains("::notice::no comment"), "{}", done.log);
    assert!(github.comments().is_empty());
}

#[test]
fn what_scatters_is_undecided_also_against_a_program_that_was_built_before() {
    let repository = Repository::new();
    repository.commit_delay("10");
    let built = repository.workspace.path().join("base-server");
    fs::copy(repository.folder().join("server.sh"), &built).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&built, mode).unwrap();
    // The delay is another one at every second start.
    let toggle = repository.workspace.path().join("toggle");
    let toggle = toggle.display();
    repository.commit_delay(&format!(
        "$(if rmdir '{toggle}' 2>/dev/null; then echo 200; else mkdir '{toggle}'; echo 10; fi)"
    ));
    let github = GitHub::start(0);
    let request = PullRequest::new("", &github);
    let base = built.to_str().unwrap();
    let inputs = [("base-program", base), ("allow-undecided", "true")];
    let done = repository.act(&request, &inputs);
    assert_eq!(done.outputs["outcome"], "undecided", "{}", done.log);
    assert!(
        matches!(&*done.outputs["exit-code"], "4" | "5"),
        "{}",
        done.log
    );
    assert_eq!(
        done.has_failed,
        done.outputs["exit-code"] == "5",
        "{}",
        done.log
    );
    let comments = github.comments();
    assert!(comments[0].contains("**undecided**"), "{comments:?}");
    assert!(
        comments[0].contains("the program base-server"),
        "{comments:?}"
    );
}

#[test]
fn a_build_that_fails_is_named_with_the_end_of_its_log() {
    let repository = Repository::new();
    let base = repository.commit_delay("1");
    repository.write("broken", "");
    repository.commit();
    let github = GitHub::start(0);
    let request = PullRequest::new(&base, &github);
    let build =
        format!("if [ -e broken ]; then echo 'cannot compile <b>@all</b>'; exit 9; fi\n{BUILD}");
    let done = repository.act(&request, &[("build", &build)]);
    assert!(done.has_failed, "{}", done.log);
    assert_eq!(done.outputs["outcome"], "failed");
    assert_eq!(done.outputs["exit-code"], "");
    for text in [&github.comments()[0], &done.summary] {
        assert!(
            text.contains("    the build of head ended with exit code 9"),
            "{text}"
        );
        assert!(
            text.contains("\n    cannot compile <b>@all</b>\n"),
            "{text}"
        );
    }
    // The next commit builds, and its study has a mistake.
    repository.git(&["rm", "--quiet", "broken"]);
    repository.write(STUDY_FILE, &STUDY.replace("connections", "conections"));
    repository.commit();
    let done = repository.act(&request, &[("build", &build)]);
    assert!(done.has_failed, "{}", done.log);
    assert_eq!(done.outputs["outcome"], "failed");
    assert_eq!(done.outputs["exit-code"], "2");
    let comments = github.comments();
    assert_eq!(comments.len(), 1);
    for text in [&comments[0], &done.summary] {
        assert!(text.contains("did you mean \"connections\"?"), "{text}");
    }
    assert!(!comments[0].contains("cannot compile"), "{}", comments[0]);
}

#[test]
fn no_input_is_a_command() {
    let repository = Repository::new();
    let base = repository.commit_delay("1");
    let github = GitHub::start(0);
    let request = PullRequest::new(&base, &github);
    let attack = "$(touch pwned);`touch pwned`;'\"\n--help";
    for (input, expected) in [
        ("study", "study: there is no"),
        ("component", "starts no component"),
        ("program", "has made no program"),
        ("base", "base: there is no commit"),
        ("head", "head: there is no commit"),
        ("base-program", "base-program: there is no program"),
        ("metric", "--metric"),
        ("margin", "expected a share below 1"),
        ("filter", "--filter"),
        ("waggle", "waggle: there is no program"),
        ("name", "--margin"),
    ] {
        let mut inputs = vec![(input, attack)];
        // It reaches the last step, without a run.
        inputs.extend((input == "name").then_some(("margin", "none")));
        let done = repository.act(&request, &inputs);
        assert!(done.has_failed, "{input}: {}", done.log);
        assert!(done.log.contains(expected), "{input}: {}", done.log);
        for folder in [repository.folder(), repository.workspace.path().to_owned()] {
            assert!(!folder.join("pwned").exists(), "{input}");
        }
    }
    for path in ["/etc/passwd", "../server.sh", "a/../../b"] {
        let done = repository.act(&request, &[("study", path)]);
        assert!(
            done.log.contains("expected a path in the checkout"),
            "{}",
            done.log
        );
    }
    let done = repository.act(&request, &[("comment", "false"), ("base", "nowhere")]);
    assert!(!done.log.contains("── comment"), "{}", done.log);
}

#[test]
fn steps_have_no_expression_in_their_text_and_use_no_other_action() {
    let action = action();
    assert_eq!(action["runs"]["using"], "composite");
    let text = action.to_string();
    for name in action["inputs"].as_object().unwrap().keys() {
        assert!(
            text.contains(&format!("inputs.{name}")),
            "{name} is not used"
        );
    }
    for step in action["runs"]["steps"].as_array().unwrap() {
        assert!(!step["run"].as_str().unwrap().contains("${{"), "{step}");
        assert_eq!(step["uses"], Value::Null, "{step}");
        // The token is in the last but one step alone.
        let has_token = step["env"].to_string().contains("inputs.token");
        assert_eq!(has_token, step["id"] == "comment", "{step}");
    }
}
