//! `waggle run`: a study from its file to its report.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::{mpsc, watch},
};
use waggle_runner::{Ended, Event, RunRequest};

use crate::{
    arguments::Run,
    exit::Exit,
    files::{self, Loaded},
    folders,
    progress::{Progress, Shape},
    report, say,
};

/// Events that may wait for the screen.
const EVENTS_MAX: usize = 1024;

pub(crate) fn run(arguments: &Run) -> Result<Exit> {
    let mut loaded = files::load(&arguments.choice)?;
    let taken = loaded
        .study
        .take_from_environment(&|name| std::env::var(name).ok());
    taken.map_err(|why| match why.at() {
        Some((line, column)) => anyhow!("{}:{line}:{column}: {why}", loaded.study_source.name),
        None => why.into(),
    })?;
    let folder = match &arguments.resume {
        Some(Some(folder)) => folder.clone(),
        Some(None) => files::newest_run(&arguments.runs, &loaded.study.name)?,
        None => new_folder(&arguments.runs, &loaded.study.name)?,
    };
    let progress = Progress::new(Shape::of(&loaded.study), arguments.quiet);
    let ended = drive(request(arguments, loaded, &folder)?, progress)?;
    if matches!(ended, Ended::Interrupted) && nothing_finished(&folder) {
        say::result(&format!(
            "interrupted before the first trial ended; {} holds the plan\n",
            folder.display()
        ))?;
        return Ok(Exit::Interrupted);
    }
    let (text, exit) = report::written(&folder)?;
    say::result(&format!("{text}\n"))?;
    Ok(match ended {
        Ended::Finished => exit,
        Ended::Interrupted => {
            let study = arguments.choice.study.display();
            let awake = if arguments.keep_awake {
                " --keep-awake"
            } else {
                ""
            };
            say::result(&format!(
                "interrupted; go on with: waggle run {study}{awake} --resume={}\n",
                folder.display()
            ))?;
            Exit::Interrupted
        }
    })
}

fn request(arguments: &Run, loaded: Loaded, folder: &Path) -> Result<RunRequest> {
    let program = std::env::current_exe().context("cannot tell where this program lies")?;
    Ok(RunRequest {
        plan: waggle_study::plan(&loaded.study),
        study: loaded.study,
        study_text: loaded.study_source.text,
        study_file: arguments.choice.study.clone(),
        system: loaded.system,
        system_text: loaded.system_source.text,
        system_folder: loaded.system_folder,
        run_folder: folder.to_path_buf(),
        program_folders: program
            .parent()
            .map(Path::to_path_buf)
            .into_iter()
            .collect(),
        servers_folder: folders::servers(),
        supervisor: program,
        // A smoke run tells that it works, not how fast it is.
        calibration_file: (!arguments.choice.quick).then(|| calibration_file(&arguments.runs)),
        resume: arguments.resume.is_some(),
        keep_awake: arguments.keep_awake,
    })
}

/// In the user's cache folder, or beside the runs where there is none. It holds nothing that cannot be found out again.
fn calibration_file(runs: &Path) -> PathBuf {
    let folder = folders::cache().unwrap_or_else(|| runs.to_path_buf());
    folder.join("calibration.json")
}

/// `RUNS/STUDY-UTCTIME`, with a counter where two start in the same second.
fn new_folder(runs: &Path, study: &str) -> Result<PathBuf> {
    let stamp = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
    let name = format!("{study}-{stamp}");
    let names =
        std::iter::once(name.clone()).chain((2..100).map(|count| format!("{name}-{count}")));
    match names
        .map(|name| runs.join(name))
        .find(|folder| !folder.exists())
    {
        Some(folder) => Ok(folder),
        None => bail!(
            "{} has a hundred runs of this second already",
            runs.display()
        ),
    }
}

/// Runs to the end or to an interrupt; the screen is painted by a thread of its own.
fn drive(request: RunRequest, mut progress: Progress) -> Result<Ended> {
    let (sender, mut receiver) = mpsc::channel::<Event>(EVENTS_MAX);
    let painter = std::thread::Builder::new()
        .name("progress".to_owned())
        .spawn(move || {
            while let Some(event) = receiver.blocking_recv() {
                progress.show(&event);
            }
            progress.end();
        })
        .context("cannot start the progress thread")?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    let ended = runtime.block_on(async {
        let (stop, shutdown) = watch::channel(false);
        let signals = tokio::spawn(stop_on_signals(stop));
        let ended = waggle_runner::run(request, sender, shutdown).await;
        signals.abort();
        ended
    });
    painter.join().ok();
    Ok(ended?)
}

/// Any of the signals by which people and machines ask a program to end; asking twice changes nothing, for
/// tear-down always runs.
pub(crate) async fn stop_on_signals(stop: watch::Sender<bool>) {
    let kinds = [
        SignalKind::interrupt(),
        SignalKind::terminate(),
        SignalKind::hangup(),
    ];
    let Ok([mut interrupt, mut terminate, mut hangup]) = kinds
        .map(signal)
        .into_iter()
        .collect::<Result<Vec<_>, _>>()
        .map(|all| <[_; 3]>::try_from(all).expect("there are as many streams as kinds"))
    else {
        return;
    };
    loop {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
        stop.send(true).ok();
    }
}

fn nothing_finished(folder: &Path) -> bool {
    waggle_results::RunFolder::open(folder)
        .ok()
        .and_then(|folder| folder.finished().ok())
        .is_none_or(|finished| finished.is_empty())
}
