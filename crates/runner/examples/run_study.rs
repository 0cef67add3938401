//! The smallest program that runs a study: `run_study STUDY.yaml SYSTEM_FOLDER RUN_FOLDER [MODE…]`. Modes are `resume`,
//! `abandon`, `idle-poll` (with idle polling), `without-loops` (the same with a program that cannot do it), `sample` (probes follow
//! a sample of the records, whatever their rate) and `no-cgroups` (there are none on this machine).
//!
//! It prints one event per line. It is its own supervisor, as every program that uses the runner must be. Tests use it if they
//! need a whole process, for instance one that is killed.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use tokio::sync::{mpsc, watch};
use waggle_results::PhaseName;
use waggle_runner::{CpuUse, Ended, Event, RunRequest, SampleLimits};
use waggle_study::{Named, Source, Values};
use waggle_system::components::replica;

const EVENTS_MAX: usize = 100;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [first, separator, rest @ ..] if first == "__supervise" && separator == "--" => {
            waggle_system::supervise(rest)
        }
        [first, separator, rest @ ..] if first == "__idle-poll" && separator == "--" => {
            waggle_system::idle_poll(rest)
        }
        [first, action, folder] if first == "__replica" => {
            match replica(action, Path::new(folder)) {
                Ok(()) => ExitCode::SUCCESS,
                // Its output is a stream of messages.
                Err(_) => ExitCode::from(2),
            }
        }
        [first, action, folder, name] if first == "__replica" => {
            let folder = Path::new(folder).join(name);
            let copied = match action.as_str() {
                "pack" => replica::pack(&folder, std::io::stdout().lock()),
                _ => replica::unpack(std::io::stdin().lock(), &folder, std::io::stdout()),
            };
            exit_code(copied.map(|()| Ended::Finished).map_err(Into::into))
        }
        [only] if only == "__generator" => waggle_runner::generator(),
        [study, system, run, modes @ ..] => exit_code(run_study([study, system, run], modes)),
        _ => exit_code(Err(
            "expected STUDY.yaml SYSTEM_FOLDER RUN_FOLDER [resume|abandon|idle-poll|without-loops|sample|no-cgroups…]"
                .into(),
        )),
    }
}

/// The process beside a replica, or what connects to it.
fn replica(action: &str, folder: &Path) -> Result<(), Box<dyn std::error::Error>> {
    if action == "join" {
        return Ok(replica::join(folder)?);
    }
    let program = std::env::current_exe()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let image = folder.join("image.json");
    Ok(runtime.block_on(replica::serve(folder, &image, program, "test"))?)
}

fn exit_code(ended: Result<Ended, Box<dyn std::error::Error>>) -> ExitCode {
    match ended {
        Ok(Ended::Finished) => ExitCode::SUCCESS,
        Ok(Ended::Interrupted) => ExitCode::from(130),
        Err(problem) => {
            say(&format!("error: {problem}"));
            ExitCode::from(2)
        }
    }
}

/// Leaves out intervals: they are many and long, and a test that stops reading would block the run.
fn report(event: &Event) {
    if !matches!(event, Event::Interval { .. }) {
        say(&format!("{event:?}"));
    }
}

#[expect(clippy::print_stdout, reason = "this is a program")]
fn say(line: &str) {
    println!("{line}");
}

/// `abandon`: drops the run as soon as it measures, and stays alive until its input ends.
fn run_study(files: [&str; 3], modes: &[String]) -> Result<Ended, Box<dyn std::error::Error>> {
    let is = |mode: &str| modes.iter().any(|given| given == mode);
    let mut request = request(files.map(Path::new))?;
    request.resume = is("resume");
    request.idle_poll = is("idle-poll") || is("without-loops");
    if is("sample") {
        request.sample_limits.whole_bytes_per_s = 1;
        request.sample_limits.burst_bytes = 1;
    }
    if is("no-cgroups") {
        request.cgroups = "/nowhere".into();
    }
    if is("without-loops") {
        request.supervisor = "/bin/false".into();
    }
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
        let print = async {
            while let Some(event) = events.recv().await {
                report(&event);
                let measures = matches!(
                    event,
                    Event::Phase {
                        phase: PhaseName::Measure,
                        ..
                    }
                );
                if measures && is("abandon") {
                    return;
                }
            }
            std::future::pending().await
        };
        let ended = tokio::select! {
            ended = waggle_runner::run(request, sender, shutdown) => Some(ended),
            () = print => None,
        };
        signal.abort();
        let Some(ended) = ended else {
            say("abandoned");
            std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
            return Ok(Ended::Finished);
        };
        while let Ok(event) = events.try_recv() {
            report(&event);
        }
        Ok(ended?)
    })
}

fn request([study, system, run]: [&Path; 3]) -> Result<RunRequest, Box<dyn std::error::Error>> {
    let study_text = std::fs::read_to_string(study)?;
    let source = |name: &str, text: &str| Source {
        name: name.to_owned(),
        text: text.to_owned(),
    };
    let study_source = source("study.yaml", &study_text);
    let (checked_system, system_text) = match waggle_study::system_of(&study_source)? {
        Named::Server(server) => (*server, String::new()),
        Named::System(_) => {
            let text = std::fs::read_to_string(system.join("system.yaml"))?;
            let checked = waggle_study::read_system(&source("system.yaml", &text))?;
            (checked, text)
        }
    };
    let files = waggle_runner::files_beside(study);
    let mut checked = waggle_study::read_study_and_files(&study_source, &checked_system, &files)?;
    checked.take_from_environment(Values {
        variable: &|name| std::env::var(name).ok(),
        file: &files,
    })?;
    let checked_system = checked_system.with_external(&checked.external);
    let program = std::env::current_exe()?;
    let folders = program
        .ancestors()
        .skip(1)
        .take(2)
        .map(PathBuf::from)
        .collect();
    Ok(RunRequest {
        calibration_file: None,
        plan: waggle_study::plan(&checked),
        left_out: Vec::new(),
        study: checked,
        study_text,
        study_file: study.to_path_buf(),
        system: checked_system,
        system_text,
        system_folder: system.to_path_buf(),
        changed: None,
        run_folder: run.to_path_buf(),
        resume: false,
        idle_poll: false,
        cpus: CpuUse::Shared,
        cgroups: waggle_system::CGROUPS.into(),
        server_at: None,
        sample_limits: SampleLimits::default(),
        measuring: None,
        end_load: None,
        program_folders: folders,
        artifacts_folder: None,
        cluster_notes_folder: None,
        in_pod: None,
        keeps_failed_pods: false,
        created_folder: std::env::var_os("CREATED").map(PathBuf::from),
        snapshots_folder: std::env::var_os("SNAPSHOTS").map(PathBuf::from),
        supervisor: program,
    })
}
