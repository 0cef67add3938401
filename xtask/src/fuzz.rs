//! Builds the fuzz targets with coverage on a stable compiler and runs each for a while from its seeds.
//!
//! The targets are in `fuzz/targets`, seeds in `fuzz/seeds/TARGET`; the corpus and the findings of a run are below the build
//! folder, in `fuzz/corpus` and `fuzz/artifacts`.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

use crate::steps::{Failure, Root, Steps, cargo_program, in_parallel};

/// Instruments the code so that libFuzzer sees covered code and comparisons. `-Zsanitizer` would need a nightly compiler; without
/// one, memory errors in unsafe code are not found, panics and overflows are.
const COVERAGE_FLAGS: &str = "-Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares \
    --cfg fuzzing -Clink-dead-code -Ccodegen-units=1 -Cdebug-assertions";

/// An input that takes longer is reported as a hang.
const INPUT_AT_MOST: Duration = Duration::from_secs(10);
const MEMORY_MAX_MB: u32 = 2048;
const INPUT_MAX_BYTES: u32 = 64 * 1024;
/// Lines of a failed target's output that are shown.
const SHOWN_LINES: usize = 40;

/// Builds all targets, and runs the named ones, or all, each for `time`, one per CPU in parallel.
pub(crate) fn fuzz(root: &Root, time: Duration, named: &[String], steps: &mut Steps) {
    let mut built = None;
    steps.run_part("fuzz: build", "cargo xtask fuzz", || {
        built = Some(build(root, named)?);
        Ok(())
    });
    let Some(built) = built else { return };
    let at_once = thread::available_parallelism().map_or(1, usize::from);
    in_parallel(
        built.targets.clone(),
        at_once,
        |target| {
            let start = Instant::now();
            let error = run(root, &built, &target, time).err();
            (target, start.elapsed(), error)
        },
        |(target, took, error)| note(steps, &target, took, error),
    );
}

/// Prints why a target failed, and notes it.
fn note(steps: &mut Steps, target: &str, took: Duration, error: Option<anyhow::Error>) {
    let name = format!("fuzz: {target}");
    let mut failures = Vec::new();
    if let Some(error) = error {
        eprintln!("{error:#}");
        failures.push(Failure {
            what: name.clone(),
            alone: format!("cargo xtask fuzz {target}"),
        });
    }
    steps.note(&name, took, failures);
}

/// Targets, and the folder of their programs.
struct Built {
    programs: PathBuf,
    targets: Vec<String>,
}

fn build(root: &Root, named: &[String]) -> Result<Built> {
    let all = targets(&root.path().join("fuzz/targets"))?;
    if let Some(unknown) = named.iter().find(|name| !all.contains(name)) {
        bail!(
            "there is no fuzz target {unknown:?}; there are {}",
            all.join(", ")
        );
    }
    let host = host(root)?;
    let target_folder = root.target().join("fuzz");
    let mut cargo = Command::new(cargo_program());
    cargo
        .args([
            "build",
            "--release",
            "--bins",
            "--manifest-path",
            "fuzz/Cargo.toml",
        ])
        // With a target, the flags do not apply to build scripts.
        .args(["--target", &host])
        .env("CARGO_TARGET_DIR", &target_folder)
        .env("RUSTFLAGS", COVERAGE_FLAGS)
        .env_remove("CARGO_ENCODED_RUSTFLAGS");
    let status = cargo
        .current_dir(root.path())
        .status()
        .context("starting cargo")?;
    if !status.success() {
        bail!("building the fuzz targets ended with {status}");
    }
    Ok(Built {
        programs: target_folder.join(host).join("release"),
        targets: if named.is_empty() {
            all
        } else {
            named.to_vec()
        },
    })
}

/// The names of the targets, which are those of their files.
fn targets(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))? {
        let path = entry?.path();
        let is_source = path.extension().is_some_and(|end| end == "rs");
        names.extend(
            path.file_stem()
                .filter(|_| is_source)
                .map(|stem| stem.to_string_lossy().into_owned()),
        );
    }
    names.sort();
    Ok(names)
}

fn host(root: &Root) -> Result<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let printed = root.output(Command::new(rustc).arg("-vV"))?;
    let host = printed.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc does not print its host")?.to_owned())
}

fn run(root: &Root, built: &Built, target: &str, time: Duration) -> Result<()> {
    let kept = root.target().join("fuzz");
    let corpus = kept.join("corpus").join(target);
    let artifacts = kept.join("artifacts").join(target);
    for folder in [&corpus, &artifacts] {
        fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    }
    let program = built.programs.join(target);
    let mut command = Command::new(&program);
    command
        .arg(&corpus)
        .arg(root.path().join("fuzz/seeds").join(target))
        .arg(format!("-max_total_time={}", time.as_secs().max(1)))
        .arg(format!("-timeout={}", INPUT_AT_MOST.as_secs()))
        .arg(format!("-rss_limit_mb={MEMORY_MAX_MB}"))
        .arg(format!("-max_len={INPUT_MAX_BYTES}"))
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        .arg("-print_final_stats=1")
        // The input is useful; a trace through libFuzzer would hide the message.
        .env("RUST_BACKTRACE", "0");
    let output = command
        .stdin(Stdio::null())
        .current_dir(root.path())
        .output()
        .with_context(|| format!("starting {}", program.display()))?;
    let printed = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        let runs = printed
            .lines()
            .find_map(|line| line.strip_prefix("stat::number_of_executed_units:"));
        println!("{target}: {} inputs", runs.unwrap_or("?").trim());
        return Ok(());
    }
    let lines: Vec<&str> = printed.lines().collect();
    let shown = lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n");
    let input = printed.lines().find_map(|line| {
        line.split_once("Test unit written to ")
            .map(|(_, path)| path)
    });
    let Some(input) = input else {
        bail!("{shown}\n{target} ended with {}", output.status);
    };
    bail!(
        "{shown}\n{target} failed on {input}\nreplay: {} {input}",
        program.display()
    )
}
