//! `waggle init`: writes a runnable study from a URL, a curl command, a HAR file, an OpenAPI document or data to send.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use waggle_convert::{NewStudy, Origin, StudyOptions};

use crate::{
    arguments::{Init, InitFrom},
    output,
    process::exit::Exit,
};

pub(crate) fn run(arguments: &Init) -> Result<Exit> {
    refuse_unused(arguments)?;
    let NewStudy { written, summary } = waggle_convert::study(&options(arguments))?;
    let file = arguments
        .output
        .clone()
        .unwrap_or_else(|| PathBuf::from(format!("{}.yaml", written.name)));
    if arguments.output.as_deref() == Some(Path::new("-")) {
        output::print_result(&format!("{}\n", written.text.trim_end()))?;
        return Ok(Exit::Fine);
    }
    put(&file, &written.text, arguments.force)?;
    output::print_text(&format!("{}\n", summary.text(&file)))?;
    Ok(Exit::Fine)
}

fn options(arguments: &Init) -> StudyOptions {
    StudyOptions {
        source: arguments.source.clone(),
        from: arguments.from.map(|from| match from {
            InitFrom::Curl => Origin::Curl,
            InitFrom::Har => Origin::Har,
            InitFrom::Openapi => Origin::Openapi,
            InitFrom::Data => Origin::Data,
        }),
        format: arguments.format.map(Into::into),
        output: arguments.output.clone(),
        include_writes: arguments.include_writes,
        server: arguments.server.clone(),
    }
}

/// Refuses flags that have no effect.
fn refuse_unused(arguments: &Init) -> Result<()> {
    if arguments.include_writes && arguments.from != Some(InitFrom::Openapi) {
        bail!("--include-writes requires --from openapi");
    }
    if arguments.format.is_some() && arguments.from != Some(InitFrom::Data) {
        bail!("--format requires --from data");
    }
    if arguments.from.is_none() && arguments.server.is_some() {
        bail!(
            "--server requires --from curl, har, openapi or data; without --from the URL is the server"
        );
    }
    let source = &arguments.source;
    if arguments.from.is_none() && (source == "-" || Path::new(source).is_file()) {
        bail!(
            "{source} is a file; its format is required: --from curl, --from har, --from openapi or --from data"
        );
    }
    Ok(())
}

fn put(file: &Path, text: &str, replace: bool) -> Result<()> {
    let shown = file.display();
    let opened = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .create_new(!replace)
        .open(file);
    let mut opened = match opened {
        Err(problem) if problem.kind() == std::io::ErrorKind::AlreadyExists => {
            bail!("{shown} exists; --force replaces it")
        }
        opened => opened.with_context(|| format!("cannot write {shown}"))?,
    };
    std::io::Write::write_all(&mut opened, text.as_bytes())
        .with_context(|| format!("cannot write {shown}"))
}
