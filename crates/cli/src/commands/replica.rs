//! `waggle __replica`: the process beside a replica of a system in its pod, and what connects a driver to it.

use std::{
    io,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use waggle_system::components::replica::{self, IMAGE_FILE};

use crate::{
    arguments::{Replica, ReplicaAction},
    process::exit::Exit,
};

pub(crate) fn run(arguments: &Replica) -> Result<Exit> {
    match arguments.action {
        ReplicaAction::Serve => serve(&arguments.folder)?,
        ReplicaAction::Join => replica::join(&arguments.folder)?,
        ReplicaAction::Pack => replica::pack(&replica_folder(arguments), io::stdout().lock())?,
        ReplicaAction::Unpack => {
            replica::unpack(io::stdin().lock(), &replica_folder(arguments), io::stdout())?;
        }
    }
    Ok(Exit::Fine)
}

fn replica_folder(arguments: &Replica) -> PathBuf {
    let replica = arguments.replica.as_deref().unwrap_or_default();
    arguments.folder.join(replica)
}

fn serve(folder: &Path) -> Result<()> {
    let program = std::env::current_exe().context("cannot find this program")?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    let version = env!("CARGO_PKG_VERSION");
    Ok(runtime.block_on(replica::serve(
        folder,
        Path::new(IMAGE_FILE),
        program,
        version,
    ))?)
}
