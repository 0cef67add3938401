//! The smallest program that runs a study: `run_study STUDY.yaml SYSTEM_FOLDER RUN_FOLDER [resume]`.
//!
//! Prints an event a line. It is its own supervisor, as every program must be that uses the runner; the tests that
//! need a whole process (one that is killed, for instance) use it.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use tokio::sync::{mpsc, watch};
use waggle_runner::{Ended, RunRequest};
use waggle_study::Source;

const EVENTS_MAX: usize = 100;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [first, separator, rest @ ..] if first == "__supervise" && separator == "--" => {
            waggle_runner::supervise(rest)
        }
        [study, system, run, rest @ ..] => match run_study(study, system, run, !rest.is_empty()) {
            Ok(Ended::Finished) => ExitCode::SUCCESS,
            Ok(Ended::Interrupted) => ExitCode::from(130),
            Err(problem) => {
                say(&format!("error: {problem}"));
                ExitCode::from(2)
            }
        },
        _ => {
            say("error: expected STUDY.yaml SYSTEM_FOLDER RUN_FOLDER [resume]");
            ExitCode::from(2)
        }
    }
}

#[expect(clippy::print_stdout, reason = "this is a program")]
fn say(line: &str) {
    println!("{line}");
}

fn run_study(
    study: &str,
    system: &str,
    run: &str,
    resume: bool,
) -> Result<Ended, Box<dyn std::error::Error>> {
    let request = request(Path::new(study), Path::new(system), Path::new(run), resume)?;
    let (sender, mut events) = mpsc::channel(EVENTS_MAX);
    let (stop, shutdown) = watch::channel(false);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let signal = tokio::spawn(async move {
            tokio::signal::ctrl_c().await.ok();
            stop.send_replace(true);
            stop.closed().await;
        });
        let print = tokio::spawn(async move {
            while let Some(event) = events.recv().await {
                say(&format!("{event:?}"));
            }
        });
        let ended = waggle_runner::run(request, sender, shutdown).await;
        signal.abort();
        print.await?;
        Ok(ended?)
    })
}

fn request(
    study: &Path,
    system: &Path,
    run: &Path,
    resume: bool,
) -> Result<RunRequest, Box<dyn std::error::Error>> {
    let system_text = std::fs::read_to_string(system.join("system.yaml"))?;
    let study_text = std::fs::read_to_string(study)?;
    let source = |name: &str, text: &str| Source {
        name: name.to_owned(),
        text: text.to_owned(),
    };
    let checked_system = waggle_study::read_system(&source("system.yaml", &system_text))?;
    let checked = waggle_study::read_study(&source("study.yaml", &study_text), &checked_system)?;
    let program = std::env::current_exe()?;
    let folders = program
        .ancestors()
        .skip(1)
        .take(2)
        .map(PathBuf::from)
        .collect();
    Ok(RunRequest {
        plan: waggle_study::plan(&checked),
        study: checked,
        study_text,
        study_file: study.to_path_buf(),
        system: checked_system,
        system_text,
        system_folder: system.to_path_buf(),
        run_folder: run.to_path_buf(),
        resume,
        program_folders: folders,
        supervisor: program,
    })
}
