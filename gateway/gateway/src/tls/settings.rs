//! Flags of TLS.

use std::path::PathBuf;

use waggle_flags::size;

/// Flags of TLS.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "TLS")]
pub struct TlsSettings {
    /// File of the gateway's certificate with its chain, in PEM; clients connect by TLS 1.2 or 1.3 alone then. This file and those of the
    /// next flags are read again when one of them changes and at SIGHUP
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// File of the certificate's private key, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// File of the authorities that sign clients' certificates, in PEM. The names in a certificate (URI, DNS name, email address) are those
    /// of a client in the file of --clients; without that file every client with a certificate can write and read
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_client_ca: Option<PathBuf>,
    /// File of lists of revoked certificates of clients, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_client_ca")]
    pub tls_client_crl: Option<PathBuf>,
    /// Whether a client needs a certificate [default: required]
    #[arg(long, value_enum, requires = "tls_client_ca")]
    pub tls_client_auth: Option<ClientAuth>,
    /// Maximum number of TLS handshakes that are going on, over all workers; further ones wait. Half as many may be going on or waiting
    /// for one client (any number for clients on this host), whose further connections are closed. A handshake may take --head-timeout
    #[arg(long, default_value_t = 1000, value_parser = size(1..=1 << 20))]
    pub tls_handshakes_max: usize,
}

/// Whether a client needs a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum ClientAuth {
    /// A client without one is refused in the handshake
    #[default]
    Required,
    /// A client without one needs a token
    Optional,
}

impl TlsSettings {
    /// Whether every client shows a certificate of an authority of `--tls-client-ca`.
    pub(crate) fn needs_certificate(&self) -> bool {
        let auth = self.tls_client_auth.unwrap_or_default();
        self.tls_client_ca.is_some() && auth == ClientAuth::Required
    }

    /// The files that are in use.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        let files = [
            &self.tls_cert,
            &self.tls_key,
            &self.tls_client_ca,
            &self.tls_client_crl,
        ];
        files.into_iter().flatten().cloned().collect()
    }
}
