//! `waggle run`: runs a study and writes its report. The live view (`live_view`, with `board_updater` and `load_title`) or plain
//! `lines` show its steps (`progress`); both use `state`. `drive` runs it, and offers its steps to other processes as a `stream`, which
//! `attach` shows and of which `snapshot` reads the state. A run that is driven from a cluster is a `submission`, and its process there a `pod`.

mod attach;
mod board_updater;
mod drive;
mod lines;
mod live_view;
mod load_title;
pub(crate) mod pod;
mod progress;
mod remains;
mod repeated;
mod resume_command;
#[cfg(feature = "mcp")]
pub(crate) mod snapshot;
mod state;
mod stream;
#[cfg(feature = "cluster")]
mod submission;

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context, Result, anyhow, bail};
use waggle_analysis::{Model, compare::compare_levels};
use waggle_report::wording::compare::error as compare_error;
use waggle_results::WriteError;
use waggle_runner::{CpuUse, Ended as RunEnded, RunError, RunRequest};
use waggle_study::{Source, Study};
use waggle_system::host::measuring::Measuring;

#[cfg(not(feature = "cluster"))]
use crate::commands::cluster;

pub(crate) use self::attach::watch;
use self::{
    drive::Screen,
    pod::submission::RunHere,
    resume_command::resume_command,
    stream::{
        message::Ended,
        offer::{Offer, Watched},
    },
};
use crate::{
    arguments::{DesignChoice, Run, RunComparison},
    commands::{compare, report, system},
    export::Export,
    inputs::{
        against,
        artifacts::{artifacts_folder_of_run, program_folders},
        left_out, runs,
        study::{self, Loaded},
        trust::Trust,
    },
    output::{self, result_files::StandardOutput, transcript},
    process::{exit::Exit, folders, interrupts::Interrupts, seed},
};

pub(crate) fn run(arguments: &Run) -> Result<Exit> {
    if let Some(given) = &arguments.attached.attach {
        let given = given.as_deref();
        return match arguments.in_cluster.cluster {
            None => attach::run(arguments, given),
            #[cfg(feature = "cluster")]
            Some(_) => submission::attach(arguments, given),
            #[cfg(not(feature = "cluster"))]
            Some(_) => bail!(cluster::NO_SUPPORT),
        };
    }
    let interrupts = Interrupts::new(|| {});
    let study = arguments.choice.study.display();
    let what = format!("waggle run {study}");
    // A run that is driven from elsewhere disturbs nothing here.
    let folder = folders::measuring().filter(|_| arguments.in_cluster.cluster.is_none());
    let measuring = Arc::new(Measuring::new(folder.as_deref(), &what));
    if let Some(note) = measuring.note().filter(|_| !arguments.quiet) {
        output::print_progress(&format!("note: {note}"));
    }
    refuse_others(arguments)?;
    remains::remove(arguments);
    let exit = match arguments.repeated.times {
        Some(times) => repeated::run(arguments, times, &measuring, &interrupts),
        None => run_once(arguments, &measuring, &interrupts).map(|finished| finished.exit),
    };
    // The thread of its followers may not have ended yet.
    measuring.end();
    exit
}

/// Whether a run is driven from a pod: it is asked for, or the study says so, or its system is pods.
fn is_for_cluster(arguments: &Run, study: &Study) -> bool {
    let says_so = study.runner.is_some() || study.system_pods.is_some();
    arguments.in_cluster.cluster.is_some() || (says_so && !arguments.in_cluster.no_cluster)
}

/// Refuses folders in which others decide what waggle writes and starts.
fn refuse_others(arguments: &Run) -> Result<()> {
    let trust = Trust::new(&arguments.choice.trust.folders)?;
    if let Some(Some(resumed)) = &arguments.resume {
        trust.refuse_writers(resumed)?;
    }
    trust.refuse_writers(&arguments.runs)
}

/// A run that came to its end, or was interrupted.
struct Finished {
    exit: Exit,
    folder: PathBuf,
}

fn run_once(
    arguments: &Run,
    measuring: &Arc<Measuring>,
    interrupts: &Interrupts,
) -> Result<Finished> {
    let mut loaded = study::load(&arguments.choice)?;
    study::check_marks(&loaded, &arguments.choice.study)?;
    loaded.take_values(&arguments.choice.study)?;
    let here = RunHere::find()?;
    if here.is_none() && is_for_cluster(arguments, &loaded.study) {
        return submit(arguments, &loaded, interrupts);
    }
    // While the process has one thread.
    if loaded.study.cells.iter().any(|cell| cell.network.is_some()) {
        waggle_system::allow_namespaces()
            .context("the study's networks need a user namespace, which cannot be set up")?;
    }
    // Before anything is written: a request to end that comes early is kept until the run can end in order.
    interrupts.listen()?;
    arguments.comparison.files.check(StandardOutput::Taken)?;
    check_metrics(&loaded.study, &arguments.comparison)?;
    check_comparison(arguments)?;
    let mut new = None;
    let folder = run_folder(arguments, &loaded, here.as_ref(), &mut new)?;
    let left_out = match &arguments.resume {
        Some(_) => left_out::find_as_begun(&folder)?,
        None => left_out::find(&loaded)?,
    };
    left_out::remove(&mut loaded, &left_out)?;
    settle_seed(&mut loaded.study, arguments, &folder);
    let export = Export::open(&arguments.export, &loaded, &folder)?;
    let print = |line: &str| {
        if !arguments.quiet {
            output::print_progress(line);
        }
    };
    if let Some(line) = export.as_ref().and_then(Export::page_line) {
        print(&line);
    }
    if let Some(line) = export.as_ref().and_then(Export::exposure) {
        output::print_progress(&line);
    }
    print(&loaded.system_line());
    for line in left_out::lines(&loaded, &left_out) {
        print(&line);
    }
    let watched = tell_others(&folder, measuring, here.is_some());
    let screen = Screen::new(arguments, &loaded.study, &watched, interrupts)?;
    let system_name = loaded.system.name.clone();
    let study_source = loaded.study_source.clone();
    let request = RunRequest {
        left_out,
        measuring: Some(Arc::clone(measuring)),
        in_pod: here.as_ref().map(RunHere::pod),
        ..request(arguments, loaded, &folder)?
    };
    let (driven, offer) = drive::run(request, screen, export, interrupts);
    system::warn_of_own(&system_name);
    let driven = driven.map_err(|error| {
        let located = with_place(error, arguments, &study_source);
        with_way_on(located, arguments, &folder)
    });
    let (closed, text) = transcript::keep(|| {
        let (ended, exporter) = driven?;
        Ok((report_run(arguments, &folder, &ended), exporter))
    });
    tell_end(offer, closed.as_ref().map(|(exit, _)| exit), text);
    let (exit, exporter) = closed?;
    if let Some(exporter) = exporter {
        exporter.finish(interrupts, print);
    }
    Ok(Finished {
        exit: exit?,
        folder,
    })
}

/// Tells others where the run is. Who follows a run in a pod is elsewhere, and does not count.
fn tell_others<'a>(folder: &'a Path, measuring: &Arc<Measuring>, is_in_pod: bool) -> Watched<'a> {
    measuring.set_run(folder);
    let counting = (!is_in_pod).then(|| Arc::clone(measuring));
    Watched {
        run_folder: folder,
        measuring: counting.unwrap_or_default(),
    }
}

#[cfg(feature = "cluster")]
fn submit(arguments: &Run, loaded: &Loaded, interrupts: &Interrupts) -> Result<Finished> {
    let exit = submission::submit(arguments, loaded, interrupts)?;
    Ok(Finished {
        exit,
        folder: arguments.runs.clone(),
    })
}

#[cfg(not(feature = "cluster"))]
fn submit(_: &Run, _: &Loaded, _: &Interrupts) -> Result<Finished> {
    bail!(cluster::NO_SUPPORT)
}

/// The folder of the run: a new one, which is removed again if the run does not begin, or that of the run that is resumed.
fn run_folder(
    arguments: &Run,
    loaded: &Loaded,
    here: Option<&RunHere>,
    new: &mut Option<runs::NewRun>,
) -> Result<PathBuf> {
    match &arguments.resume {
        Some(Some(folder)) => runs::run_of_study(folder, &loaded.study.name),
        Some(None) => {
            let run = runs::run_to_resume(&arguments.runs, &loaded.study)?;
            loaded.trust.refuse_writers(&run).map(|()| run)
        }
        None => {
            let made = match here {
                Some(here) => runs::create_run(&arguments.runs, &here.run, runs::OTHER_RUNS)?,
                None => runs::new_run(&arguments.runs, &loaded.study.name, runs::OTHER_RUNS)?,
            };
            Ok(new.insert(made).folder().to_path_buf())
        }
    }
}

/// Refuses a comparison that cannot be made, before anything is run.
fn check_comparison(arguments: &Run) -> Result<()> {
    match &arguments.comparison.baseline {
        Some(baseline) => drop(compare::run_folders(baseline)?),
        // The files are those of the results over runs.
        None if arguments.repeated.times.is_some() => {}
        None if arguments.choice.against.is_empty() => refuse_comparison(&arguments.comparison)?,
        None => {}
    }
    Ok(())
}

/// Tells followers how the run ends, and what it has printed.
fn tell_end(offer: Option<Offer>, closed: Result<&Result<Exit>, &anyhow::Error>, text: String) {
    if let Some(offer) = offer {
        let exit = closed.and_then(Result::as_ref);
        offer.end(&Ended::new(exit, text));
    }
}

/// A study without a seed has a new one in each run; a run that is resumed keeps its own.
fn settle_seed(study: &mut Study, arguments: &Run, folder: &Path) {
    if study.has_own_seed {
        return;
    }
    let begun = arguments.resume.as_ref();
    // What cannot be read is an error where the run is resumed.
    let begun = begun.and_then(|_| waggle_results::run_info(folder).ok());
    study.seed = begun.map_or_else(seed::draw, |info| info.seed);
}

/// Writes the report and prints the result.
fn report_run(arguments: &Run, folder: &Path, ended: &RunEnded) -> Result<Exit> {
    if matches!(ended, RunEnded::Interrupted) && nothing_finished(folder) {
        let way_on = way_on(arguments, folder);
        output::print_result(&format!(
            "interrupted before the first trial ended{way_on}\n"
        ))?;
        return Ok(Exit::Interrupted);
    }
    let (text, model, exit) = report::write_report(folder, arguments.strict)?;
    output::print_text(&format!("{text}\n"))?;
    Ok(match ended {
        RunEnded::Finished => compare_run(arguments, folder, &model, exit)?,
        RunEnded::Interrupted => {
            let way_on = way_on(arguments, folder);
            output::print_result(&format!("interrupted{way_on}\n"))?;
            Exit::Interrupted
        }
    })
}

/// How to run the rest. What a pod has begun is not resumed: its host is another one each time.
fn way_on(arguments: &Run, folder: &Path) -> String {
    match RunHere::find() {
        Ok(Some(_)) => "; a run in a cluster is not resumed".to_owned(),
        _ => format!("; resume with: {}", resume_command(arguments, folder)),
    }
}

/// The place in the study of a file that cannot be read.
fn with_place(error: anyhow::Error, arguments: &Run, source: &Source) -> anyhow::Error {
    match error.downcast() {
        Ok(RunError::Records(why)) => study::records_error(why, &arguments.choice.study, source),
        Ok(other) => other.into(),
        Err(error) => error,
    }
}

/// What helps if a folder cannot be written, or a disk is full.
fn with_way_on(error: anyhow::Error, arguments: &Run, folder: &Path) -> anyhow::Error {
    let Some(RunError::Write(write @ WriteError::Io { problem, .. })) = error.downcast_ref() else {
        return error;
    };
    let is_full = matches!(
        problem.kind(),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded
    );
    let mut ways = Vec::new();
    if arguments.resume.is_none() {
        ways.push(runs::OTHER_RUNS.to_owned());
    }
    if is_full && folder.join("run.json").is_file() {
        ways.push(format!(
            "with room again: {}",
            resume_command(arguments, folder)
        ));
    }
    if ways.is_empty() {
        return error;
    }
    anyhow!("{write}; {}", ways.join("; "))
}

/// Refuses metrics that the study does not measure, before anything is run.
fn check_metrics(study: &Study, asked: &RunComparison) -> Result<()> {
    for path in &asked.judgement.metric {
        let checked = study.check_metric(&path.join("."));
        checked.map_err(|why| anyhow!("--metric: {why}"))?;
    }
    Ok(())
}

/// A run that is compared with nothing has these files in its own folder.
fn refuse_comparison(asked: &RunComparison) -> Result<()> {
    let files = &asked.files;
    let given = [
        ("--html", files.html.is_some()),
        ("--markdown", files.markdown.is_some()),
        ("--json", files.json.is_some()),
        ("--margin", asked.judgement.margin.is_some()),
        ("--metric", !asked.judgement.metric.is_empty()),
    ];
    match given.iter().find(|(_, is_given)| *is_given) {
        Some((flag, _)) => bail!(
            "{flag} belongs to a comparison, with --against or --baseline; the run's folder has report.html, report.md and report.json"
        ),
        None => Ok(()),
    }
}

/// Compares the two versions of the run, or the run with an earlier one. What the study itself asks counts as it does without a comparison.
fn compare_run(arguments: &Run, folder: &Path, model: &Model, exit: Exit) -> Result<Exit> {
    let asked = &arguments.comparison;
    let mut settings = asked.judgement.settings();
    // Two versions on the same CPUs wait for each other, so only the CPU time of a request does not depend on the other one.
    if arguments.choice.design == Some(DesignChoice::Duet) && settings.metrics.is_empty() {
        let path = ["system", "cpu_per_request"];
        settings.metrics = vec![path.map(str::to_owned).to_vec()];
    }
    let compared = match &asked.baseline {
        Some(baseline) => {
            compare::compare_folders([baseline, folder], &settings, &asked.files, Some(model))?
        }
        None if arguments.repeated.times.is_some() => return Ok(exit),
        None if arguments.choice.against.is_empty() => {
            let files = &asked.files;
            report::write_checks(model, files.junit.as_deref(), files.summary_file.as_deref())?;
            return Ok(exit);
        }
        None => {
            let comparison = compare_levels(model, against::VERSION, &settings);
            let comparison = comparison.map_err(|why| anyhow!("{}", compare_error(&why)))?;
            compare::show(&comparison, &asked.files, Some(model))?
        }
    };
    report::write_checks(model, None, asked.files.summary_file.as_deref())?;
    // Thresholds of the study count beside the comparison.
    Ok(exit.max(compared))
}

fn request(arguments: &Run, loaded: Loaded, folder: &Path) -> Result<RunRequest> {
    let program = std::env::current_exe().context("cannot determine the path of this program")?;
    let artifacts_folder = artifacts_folder_of_run(&loaded.trust);
    // What others put into a snapshot would be a component's files.
    let is_kept_by_others = artifacts_folder.is_none() && folders::cache().is_some();
    let snapshots_folder =
        (!is_kept_by_others).then(|| runs::kept_folder(&arguments.runs).join("snapshots"));
    Ok(RunRequest {
        plan: waggle_study::plan(&loaded.study),
        left_out: Vec::new(),
        study: loaded.study,
        study_text: loaded.study_source.text,
        study_file: arguments.choice.study.clone(),
        system: loaded.system,
        system_text: loaded.system_source.text,
        system_folder: loaded.system_folder,
        changed: loaded.changed,
        run_folder: folder.to_path_buf(),
        program_folders: program_folders(&program, &loaded.trust),
        artifacts_folder,
        created_folder: folders::creation_notes(),
        cluster_notes_folder: folders::cluster_notes(),
        in_pod: None,
        keeps_failed_pods: arguments.in_cluster.keep_pods,
        snapshots_folder,
        supervisor: program,
        // A smoke test needs no calibration.
        calibration_file: (!arguments.choice.quick)
            .then(|| runs::calibration_file(&arguments.runs)),
        resume: arguments.resume.is_some(),
        idle_poll: arguments.idle_poll,
        cpus: CpuUse::Shared,
        cgroups: waggle_system::CGROUPS.into(),
        server_at: None,
        sample_limits: waggle_runner::SampleLimits::default(),
        measuring: None,
        end_load: None,
    })
}

fn nothing_finished(folder: &Path) -> bool {
    waggle_results::RunFolder::open(folder)
        .ok()
        .and_then(|folder| folder.finished_trials().ok())
        .is_none_or(|finished| finished.is_empty())
}

#[cfg(test)]
mod tests {
    use std::io;

    use waggle_results::WriteError;

    use super::{RunError, resume_command::tests::flags, with_way_on};

    #[test]
    fn a_full_disk_ends_a_run_that_can_be_resumed() {
        let error = || {
            let problem = io::ErrorKind::StorageFull.into();
            anyhow::Error::from(RunError::Write(WriteError::Io {
                attempt: "write",
                path: "x".into(),
                problem,
            }))
        };
        let folder = tempfile::tempdir().unwrap();
        let text = with_way_on(error(), &flags(&[]), folder.path()).to_string();
        assert!(
            text.ends_with("; --runs FOLDER has runs written elsewhere"),
            "{text}"
        );
        std::fs::write(folder.path().join("run.json"), "{}").unwrap();
        let text = with_way_on(error(), &flags(&[]), folder.path()).to_string();
        assert!(
            text.contains("; with room again: waggle run a.yaml --resume="),
            "{text}"
        );
    }
}
