//! TLS for a server that runs already: its certificates and keys, read once before anything is started. Files of them.

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use waggle_load::{Roots, Tls, TlsError, TlsOptions};
use waggle_study::System;

/// Limit on the size of a file of certificates or of a key.
const PEM_MAX_BYTES: u64 = 4 * 1024 * 1024;

/// Why a server cannot be reached by TLS.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    #[error("cannot read {}: {problem}", file.display())]
    Io { file: PathBuf, problem: io::Error },
    #[error("{} is longer than {PEM_MAX_BYTES} bytes", file.display())]
    TooLong { file: PathBuf },
    #[error("cannot set up TLS for {url}: {problem}")]
    SetUp { url: String, problem: TlsError },
}

/// The TLS of `system.url`; `None` if it is http, or if there is no such server. Files are relative to the `folder` of the study.
pub(crate) fn tls_of(system: &System, folder: &Path) -> Result<Option<Tls>, TransportError> {
    let Some(server) = system.external.as_ref().filter(|server| server.is_tls) else {
        return Ok(None);
    };
    let roots = match &server.tls.ca {
        _ if server.tls.insecure_skip_verify => Roots::Unchecked,
        Some(file) => Roots::Pem(read_pem(&folder.join(file))?),
        None => Roots::System,
    };
    let client = match &server.tls.client {
        Some((cert, key)) => Some((read_pem(&folder.join(cert))?, read_pem(&folder.join(key))?)),
        None => None,
    };
    let tls = Tls::new(TlsOptions {
        server_name: server.host.clone(),
        roots,
        client,
        resumes: server.tls.resumes,
    });
    tls.map(Some).map_err(|problem| TransportError::SetUp {
        url: server.url.clone(),
        problem,
    })
}

/// The bytes of a file of certificates or of a key.
pub(crate) fn read_pem(file: &Path) -> Result<Vec<u8>, TransportError> {
    let problem = |problem| TransportError::Io {
        file: file.to_path_buf(),
        problem,
    };
    let mut bytes = Vec::new();
    let opened = File::open(file).map_err(problem)?;
    let mut bounded = opened.take(PEM_MAX_BYTES + 1);
    bounded.read_to_end(&mut bytes).map_err(problem)?;
    if bytes.len() as u64 > PEM_MAX_BYTES {
        return Err(TransportError::TooLong {
            file: file.to_path_buf(),
        });
    }
    Ok(bytes)
}
