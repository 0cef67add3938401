//! Drives a run: the runner on its threads, and one that shows its events, adds up what is exported and offers them to followers.

use std::time::Instant;

use anyhow::{Context, Result};
use tokio::sync::{mpsc, watch};
use waggle_analysis::trial_so_far;
use waggle_runner::{Ended, Event, RunRequest};
use waggle_study::Study;

use super::{
    lines::Lines,
    live_view::RunView,
    progress::{EventReader, StudyFacts},
    state::State,
    stream::offer::{Offer, Watched},
};
use crate::{
    arguments::Run,
    export::{Export, Exporter, Feed},
    live::{self, KeyActions},
    output,
    process::{interrupts::Interrupts, priority::out_of_the_way},
};

/// Events that may wait for the screen.
const EVENTS_MAX: usize = 1024;

/// How the progress of a run is shown; the closing table is separate.
enum View {
    Quiet,
    Lines(Box<Lines>),
    Live(Box<RunView>),
}

/// Who is told of the steps of a run: the terminal, and followers.
pub(super) struct Screen {
    reader: EventReader,
    view: View,
    offer: Offer,
    began: Instant,
}

impl Screen {
    /// # Errors
    /// The terminal lacks a capability.
    pub(super) fn new(
        arguments: &Run,
        study: &Study,
        watched: &Watched<'_>,
        interrupts: &Interrupts,
    ) -> Result<Self> {
        let began = Instant::now();
        let facts = StudyFacts::new(study, arguments.idle_poll);
        let view = if arguments.quiet {
            View::Quiet
        } else if !arguments.no_live && live::fits() {
            let keys = KeyActions {
                end: interrupts.clone(),
                leave: None,
            };
            View::Live(Box::new(RunView::start(facts.clone(), keys, began)?))
        } else {
            View::Lines(Box::new(Lines::new(State::new(facts.outline.clone()))))
        };
        Ok(Self {
            reader: EventReader::new(study, watched.run_folder, |run, key| {
                trial_so_far(run, key).ok()
            }),
            view,
            offer: Offer::new(watched, facts, interrupts.clone(), began),
            began,
        })
    }

    fn show(&mut self, event: &Event) {
        let Some(step) = self.reader.read(event) else {
            return;
        };
        let failed = self.offer.add(&step);
        let elapsed = self.began.elapsed();
        match &mut self.view {
            View::Quiet => {}
            View::Lines(lines) => drop(lines.show(&step, elapsed)),
            View::Live(view) => view.show(&step, elapsed),
        }
        if let Some(why) = failed {
            let text = format!("note: other processes cannot follow this run: {why}");
            match &mut self.view {
                View::Quiet => {}
                View::Lines(_) => output::print_progress(&text),
                View::Live(view) => view.note(&text),
            }
        }
    }

    /// The run is over; its end is still to be offered.
    fn end(self) -> Offer {
        if let View::Live(view) = self.view {
            view.end();
        }
        self.offer
    }
}

type Driven = Result<(Ended, Option<Exporter>)>;

/// Runs to the end or to an interrupt; in both cases the system is stopped.
pub(super) fn run(
    request: RunRequest,
    screen: Screen,
    export: Option<Export>,
    interrupts: &Interrupts,
) -> (Driven, Option<Offer>) {
    let (sender, receiver) = mpsc::channel::<Event>(EVENTS_MAX);
    let exporter = export.map(|export| export.start(sender.downgrade()));
    let exporter = match exporter.transpose() {
        Ok(exporter) => exporter,
        Err(why) => return (Err(why), None),
    };
    let feed = exporter
        .as_ref()
        .map(|exporter| exporter.feed(&request.run_folder));
    let shower = std::thread::Builder::new()
        .name("events".to_owned())
        .spawn(move || show_events(receiver, feed.as_ref(), screen))
        .context("cannot start the thread that shows the run");
    let shower = match shower {
        Ok(shower) => shower,
        Err(why) => return (Err(why), None),
    };
    let ended = run_to_end(request, sender, interrupts);
    let offer = shower.join().ok();
    (ended.map(|ended| (ended, exporter)), offer)
}

fn run_to_end(
    request: RunRequest,
    sender: mpsc::Sender<Event>,
    interrupts: &Interrupts,
) -> Result<Ended> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    let (stop, shutdown) = watch::channel(false);
    interrupts.follow(move || {
        stop.send_replace(true);
    });
    interrupts.listen()?;
    Ok(runtime.block_on(waggle_runner::run(request, sender, shutdown))?)
}

fn show_events(
    mut events: mpsc::Receiver<Event>,
    feed: Option<&Feed>,
    mut screen: Screen,
) -> Offer {
    out_of_the_way(&[]);
    while let Some(event) = events.blocking_recv() {
        if let Some(feed) = feed {
            feed.apply(&event);
        }
        screen.show(&event);
    }
    screen.end()
}
