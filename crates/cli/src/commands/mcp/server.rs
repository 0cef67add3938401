//! The server: requests of the protocol in, answers of the tools out. The standard output has the protocol alone; what there is to
//! say besides goes to the error stream.

use std::{
    io::{self, Write},
    net::Shutdown,
    os::unix::net::UnixStream,
    sync::Arc,
    thread::JoinHandle,
};

use anyhow::{Context, Result, anyhow, bail};
use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
        ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
        Tool as ToolInfo, ToolAnnotations,
    },
    service::{RequestContext, ServerInitializeError},
    transport::async_rw::AsyncRwTransport,
};
use serde_json::{Map, Value, json};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::Mutex,
};

use super::{
    answers::{self, Order},
    child::ChildRun,
    fields::{Given, schema},
    limits::Limits,
    tools::Tool,
};
use crate::{commands::system::shared::runtime, output::print_progress, process::exit::Exit};

/// The longest request.
const LINE_MAX_BYTES: usize = 1024 * 1024;
const INSTRUCTIONS: &str = "waggle measures the performance of HTTP services by studies, which are YAML files. `plan` shows what a study \
    would run; `run` starts it and returns at once; `status` with `wait_s` follows it to its end; `report` and `compare` have the \
    results. A number without its interval and verdict is not a result: say what the answer says, and what is undecided.";

/// Serves until the client closes the input, or the process is asked to end; a run that goes on is stopped then.
pub(super) fn run(limits: Limits) -> Result<Exit> {
    let (ours, theirs) = UnixStream::pair().context("cannot make a socket")?;
    let copies = Copies::start(&theirs)?;
    let exit = runtime()?.block_on(serve(Arc::new(limits), ours))?;
    // All that was answered is written.
    theirs.shutdown(Shutdown::Read).ok();
    copies.to_client.join().ok();
    Ok(exit)
}

/// Threads between the socket of the server and the standard streams, which are files of any kind.
struct Copies {
    to_client: JoinHandle<()>,
}

impl Copies {
    fn start(socket: &UnixStream) -> Result<Self> {
        let problem = "cannot start the threads of the standard streams";
        let (mut requests, mut answers) = (socket.try_clone()?, socket.try_clone()?);
        let copy = move || {
            io::copy(&mut io::stdin().lock(), &mut requests).ok();
            requests.shutdown(Shutdown::Write).ok();
        };
        // It ends with the process: the client may not close its end.
        let thread = || std::thread::Builder::new();
        thread()
            .name("stdin".to_owned())
            .spawn(copy)
            .context(problem)?;
        let copy = move || copy_out(&mut answers);
        let to_client = thread().name("stdout".to_owned()).spawn(copy);
        Ok(Self {
            to_client: to_client.context(problem)?,
        })
    }
}

/// Each answer is written at once.
fn copy_out(from: &mut impl io::Read) {
    let mut to = io::stdout().lock();
    let mut buffer = [0; 65_536];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        let written = to.write_all(&buffer[..length]);
        if written.and_then(|()| to.flush()).is_err() {
            return;
        }
    }
}

async fn serve(limits: Arc<Limits>, socket: UnixStream) -> Result<Exit> {
    socket.set_nonblocking(true)?;
    let (input, output) = tokio::net::UnixStream::from_std(socket)?.into_split();
    let transport =
        AsyncRwTransport::new_server(input, output).with_max_line_length(LINE_MAX_BYTES);
    let server = Server {
        limits,
        current: Arc::default(),
        analysis: Arc::default(),
    };
    let current = Arc::clone(&server.current);
    let serving = async {
        match server.serve(transport).await {
            Ok(service) => service
                .waiting()
                .await
                .map(drop)
                .context("a bug in the server"),
            // The client has gone before it began.
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(why) => Err(anyhow!("the client does not speak the protocol: {why}")),
        }
    };
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let served = tokio::select! {
        served = serving => served.map(|()| Exit::Fine),
        _ = interrupt.recv() => Ok(Exit::Interrupted),
        _ = terminate.recv() => Ok(Exit::Interrupted),
    };
    if let Some(run) = current.lock().await.clone()
        && run.phase().ended.is_none()
    {
        print_progress("the run is stopped, since nobody follows it any more");
        run.stop().await;
    }
    served
}

/// What requests share.
#[derive(Clone)]
struct Server {
    limits: Arc<Limits>,
    /// The run that was started last.
    current: Arc<Mutex<Option<Arc<ChildRun>>>>,
    /// One analysis at a time.
    analysis: Arc<Mutex<()>>,
}

type Answer = fn(&Limits, &Given) -> Result<Value>;

impl Server {
    async fn call(&self, tool: Tool, given: Map<String, Value>) -> Result<Value> {
        let given = Given::check(&tool.fields(), given)?;
        match tool {
            Tool::Plan => self.analyse(given, answers::plan).await,
            Tool::Report => self.analyse(given, answers::report).await,
            Tool::Compare => self.analyse(given, answers::compare).await,
            Tool::Run => self.start(given).await,
            Tool::Status => {
                let Some(run) = self.current.lock().await.clone() else {
                    return Ok(json!({ "state": "none" }));
                };
                if let Some(wait) = given.seconds("wait_s") {
                    run.wait(wait).await;
                }
                status(run).await
            }
            Tool::Stop => {
                let Some(run) = self.current.lock().await.clone() else {
                    bail!("no run was started here");
                };
                run.stop().await;
                status(run).await
            }
        }
    }

    /// Work of a thread of its own, after the work before.
    async fn analyse(&self, given: Given, answer: Answer) -> Result<Value> {
        let _turn = self.analysis.lock().await;
        let limits = Arc::clone(&self.limits);
        tokio::task::spawn_blocking(move || answer(&limits, &given))
            .await
            .context("a bug in waggle")?
    }

    async fn start(&self, given: Given) -> Result<Value> {
        let mut current = self.current.lock().await;
        if let Some(run) = &*current
            && run.phase().ended.is_none()
        {
            bail!(
                "a run goes on, and there is one at a time: `status` follows it, `stop` stops it"
            );
        }
        let limits = Arc::clone(&self.limits);
        let mut order: Order = tokio::task::spawn_blocking(move || answers::order(&limits, &given))
            .await
            .context("a bug in waggle")??;
        let runs = &self.limits.runs;
        let arguments = std::mem::take(&mut order.arguments);
        let run = ChildRun::start(arguments, runs, order.max_duration).await?;
        *current = Some(Arc::clone(&run));
        drop(current);
        run.begin().await;
        if let Some(folder) = run.folder() {
            print_progress(&format!("a run was started: {}", folder.display()));
        }
        tokio::task::spawn_blocking(move || answers::begin_answer(&run, &order))
            .await
            .context("a bug in waggle")?
    }
}

async fn status(run: Arc<ChildRun>) -> Result<Value> {
    tokio::task::spawn_blocking(move || answers::status(&run))
        .await
        .context("a bug in waggle")?
}

fn tool_info(tool: Tool) -> ToolInfo {
    let annotations = ToolAnnotations::new()
        .read_only(tool.is_read_only())
        .destructive(false)
        .open_world(false);
    ToolInfo::new(tool.name(), tool.description(), schema(&tool.fields()))
        .with_annotations(annotations)
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("waggle", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = Tool::ALL.into_iter().map(tool_info);
        Ok(ListToolsResult::with_all_items(tools.collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = Tool::find(&request.name) else {
            let names = Tool::ALL.map(Tool::name).join(", ");
            let text = format!("there is no tool {}; expected {names}", request.name);
            return Err(ErrorData::invalid_params(text, None));
        };
        let answer = self.call(tool, request.arguments.unwrap_or_default()).await;
        let result = match answer {
            Ok(value) => CallToolResult::structured(value),
            Err(why) => CallToolResult::error(vec![ContentBlock::text(format!("{why:#}"))]),
        };
        Ok(result.into())
    }
}
