//! Flags of the connection to Kafka: protocol, credentials, certificates.

use std::path::PathBuf;

/// Protocol and credentials of the connections to brokers.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Security of Kafka")]
pub struct SecuritySettings {
    /// Protocol of connections to brokers. ssl and sasl_ssl check the broker's certificate and its name
    #[arg(long, value_enum, default_value_t = Protocol::Plaintext, requires = "kafka_brokers")]
    pub kafka_security_protocol: Protocol,
    /// Mechanism of authentication, with sasl_plaintext and sasl_ssl
    #[arg(long, value_enum, ignore_case = true, requires = "kafka_brokers")]
    pub kafka_sasl_mechanism: Option<Mechanism>,
    /// User, with PLAIN and SCRAM
    #[arg(long, value_name = "NAME", requires = "kafka_brokers")]
    pub kafka_username: Option<String>,
    /// File with the user's password; clients connect again with the new one when it changes [default: the environment variable
    /// KAFKA_PASSWORD]
    #[arg(long, value_name = "FILE", requires = "kafka_username")]
    pub kafka_password_file: Option<PathBuf>,
    /// File with the token, with OAUTHBEARER; something else renews it. It is read again before the token expires
    #[arg(long, value_name = "FILE", requires = "kafka_brokers")]
    pub kafka_token_file: Option<PathBuf>,
    /// URL of the token endpoint of an OpenID provider, with OAUTHBEARER, instead of a file: tokens come from there by the grant
    /// client_credentials, and are renewed before they expire. https, or http on this host
    #[arg(long, value_name = "URL", conflicts_with = "kafka_token_file",
        requires_all = ["kafka_brokers", "kafka_token_client_id", "kafka_token_client_secret_file"])]
    pub kafka_token_url: Option<String>,
    /// Name of this client at --kafka-token-url
    #[arg(long, value_name = "NAME", requires = "kafka_token_url")]
    pub kafka_token_client_id: Option<String>,
    /// File with the secret of --kafka-token-client-id; read again for each token
    #[arg(long, value_name = "FILE", requires = "kafka_token_url")]
    pub kafka_token_client_secret_file: Option<PathBuf>,
    /// Scope of the tokens; several are separated by spaces [default: that of the provider]
    #[arg(long, value_name = "SCOPE", requires = "kafka_token_url")]
    pub kafka_token_scope: Option<String>,
    /// File with the certificates of authorities that sign --kafka-token-url, in PEM; read again for each token [default: the
    /// system's]
    #[arg(long, value_name = "FILE", requires = "kafka_token_url")]
    pub kafka_token_ca: Option<PathBuf>,
    /// File with the certificates of authorities that sign brokers, in PEM; read again when it changes [default: the system's]
    #[arg(long, value_name = "FILE", requires = "kafka_brokers")]
    pub kafka_ca: Option<PathBuf>,
    /// File with the client's certificate and those between it and its authority, in PEM; read again when it changes
    #[arg(long, value_name = "FILE", requires_all = ["kafka_brokers", "kafka_key"])]
    pub kafka_certificate: Option<PathBuf>,
    /// File with the key of --kafka-certificate, in PEM; read again when it changes
    #[arg(long, value_name = "FILE", requires_all = ["kafka_brokers", "kafka_certificate"])]
    pub kafka_key: Option<PathBuf>,
    /// File with the password of an encrypted --kafka-key; read again when it changes [default: the environment variable
    /// KAFKA_KEY_PASSWORD]
    #[arg(long, value_name = "FILE", requires = "kafka_key")]
    pub kafka_key_password_file: Option<PathBuf>,
}

/// The protocol of connections to brokers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Protocol {
    /// Neither encryption nor authentication
    #[default]
    Plaintext,
    /// TLS; with --kafka-certificate also authentication
    Ssl,
    /// Authentication without encryption: for networks that are encrypted themselves
    #[value(name = "sasl_plaintext")]
    SaslPlaintext,
    /// Authentication over TLS
    #[value(name = "sasl_ssl")]
    SaslSsl,
}

/// The SASL mechanism.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Mechanism {
    #[value(name = "PLAIN")]
    Plain,
    #[value(name = "SCRAM-SHA-256")]
    ScramSha256,
    #[value(name = "SCRAM-SHA-512")]
    ScramSha512,
    #[value(name = "OAUTHBEARER")]
    Oauthbearer,
}

impl Protocol {
    /// Kafka's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plaintext => "plaintext",
            Self::Ssl => "ssl",
            Self::SaslPlaintext => "sasl_plaintext",
            Self::SaslSsl => "sasl_ssl",
        }
    }

    /// Whether connections are encrypted.
    pub fn has_tls(self) -> bool {
        matches!(self, Self::Ssl | Self::SaslSsl)
    }

    /// Whether clients authenticate by SASL.
    pub fn has_sasl(self) -> bool {
        matches!(self, Self::SaslPlaintext | Self::SaslSsl)
    }
}

impl Mechanism {
    /// Kafka's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "PLAIN",
            Self::ScramSha256 => "SCRAM-SHA-256",
            Self::ScramSha512 => "SCRAM-SHA-512",
            Self::Oauthbearer => "OAUTHBEARER",
        }
    }
}
