//! All tests: those of the workspace, of the report in a browser and of the deployment of the gateway. Several run in parallel,
//! because most of them wait; each writes to its own file. `outputs` reads which tests failed.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

use crate::{
    outputs,
    programs::{self, Program, Tests},
    steps::{FEATURES, Failure, Root, Steps, in_parallel},
};

/// Timeout of a part. The first run of the deployment's on a new machine compiles some thousand packages of Go, beside the other parts:
/// on two slow CPUs that has taken more than 20 minutes.
const PART_AT_MOST: Duration = Duration::from_secs(40 * 60);
/// Rounds in which the children of a part that is killed are searched.
const HALT_ROUNDS: usize = 100;
/// Interval of checks whether a part has ended.
const POLL: Duration = Duration::from_millis(50);
/// Most lines of the output of a failed part that are shown.
const SHOWN_LINES: usize = 200;
/// More parts than CPUs, because end-to-end tests wait most of the time.
const PARTS_PER_CPU: usize = 2;

/// Tests of this program with this word in their name have the machine to themselves, when all others have ended: a cluster of three
/// nodes with load on it needs more than its share of two CPUs.
const ALONE_PROGRAM: (&str, &str) = ("waggle-cli", "--test it");
const ALONE: &str = "in_cluster";

/// The tests of one command.
#[derive(Debug)]
enum Part {
    Program(Program),
    /// The report and served pages in a real browser.
    Browser,
    /// The image's recipe and the chart.
    Deploy,
}

/// The result of a part.
struct Ended {
    name: String,
    took: Duration,
    log: PathBuf,
    /// Number of passed tests, if they are counted.
    passed: Option<usize>,
    failures: Vec<Failure>,
    /// What this machine does not let it check, with the reasons.
    not_tested: Vec<String>,
}

/// Builds and runs all tests, or those of parts whose name contains one of these words.
pub(crate) fn test(root: &Root, chosen: &[String], steps: &mut Steps) {
    let mut built = Vec::new();
    steps.run_part(
        "test: build",
        &format!("cargo test --workspace --no-run {FEATURES}"),
        || {
            built = programs::build(root)?;
            Ok(())
        },
    );
    // The longest ones begin first.
    let mut parts = vec![Part::Deploy, Part::Browser];
    built.sort_by_key(|program| !program.target.starts_with("--test"));
    let alone = split_alone(&mut built);
    parts.extend(built.into_iter().map(Part::Program));
    let mut alone: Vec<Part> = alone.into_iter().map(Part::Program).collect();
    let is_chosen = |part: &Part| {
        let mut words = chosen.iter();
        chosen.is_empty() || words.any(|word| part.name().contains(word.as_str()))
    };
    parts.retain(is_chosen);
    alone.retain(is_chosen);
    if parts.is_empty() && alone.is_empty() {
        steps.run_part("test", "cargo xtask test", || {
            bail!("no part has {} in its name", chosen.join(" or "))
        });
    }
    let at_once = PARTS_PER_CPU * thread::available_parallelism().map_or(1, usize::from);
    let (mut passed, mut failed) = (0, 0);
    for (parts, at_once) in [(parts, at_once), (alone, 1)] {
        in_parallel(
            parts,
            at_once,
            |part| part.run(root),
            |ended| {
                passed += ended.passed.unwrap_or(0);
                failed += ended.failures.len();
                note(ended, steps);
            },
        );
    }
    println!("tests: {passed} passed, {failed} failed");
}

/// Takes the tests that run alone out of the programs.
fn split_alone(programs: &mut [Program]) -> Vec<Program> {
    let mut alone = Vec::new();
    for program in programs {
        if (program.package.as_str(), program.target.as_str()) == ALONE_PROGRAM {
            program.tests = Tests::Without(ALONE);
            alone.push(Program {
                tests: Tests::With(ALONE),
                ..program.clone()
            });
        }
    }
    alone
}

/// Shows why a part failed, and notes it.
fn note(ended: Ended, steps: &mut Steps) {
    if !ended.failures.is_empty() {
        show(&ended.log);
    }
    let name = match ended.passed {
        Some(passed) => format!("test: {} ({passed} passed)", ended.name),
        None => format!("test: {}", ended.name),
    };
    steps.note(&name, ended.took, ended.failures);
    steps.note_not_tested(ended.not_tested);
}

/// Prints the output of a failed part, from its first failure.
fn show(log: &Path) {
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let from = text.find("\nfailures:\n").unwrap_or(0);
    let lines: Vec<&str> = text[from..].lines().collect();
    let first = lines.len().saturating_sub(SHOWN_LINES);
    println!(
        "{}\nall of it: {}",
        lines[first..].join("\n"),
        log.display()
    );
}

impl Part {
    fn name(&self) -> String {
        match self {
            Self::Program(program) => {
                let (package, target) = (&program.package, &program.target);
                match program.tests {
                    Tests::With(word) => format!("{package} {target} {word}"),
                    Tests::All | Tests::Without(_) => format!("{package} {target}"),
                }
            }
            Self::Browser => "browser".to_owned(),
            Self::Deploy => "deploy".to_owned(),
        }
    }

    fn command(&self, root: &Root) -> Command {
        let mut command = match self {
            Self::Program(program) => return program.command(),
            Self::Browser => {
                let mut node = Command::new("node");
                node.args(["--test", "--test-reporter=tap", "tests/browser/"]);
                let seeded = root.target().join("debug/examples/seeded_report");
                node.env("WAGGLE_SEEDED_REPORT", seeded);
                node.env("WAGGLE", root.target().join("debug/waggle"));
                node
            }
            Self::Deploy => {
                let mut deploy = Command::new("gateway/deploy/test");
                let gateway = root.target().join("debug/waggle-gateway");
                deploy.env("WAGGLE_CHECK_GATEWAY", gateway);
                deploy
            }
        };
        command.current_dir(root.path());
        command
    }

    /// The failed tests, and how to run each alone. If no name is known, the whole part.
    fn failures(&self, output: &str) -> Vec<Failure> {
        let names = match self {
            Self::Program(_) => {
                let mut outcome = outputs::rust(output);
                outcome.failed.append(&mut outcome.running);
                outcome.failed
            }
            Self::Browser => outputs::tap(output),
            Self::Deploy => outputs::go(output),
        };
        let part = self.name();
        if names.is_empty() {
            return vec![Failure {
                what: part,
                alone: self.full_command(),
            }];
        }
        let failure = |name: &String| Failure {
            what: format!("{part}: {name}"),
            alone: self.test_alone(name),
        };
        names.iter().map(failure).collect()
    }

    /// Whether the output shows that the tests have ended.
    fn is_concluded(&self, output: &str) -> bool {
        let starts = |start: &str| output.lines().any(|line| line.starts_with(start));
        match self {
            // A word that no test has is out of date.
            Self::Program(program) if matches!(program.tests, Tests::With(_)) => {
                starts("test result: ok.") && !starts("test result: ok. 0 passed")
            }
            Self::Program(_) => starts("test result: ok."),
            Self::Browser => starts("# pass ") && !starts("# pass 0"),
            Self::Deploy => starts("ok "),
        }
    }

    /// The command that runs all of it.
    fn full_command(&self) -> String {
        match self {
            Self::Program(program) => program.full_command(),
            Self::Browser => "node --test tests/browser/".to_owned(),
            Self::Deploy => "gateway/deploy/test".to_owned(),
        }
    }

    /// The command that runs one of its tests.
    fn test_alone(&self, test: &str) -> String {
        match self {
            Self::Program(program) => program.test_alone(test),
            Self::Browser => {
                // The name is a regular expression.
                let pattern: String = test
                    .chars()
                    .flat_map(|letter| {
                        let is_plain = letter.is_alphanumeric() || " ,-_:".contains(letter);
                        (!is_plain).then_some('\\').into_iter().chain([letter])
                    })
                    .collect();
                let pattern = shell_quote(&format!("^{pattern}$"));
                format!("node --test --test-name-pattern={pattern} tests/browser/")
            }
            Self::Deploy => format!(
                "{} -run {}",
                self.full_command(),
                shell_quote(&format!("^{test}$"))
            ),
        }
    }

    fn run(self, root: &Root) -> Ended {
        let name = self.name();
        let log = root.target().join("test-output").join(format!(
            "{}.log",
            name.replace([' ', '/'], "_").replace("--", "")
        ));
        let start = Instant::now();
        let ran = run_into(&log, &mut self.command(root));
        let output = fs::read(&log).unwrap_or_default();
        let mut output = String::from_utf8_lossy(&output).into_owned();
        if let Err(error) = &ran {
            output.push_str(&format!("\n{name}: {error:#}\n"));
            // It is shown from the file; if writing fails, so does reading.
            let _ = fs::write(&log, &output);
        }
        // A program that ended before it printed the result of its tests has not passed.
        let failures = match ran {
            Ok(()) if self.is_concluded(&output) => Vec::new(),
            _ => self.failures(&output),
        };
        let passed = match self {
            Self::Program(_) => Some(outputs::rust(&output).passed),
            Self::Browser | Self::Deploy => None,
        };
        Ended {
            name,
            took: start.elapsed(),
            log,
            passed,
            failures,
            not_tested: outputs::not_tested(&output),
        }
    }
}

/// Runs a command to its end, or until its timeout; both its streams go to the file.
fn run_into(log: &Path, command: &mut Command) -> Result<()> {
    let command_text = format!("{command:?}");
    let folder = log.parent().context("a log lies in a folder")?;
    fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    let file = File::create(log).with_context(|| format!("making {}", log.display()))?;
    let child = command
        .stdin(Stdio::null())
        .stdout(file.try_clone().context("using a log twice")?)
        .stderr(file)
        .spawn();
    let mut child = child.with_context(|| format!("starting {command_text}"))?;
    match ended_within(&mut child, PART_AT_MOST)
        .with_context(|| format!("waiting for {command_text}"))?
    {
        Some(status) if status.success() => Ok(()),
        Some(status) => bail!("{command_text} ended with {status}"),
        None => bail!(
            "{command_text} did not end within {} s and was killed",
            PART_AT_MOST.as_secs()
        ),
    }
}

/// The status of a child; `None`: it timed out, and was killed with all its descendants.
fn ended_within(child: &mut Child, at_most: Duration) -> io::Result<Option<ExitStatus>> {
    let start = Instant::now();
    while start.elapsed() < at_most {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        thread::sleep(POLL);
    }
    kill_all(child.id())?;
    child.wait()?;
    Ok(None)
}

/// Kills a process and all its descendants, because servers of its tests would live on. Each is stopped first, because a running
/// process may start others, and a process without its parent cannot be found.
fn kill_all(pid: u32) -> io::Result<()> {
    let mut halted = Vec::new();
    for _ in 0..HALT_ROUNDS {
        let mut processes = descendants(pid);
        processes.push(pid);
        processes.retain(|pid| !halted.contains(pid));
        if processes.is_empty() {
            break;
        }
        signal("-STOP", &processes)?;
        halted.append(&mut processes);
    }
    signal("-KILL", &halted)
}

/// A process may have ended already.
fn signal(name: &str, pids: &[u32]) -> io::Result<()> {
    let mut kill = Command::new("kill");
    kill.arg(name).args(pids.iter().map(u32::to_string));
    kill.stderr(Stdio::null()).status().map(drop)
}

/// All descendants of a process.
fn descendants(pid: u32) -> Vec<u32> {
    let mut processes = vec![pid];
    let mut next = 0;
    while let Some(parent) = processes.get(next).copied() {
        next += 1;
        let threads = fs::read_dir(format!("/proc/{parent}/task"));
        for thread in threads.into_iter().flatten().filter_map(Result::ok) {
            let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            processes.extend(children.split_whitespace().flat_map(str::parse::<u32>));
        }
    }
    processes.split_off(1)
}

/// Quotes a word for a shell.
fn shell_quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use std::{
        io::{BufRead, BufReader, Read},
        path::PathBuf,
        process::{Command, Stdio},
        sync::mpsc,
        thread,
        time::Duration,
    };

    use super::{Part, ended_within, split_alone};
    use crate::programs::{Program, Tests};

    /// Less than the time that a leftover process would run.
    const PIPE_ENDS_WITHIN: Duration = Duration::from_secs(20);

    fn check(part: &Part, output: &str, expected: &[&str]) {
        let failures: Vec<String> = part
            .failures(output)
            .into_iter()
            .map(|failure| failure.alone)
            .collect();
        assert_eq!(failures, expected, "{part:?}");
    }

    /// Kills the script of a shell as soon as it prints that it is up.
    #[track_caller]
    fn check_killed(script: &str) {
        // The pipe ends when the last process that holds it has ended.
        let mut child = Command::new("sh")
            .args(["-c", &format!("sh -c '{script}'; true")])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert_eq!(line, "up\n");
        assert_eq!(ended_within(&mut child, Duration::ZERO).unwrap(), None);
        let (sender, rest) = mpsc::channel();
        thread::spawn(move || {
            let mut rest = String::new();
            sender.send(output.read_to_string(&mut rest).map(|_| rest))
        });
        let rest = rest.recv_timeout(PIPE_ENDS_WITHIN);
        assert_eq!(rest.expect("all have ended").unwrap(), "");
    }

    #[test]
    fn a_part_that_hangs_is_killed_with_all_that_it_started() {
        check_killed("echo up; sleep 60; true");
    }

    #[test]
    fn what_is_started_while_a_part_is_killed_is_killed_too() {
        check_killed("echo up; for i in $(seq 300); do sleep 60 & done; wait");
    }

    #[test]
    fn what_failed_is_named_with_its_command() {
        let program = Part::Program(Program {
            package: "waggle-cli".to_owned(),
            target: "--test it".to_owned(),
            file: PathBuf::new(),
            folder: PathBuf::new(),
            tests: Tests::All,
        });
        let failed = |name: &str| {
            format!(
                "\nfailures:\n    {name}\n\ntest result: FAILED. 0 passed; 1 failed; 0 ignored\n"
            )
        };
        let cli = "-p waggle-cli --features=waggle-cli/cluster,waggle-cli/mcp";
        let all = format!("cargo build {cli} --examples && cargo test {cli} --test it");
        let command = format!("{all} -- --exact load::ends");
        check(&program, &failed("load::ends"), &[&command]);
        check(&program, "Segmentation fault", &[&all]);
        let Part::Program(program) = program else {
            unreachable!("it is one");
        };
        let mut programs = [program];
        let alone = split_alone(&mut programs).remove(0);
        assert_eq!(
            programs[0].full_command(),
            format!("{all} -- --skip in_cluster")
        );
        let alone = Part::Program(alone);
        assert_eq!(alone.name(), "waggle-cli --test it in_cluster");
        check(
            &alone,
            "Segmentation fault",
            &[&format!("{all} -- in_cluster")],
        );
        assert!(!alone.is_concluded("test result: ok. 0 passed; 0 failed"));
        assert!(alone.is_concluded("test result: ok. 8 passed; 0 failed"));
        let command = r"node --test --test-name-pattern='^it\'\''s drawn \(once\)$' tests/browser/";
        check(&Part::Browser, "not ok 1 - it's drawn (once)\n", &[command]);
        check(
            &Part::Browser,
            "no Chromium",
            &["node --test tests/browser/"],
        );
        check(
            &Part::Deploy,
            "--- FAIL: TestChart (0.10s)\n",
            &["gateway/deploy/test -run '^TestChart$'"],
        );
        check(&Part::Deploy, "no Go", &["gateway/deploy/test"]);
    }
}
