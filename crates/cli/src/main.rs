//! `waggle`: reads arguments and environment, calls the libraries, prints, and picks the exit code.
//!
//! The rooms, of which each imports only those before it: `process`, `output`, `trial`, `arguments`, `inputs`, `live`, `export`,
//! `commands`.

mod arguments;
mod commands;
mod export;
mod inputs;
mod live;
mod output;
mod process;
mod trial;

use std::process::ExitCode;

use crate::{
    arguments::{Arguments, Command, FOREIGN_FLAGS},
    commands::{
        agent, cluster, compare, documents, history, import, init, load, mcp, null_server, plan,
        replica, report, run, schema, serve, system,
    },
    process::exit::{self, Exit},
};

fn main() -> ExitCode {
    exit_code_for_panics();
    let outcome = match waggle_flags::parse::<Arguments>(&FOREIGN_FLAGS).command {
        Command::Run(arguments) => run::run(&arguments),
        Command::Plan(arguments) => plan::run(&arguments),
        Command::Load(arguments) => load::run(&arguments),
        Command::Report(arguments) => report::run(&arguments),
        Command::Compare(arguments) => compare::run(&arguments),
        Command::History(arguments) => history::run(&arguments),
        Command::Serve(arguments) => serve::run(&arguments),
        Command::Schema(arguments) => schema::run(&arguments),
        Command::Init(arguments) => init::run(&arguments),
        Command::Import(arguments) => import::run(&arguments),
        Command::System(arguments) => system::run(&arguments),
        Command::Agent(arguments) => agent::run(&arguments),
        Command::Mcp(arguments) => mcp::run(&arguments),
        Command::Cluster(arguments) => cluster::run(&arguments),
        Command::Completions(arguments) => documents::completions(&arguments),
        Command::Man(arguments) => documents::man(&arguments),
        Command::Supervise(arguments) => return waggle_system::supervise(&arguments.command),
        Command::IdlePoll(arguments) => return waggle_system::idle_poll(&arguments.command),
        Command::Generator => return waggle_runner::generator(),
        Command::Runner(arguments) => run::pod::run(&arguments),
        Command::Replica(arguments) => replica::run(&arguments),
        Command::NullServer(arguments) => null_server::run(&arguments.command),
    };
    match outcome {
        Ok(exit) => exit.into(),
        Err(mistake) => {
            output::print_progress(&format!("{mistake:#}"));
            Exit::Mistake.into()
        }
    }
}

/// A panic is a bug in waggle: code 1 instead of the runtime's 101.
fn exit_code_for_panics() {
    let show = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        show(panic);
        exit_from_main_thread();
    }));
}

fn exit_from_main_thread() {
    if std::thread::current().name() == Some("main") {
        std::process::exit(exit::BUG.into());
    }
}
