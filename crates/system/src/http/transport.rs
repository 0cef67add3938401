//! TLS for what runs already: its certificates and keys, read once before anything is started. Files of them.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use waggle_load::{Roots, Tls, TlsError, TlsOptions};
use waggle_study::{ExternalTls, Pem, System};

/// Limit on the size of a file of certificates or of a key.
const PEM_MAX_BYTES: u64 = 4 * 1024 * 1024;

/// Why a server cannot be reached by TLS.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    #[error("cannot read {}: {problem}", file.display())]
    Io { file: PathBuf, problem: io::Error },
    #[error("{} is longer than {PEM_MAX_BYTES} bytes", file.display())]
    TooLong { file: PathBuf },
    #[error("cannot set up TLS for {server}: {problem}")]
    SetUp { server: String, problem: TlsError },
}

/// The TLS of everything that runs already.
#[derive(Debug)]
pub struct Transports {
    /// That of `system.url`.
    pub server: Option<Tls>,
    /// Those of components, of either version of a system.
    pub ports: TlsOfPorts,
}

/// The TLS of ports, by component and port.
pub type TlsOfPorts = BTreeMap<(String, String), Tls>;

impl Transports {
    /// Files are relative to the folder of the study.
    pub fn read(system: &System, study_file: &Path) -> Result<Self, TransportError> {
        let folder = study_file.parent().unwrap_or(Path::new(""));
        Ok(Self {
            server: tls_of(system, folder)?,
            ports: tls_of_ports(system, folder)?,
        })
    }
}

/// The TLS of `system.url`; `None` if it is http, or if there is no such server. Files are relative to the `folder` of the study.
fn tls_of(system: &System, folder: &Path) -> Result<Option<Tls>, TransportError> {
    let Some(server) = system.external.as_ref().filter(|server| server.is_tls) else {
        return Ok(None);
    };
    tls(&server.tls, &server.host, &server.url, folder).map(Some)
}

/// The TLS of the ports of components that run already. Files are relative to the `folder` of the study.
pub fn tls_of_ports(system: &System, folder: &Path) -> Result<TlsOfPorts, TransportError> {
    let mut all = TlsOfPorts::new();
    for component in &system.components {
        for port in component.external.iter().flatten() {
            if let (Some(asked), Some(address)) = (&port.tls, port.at.first()) {
                let server = format!("{} at {address}", component.name);
                let tls = tls(asked, &address.host, &server, folder)?;
                all.insert((component.name.clone(), port.name.clone()), tls);
            }
        }
    }
    Ok(all)
}

/// `host` is that of the address, `server` what the server is called in messages.
pub fn tls(
    asked: &ExternalTls,
    host: &str,
    server: &str,
    folder: &Path,
) -> Result<Tls, TransportError> {
    let roots = match &asked.ca {
        _ if asked.insecure_skip_verify => Roots::Unchecked,
        Some(pem) => Roots::Pem(bytes(pem, folder)?),
        None => Roots::System,
    };
    let client = match &asked.client {
        Some((cert, key)) => Some((bytes(cert, folder)?, bytes(key, folder)?)),
        None => None,
    };
    let tls = Tls::new(TlsOptions {
        server_name: asked.server_name.as_deref().unwrap_or(host).to_owned(),
        roots,
        client,
        resumes: asked.resumes,
    });
    tls.map_err(|problem| TransportError::SetUp {
        server: server.to_owned(),
        problem,
    })
}

fn bytes(pem: &Pem, folder: &Path) -> Result<Vec<u8>, TransportError> {
    match pem {
        Pem::File(file) => read_pem(&folder.join(file)),
        Pem::Text(text) => Ok(text.clone()),
    }
}

/// The bytes of a file of certificates or of a key.
pub fn read_pem(file: &Path) -> Result<Vec<u8>, TransportError> {
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
