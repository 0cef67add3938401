//! `waggle serve`: a folder of runs in a browser. The crate `serve` has the pages; here is what they are made of: the results (`pages`),
//! the studies (`studies`, which are `kept`), and the commands that plan and run one (`children`).
//!
//! The server is on threads of the lowest priority. Runs that are started from it are not: they come from the main thread.

mod children;
mod kept;
mod pages;
mod studies;

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{
        Arc, OnceLock,
        mpsc::{Sender, channel},
    },
    thread::JoinHandle,
};

use anyhow::{Context, Result, bail};
use tokio::sync::oneshot;
use waggle_serve::{Backend, Launching, Queue, RunningRun, Server, Settings};
use waggle_system::host::{background::yield_to_all, measuring::measuring_processes};

use crate::{
    arguments::Serve,
    commands::run::watch,
    output,
    process::{exit::Exit, folders, interrupts::Interrupts, priority::out_of_the_way},
};

const TOKEN_VARIABLE: &str = "WAGGLE_SERVE_TOKEN";
/// A token is a line.
const TOKEN_MAX_BYTES: u64 = 4 << 10;
/// Threads that read results and folders.
const READERS_MAX: usize = 4;

/// Folders that others may write to, and whose studies run nevertheless.
static TRUSTED: OnceLock<Vec<PathBuf>> = OnceLock::new();

pub(crate) fn run(arguments: &Serve) -> Result<Exit> {
    let token = read_token(arguments.token_file.as_deref())?;
    if let Some(studies) = &arguments.allow_run {
        if !studies.is_dir() {
            bail!(
                "--allow-run {}: expected a folder of studies",
                studies.display()
            );
        }
        std::fs::create_dir_all(&arguments.folder)
            .with_context(|| format!("cannot create {}", arguments.folder.display()))?;
    }
    TRUSTED.get_or_init(|| arguments.trust.folders.clone());
    let queue = Arc::new(Queue::new(run_of_process));
    let settings = Settings {
        listen: arguments.listen,
        folder: arguments.folder.clone(),
        index_file: index_file(&arguments.folder),
        launching: arguments.allow_run.as_ref().map(|studies| Launching {
            studies: studies.clone(),
            queue: Arc::clone(&queue),
        }),
        may_note: arguments.allow_notes || arguments.allow_run.is_some(),
        token,
        host_names: arguments.host_name.clone(),
    };
    let interrupts = Interrupts::new(|| {});
    let serving = Serving::start(settings)?;
    // What stops the server stops what it has started, as Ctrl-C would.
    let closed = Arc::clone(&queue);
    interrupts.follow(move || closed.close());
    interrupts.listen()?;
    queue.work(&mut |order| {
        children::start(order, arguments.allow_run.as_deref(), &arguments.folder)
    });
    serving.end()
}

/// The thread of the server.
struct Serving {
    thread: JoinHandle<Result<()>>,
    shutdown: oneshot::Sender<()>,
}

impl Serving {
    fn start(settings: Settings) -> Result<Self> {
        let (bound, is_bound) = channel();
        let (shutdown, until) = oneshot::channel();
        let serve = move || serve(settings, &bound, until);
        let thread = std::thread::Builder::new()
            .name("serve".to_owned())
            .spawn(serve)
            .context("cannot start the thread of the server")?;
        match is_bound.recv() {
            Ok(address) => {
                output::print_progress(&format!("serving at http://{address}/; Ctrl-C ends it"));
                Ok(Self { thread, shutdown })
            }
            // It ended before.
            Err(_) => Err(join(thread).err().context("the server ended at once")?),
        }
    }

    fn end(self) -> Result<Exit> {
        self.shutdown.send(()).ok();
        join(self.thread).map(|()| Exit::Fine)
    }
}

fn serve(
    settings: Settings,
    bound: &Sender<SocketAddr>,
    until: oneshot::Receiver<()>,
) -> Result<()> {
    lower_priority();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(READERS_MAX)
        .build()
        .context("cannot start the runtime")?;
    runtime.block_on(async {
        let server = Server::bind(settings, backend()).await?;
        bound.send(server.address()).ok();
        server.run(until).await;
        Ok(())
    })
}

fn join(thread: JoinHandle<Result<()>>) -> Result<()> {
    match thread.join() {
        Ok(ended) => ended,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

fn backend() -> Backend {
    Backend {
        report: pages::report,
        compare: pages::compare,
        history: pages::history,
        running: list_running,
        follow: watch::follow,
        lower_priority,
        studies: studies::list,
        form: studies::form,
        plan: children::plan,
    }
}

/// Threads of the server yield to whatever else runs on this machine.
fn lower_priority() {
    out_of_the_way(&[]);
    yield_to_all();
}

/// The runs of this user that go on.
fn list_running() -> Vec<RunningRun> {
    let Some(folder) = folders::measuring() else {
        return Vec::new();
    };
    let own_name = |run: PathBuf| std::fs::canonicalize(&run).unwrap_or(run);
    let processes = measuring_processes(&folder).into_iter();
    processes
        .map(|process| RunningRun {
            pid: process.pid,
            what: process.what,
            run: process.run.map(own_name),
        })
        .collect()
}

fn run_of_process(pid: u32) -> Option<PathBuf> {
    let mut running = list_running().into_iter();
    running.find(|process| process.pid == pid)?.run
}

/// It can be deleted: without it the folder is read again. One for each folder of runs.
fn index_file(folder: &Path) -> Option<PathBuf> {
    let folder = std::fs::canonicalize(folder).ok()?;
    let sum = waggle_serve::index_name(&folder);
    Some(folders::cache()?.join("serve").join(sum))
}

/// The token in the file, else in the variable; `None`: neither is given.
fn read_token(file: Option<&Path>) -> Result<Option<String>> {
    let text = match file {
        Some(file) => {
            let bytes = waggle_results::private_file::read_file(file, TOKEN_MAX_BYTES)
                .with_context(|| format!("--token-file {}", file.display()))?;
            let text = String::from_utf8(bytes);
            Some(text.with_context(|| format!("--token-file {}: expected text", file.display()))?)
        }
        None => std::env::var(TOKEN_VARIABLE)
            .ok()
            .filter(|token| !token.is_empty()),
    };
    // As what is typed: a blank at an end would lock everybody out.
    Ok(text.map(|text| text.trim().to_owned()))
}
