//! The project's chores; CI runs `cargo xtask check`.
//!
//! Reads the command line and selects steps: `steps` runs programs and measures times, `tidy` and its rules check files, `suite`
//! runs the tests, `fuzz` builds and runs the fuzz targets.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "chores report their progress"
)]

mod circles;
mod deny;
mod fuzz;
mod links;
mod llms;
mod outputs;
mod programs;
mod rooms;
mod rules;
mod sbom;
mod steps;
mod suite;
mod tidy;

use std::{process::ExitCode, time::Duration};

use anyhow::{Context, Result, bail};

use crate::steps::{FEATURES, Root, Steps};

const USAGE: &str = "\
cargo xtask check [--no-fuzz] [--fuzz-seconds N]   everything below, in this order; what CI runs
cargo xtask fmt                                    formatting
cargo xtask clippy                                 lints, warnings as errors
cargo xtask docs                                   documentation, warnings as errors, and llms.txt
cargo xtask llms                                   llms.txt alone: the list of all pages with a summary of each
cargo xtask tidy                                   the rules of STYLE.md that a program can check
cargo xtask deny                                   licences, sources and known vulnerabilities of dependencies
cargo xtask sbom                                   the bills of materials of the programs
cargo xtask test [WORD…]                           all tests: the workspace's, the report's in a browser, the deployment's;
                                                   with words, those of parts that have one in their name
cargo xtask fuzz [--seconds N] [TARGET…]           each fuzz target for N seconds (30)
cargo xtask reference                              writes the generated pages of docs: keys, flags, exit codes, metrics";

/// Packages with a test of a generated page; its name begins with `the_reference_of`.
const REFERENCE_PACKAGES: [&str; 3] = ["waggle-cli", "waggle-gateway", "waggle-metrics"];

/// Default time of each fuzz target, in seconds.
const FUZZ_SECONDS: u64 = 30;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::from(2)
        }
    }
}

/// `Ok(false)`: a step failed. `Err`: the command line is wrong, or the project was not found.
fn run(arguments: &[String]) -> Result<bool> {
    let Some((command, options)) = arguments.split_first() else {
        bail!("{USAGE}");
    };
    let root = Root::find()?;
    let mut steps = Steps::default();
    match command.as_str() {
        "check" => {
            let seconds = check_options(options)?;
            steps.run("fmt", || fmt(&root));
            steps.run("clippy", || clippy(&root));
            steps.run("docs", || docs(&root));
            steps.run("tidy", || tidy::tidy(&root));
            deny::deny(&root, &mut steps);
            steps.run("sbom", || sbom::check(&root));
            suite::test(&root, &[], &mut steps);
            if let Some(seconds) = seconds {
                fuzz::fuzz(&root, seconds, &[], &mut steps);
            }
        }
        "fuzz" => {
            let (seconds, targets) = fuzz_options(options)?;
            fuzz::fuzz(&root, seconds, &targets, &mut steps);
        }
        "test" => {
            if let Some(option) = options.iter().find(|word| word.starts_with('-')) {
                bail!("unknown option {option:?}\n\n{USAGE}");
            }
            suite::test(&root, options, &mut steps);
        }
        _ if !options.is_empty() => bail!("unknown option {:?}\n\n{USAGE}", options[0]),
        "fmt" => steps.run("fmt", || fmt(&root)),
        "clippy" => steps.run("clippy", || clippy(&root)),
        "docs" => steps.run("docs", || docs(&root)),
        "llms" => steps.run("llms", || llms(&root)),
        "tidy" => steps.run("tidy", || tidy::tidy(&root)),
        "sbom" => steps.run("sbom", || sbom::check(&root)),
        "deny" => deny::deny(&root, &mut steps),
        "reference" => steps.run("reference", || reference(&root)),
        _ => bail!("unknown command {command:?}\n\n{USAGE}"),
    }
    println!("\n{}", steps.summary());
    Ok(steps.has_succeeded())
}

fn fmt(root: &Root) -> Result<()> {
    root.cargo(&["fmt", "--all", "--check"])?;
    root.cargo(&["fmt", "--manifest-path", "fuzz/Cargo.toml", "--check"])
}

fn clippy(root: &Root) -> Result<()> {
    // --locked: fails if the lock file does not match the manifests.
    root.cargo(&[
        "clippy",
        "--workspace",
        "--all-targets",
        FEATURES,
        "--locked",
        "--",
        "--deny=warnings",
    ])
}

fn docs(root: &Root) -> Result<()> {
    root.cargo_with(
        &["doc", "--workspace", "--no-deps", "--locked", FEATURES],
        &[("RUSTDOCFLAGS", "--deny=warnings")],
    )?;
    llms(root)
}

fn llms(root: &Root) -> Result<()> {
    let file = llms::write(root)?;
    println!("{}", file.display());
    Ok(())
}

/// The tests that compare the generated pages with the code write them.
fn reference(root: &Root) -> Result<()> {
    let mut arguments = vec!["test", "--quiet", "--locked", "--bins"];
    arguments.extend(["--test", "it", "--test", "docs"]);
    for package in REFERENCE_PACKAGES {
        arguments.extend(["--package", package]);
    }
    arguments.push("the_reference_of");
    root.cargo_with(&arguments, &[("UPDATE_GOLDEN", "1")])
}

/// Time of each fuzz target; `None`: no fuzzing.
fn check_options(options: &[String]) -> Result<Option<Duration>> {
    let mut seconds = Some(Duration::from_secs(FUZZ_SECONDS));
    let mut rest = options.iter();
    while let Some(option) = rest.next() {
        match option.as_str() {
            "--no-fuzz" => seconds = None,
            "--fuzz-seconds" => seconds = Some(seconds_of(rest.next())?),
            _ => bail!("unknown option {option:?}\n\n{USAGE}"),
        }
    }
    Ok(seconds)
}

fn fuzz_options(options: &[String]) -> Result<(Duration, Vec<String>)> {
    let mut seconds = Duration::from_secs(FUZZ_SECONDS);
    let mut targets = Vec::new();
    let mut rest = options.iter();
    while let Some(option) = rest.next() {
        match option.as_str() {
            "--seconds" => seconds = seconds_of(rest.next())?,
            _ if option.starts_with('-') => bail!("unknown option {option:?}\n\n{USAGE}"),
            _ => targets.push(option.clone()),
        }
    }
    Ok((seconds, targets))
}

fn seconds_of(value: Option<&String>) -> Result<Duration> {
    let value = value.context("expected a number of seconds at the end")?;
    let seconds = value
        .parse()
        .with_context(|| format!("expected a number of seconds, found {value:?}"))?;
    Ok(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{check_options, fuzz_options};

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn options_of_check() {
        let check = |text, expected: Option<Option<u64>>| {
            let options = check_options(&words(text)).ok();
            let expected = expected.map(|seconds| seconds.map(Duration::from_secs));
            assert_eq!(options, expected, "{text}");
        };
        check("", Some(Some(30)));
        check("--no-fuzz", Some(None));
        check("--fuzz-seconds 5", Some(Some(5)));
        check("--fuzz-seconds", None);
        check("--fuzz-seconds x", None);
        check("--fast", None);
    }

    #[test]
    fn options_of_fuzz() {
        let check = |text, expected: Option<(u64, &str)>| {
            let options = fuzz_options(&words(text)).ok();
            let expected =
                expected.map(|(seconds, targets)| (Duration::from_secs(seconds), words(targets)));
            assert_eq!(options, expected, "{text}");
        };
        check("", Some((30, "")));
        check("--seconds 5 a b", Some((5, "a b")));
        check("a --seconds 5", Some((5, "a")));
        check("--second 5", None);
    }
}
