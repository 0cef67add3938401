//! The checked credentials and certificates, and librdkafka's configuration from them.

use std::{
    path::{Path, PathBuf},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::SystemTime,
};

use rdkafka::{ClientConfig, client::OAuthToken};
use waggle_fetch::Location;

use crate::{
    endpoint::Endpoint,
    error::AccessError,
    jwt::{self, TokenError},
    renewal::TokenRenewal,
    secret_file::{PemKind, is_secret, read_pem, read_secret},
    settings::{Mechanism, Protocol, SecuritySettings},
};

/// What a gauge of [`Access::is_current`] is called, and what it means.
pub const IS_CURRENT: [&str; 2] = [
    "kafka_access_is_current",
    "1 if credentials and certificates for Kafka are in force as they were read last, 0 if a file or the token endpoint has a mistake and \
     earlier ones are",
];
/// The environment variable with the password, if there is no file.
const PASSWORD_VARIABLE: &str = "KAFKA_PASSWORD";
/// The environment variable with the password of the key, if there is no file.
const KEY_PASSWORD_VARIABLE: &str = "KAFKA_KEY_PASSWORD";
const PASSWORD_FLAG: &str = "--kafka-password-file";
const TOKEN_FLAG: &str = "--kafka-token-file";
const CA_FLAG: &str = "--kafka-ca";
const CERTIFICATE_FLAG: &str = "--kafka-certificate";
const KEY_FLAG: &str = "--kafka-key";
const KEY_PASSWORD_FLAG: &str = "--kafka-key-password-file";

/// What clients need to reach the cluster.
pub struct Access {
    brokers: String,
    settings: SecuritySettings,
    /// Passwords of the environment, which do not change.
    environment: Environment,
    secrets: Mutex<Secrets>,
    /// Asks the token endpoint.
    tokens: Option<TokenRenewal>,
    /// Whether what is in force is what was read last.
    is_current: AtomicBool,
}

#[derive(Clone, Default)]
struct Environment {
    password: Option<String>,
    key_password: Option<String>,
}

/// What the files have. If it differs, clients are made again.
#[derive(Clone, Default, PartialEq, Eq)]
struct Secrets {
    password: Option<String>,
    key_password: Option<String>,
    ca: Option<String>,
    certificate: Option<String>,
    key: Option<String>,
}

impl std::fmt::Debug for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let settings = &self.settings;
        write!(f, "Access({}, {settings:?}, …)", self.brokers)
    }
}

impl Access {
    /// Checks the flags and reads the files. `variable` looks up a variable of the environment.
    ///
    /// # Errors
    /// If flags contradict each other, if this program is built without what they need, or if a file is not what it should be.
    pub fn new(
        brokers: &str,
        settings: &SecuritySettings,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, AccessError> {
        check_build(settings)?;
        check_sasl(settings)?;
        check_tls(settings)?;
        let environment = Environment {
            password: variable(PASSWORD_VARIABLE),
            key_password: variable(KEY_PASSWORD_VARIABLE),
        };
        let access = Self {
            brokers: brokers.to_owned(),
            settings: settings.clone(),
            secrets: Mutex::new(read_secrets(settings, &environment)?),
            environment,
            tokens: renewal(settings)?,
            is_current: AtomicBool::new(true),
        };
        if settings.kafka_token_file.is_some() {
            access.token()?;
        }
        Ok(access)
    }

    /// Reads the files again, and returns whether clients must be made again.
    ///
    /// # Errors
    /// If a file is not what it should be, or the token endpoint gives no new token while there is one. What was had before stays in
    /// force.
    pub fn renew(&self) -> Result<bool, AccessError> {
        let renewed = self.read_again();
        self.is_current.store(renewed.is_ok(), Ordering::Relaxed);
        renewed
    }

    /// Whether what is in force is what was read last; after a mistake in a file or of the token endpoint it is not.
    pub fn is_current(&self) -> bool {
        self.is_current.load(Ordering::Relaxed)
    }

    fn read_again(&self) -> Result<bool, AccessError> {
        let secrets = read_secrets(&self.settings, &self.environment)?;
        let mut current = self.secrets();
        let has_changed = *current != secrets;
        *current = secrets;
        match self.tokens.as_ref().and_then(TokenRenewal::problem) {
            Some(problem) if !has_changed => Err(problem),
            _ => Ok(has_changed),
        }
    }

    /// The configuration of a client: brokers, protocol, credentials and certificates.
    pub fn client_config(&self) -> ClientConfig {
        let settings = &self.settings;
        let protocol = settings.kafka_security_protocol;
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", &self.brokers);
        if protocol == Protocol::Plaintext {
            return config;
        }
        config.set("security.protocol", protocol.name());
        if let Some(mechanism) = settings.kafka_sasl_mechanism {
            config.set("sasl.mechanism", mechanism.name());
        }
        let secrets = self.secrets();
        if let (Some(name), Some(password)) = (&settings.kafka_username, &secrets.password) {
            config.set("sasl.username", name);
            config.set("sasl.password", password);
        }
        if protocol.has_tls() {
            let probe = Path::new("probe");
            set_file(
                &mut config,
                "ssl.ca.location",
                settings.kafka_ca.as_deref().unwrap_or(probe),
            );
            for (name, file) in [
                ("ssl.certificate.location", &settings.kafka_certificate),
                ("ssl.key.location", &settings.kafka_key),
            ] {
                if let Some(file) = file {
                    set_file(&mut config, name, file);
                }
            }
            if let Some(password) = &secrets.key_password {
                config.set("ssl.key.password", password);
            }
        }
        config
    }

    /// Whether clients authenticate by a token.
    pub fn has_token(&self) -> bool {
        self.settings.kafka_token_file.is_some() || self.tokens.is_some()
    }

    /// The token, read from its file now, or the latest one of the token endpoint. Waits up to five seconds for the first of them.
    ///
    /// # Errors
    /// If there is none, or it has expired.
    pub fn token(&self) -> Result<OAuthToken, AccessError> {
        if let Some(tokens) = &self.tokens {
            return tokens.token();
        }
        let Some(file) = &self.settings.kafka_token_file else {
            return Err(AccessError::Flag {
                flag: TOKEN_FLAG,
                expected: "a file with a token",
            });
        };
        let token = read_secret(TOKEN_FLAG, file)?;
        jwt::oauth_token(token, SystemTime::now(), None).map_err(|error| token_error(file, &error))
    }

    fn secrets(&self) -> MutexGuard<'_, Secrets> {
        self.secrets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What renews the tokens of an endpoint, if there is one.
fn renewal(settings: &SecuritySettings) -> Result<Option<TokenRenewal>, AccessError> {
    let (Some(url), Some(client), Some(secret)) = (
        &settings.kafka_token_url,
        &settings.kafka_token_client_id,
        &settings.kafka_token_client_secret_file,
    ) else {
        return Ok(None);
    };
    let endpoint = Endpoint {
        location: Location::new(url, settings.kafka_token_ca.clone())?,
        client: client.clone(),
        scope: settings.kafka_token_scope.clone(),
    };
    TokenRenewal::begin(endpoint, secret.clone()).map(Some)
}

fn token_error(file: &Path, error: &TokenError) -> AccessError {
    let file = file.to_owned();
    match error {
        TokenError::Unprintable => AccessError::Content {
            flag: TOKEN_FLAG,
            file,
            expected: "a token of visible ASCII characters",
        },
        TokenError::Expired(ago) => AccessError::TokenExpired {
            file,
            seconds: ago.as_secs(),
        },
    }
}

/// Paths that are not UTF-8 do not reach librdkafka as they are; it then says that there is no such file.
fn set_file(config: &mut ClientConfig, name: &str, file: &Path) {
    config.set(name, file.to_string_lossy());
}

/// Refuses what librdkafka has only with OpenSSL.
fn check_build(settings: &SecuritySettings) -> Result<(), AccessError> {
    if cfg!(feature = "tls") {
        return Ok(());
    }
    let protocol = settings.kafka_security_protocol;
    if protocol.has_tls() {
        return Err(AccessError::NotBuilt {
            flag: "--kafka-security-protocol",
            value: protocol.name(),
        });
    }
    match settings.kafka_sasl_mechanism {
        None | Some(Mechanism::Plain) => Ok(()),
        Some(mechanism) => Err(AccessError::NotBuilt {
            flag: "--kafka-sasl-mechanism",
            value: mechanism.name(),
        }),
    }
}

fn check_sasl(settings: &SecuritySettings) -> Result<(), AccessError> {
    let wrong = |flag, expected| Err(AccessError::Flag { flag, expected });
    let has_sasl = settings.kafka_security_protocol.has_sasl();
    match settings.kafka_sasl_mechanism {
        None if has_sasl => wrong(
            "--kafka-sasl-mechanism",
            "a mechanism with --kafka-security-protocol sasl_plaintext or sasl_ssl",
        ),
        Some(_) if !has_sasl => wrong(
            "--kafka-sasl-mechanism",
            "--kafka-security-protocol sasl_plaintext or sasl_ssl with it",
        ),
        Some(Mechanism::Oauthbearer)
            if settings.kafka_token_file.is_none() && settings.kafka_token_url.is_none() =>
        {
            wrong(
                TOKEN_FLAG,
                "a file with a token for OAUTHBEARER, or --kafka-token-url",
            )
        }
        Some(Mechanism::Oauthbearer) if settings.kafka_username.is_some() => wrong(
            "--kafka-username",
            "no user with OAUTHBEARER: the token has it",
        ),
        Some(Mechanism::Oauthbearer) => Ok(()),
        _ if settings.kafka_token_file.is_some() => {
            wrong(TOKEN_FLAG, "--kafka-sasl-mechanism OAUTHBEARER with it")
        }
        _ if settings.kafka_token_url.is_some() => wrong(
            "--kafka-token-url",
            "--kafka-sasl-mechanism OAUTHBEARER with it",
        ),
        None if settings.kafka_username.is_some() => wrong(
            "--kafka-username",
            "--kafka-sasl-mechanism PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512 with it",
        ),
        None => Ok(()),
        Some(_) => match &settings.kafka_username {
            Some(name) if is_secret(name) => Ok(()),
            _ => wrong("--kafka-username", "the name of a user for PLAIN and SCRAM"),
        },
    }
}

fn check_tls(settings: &SecuritySettings) -> Result<(), AccessError> {
    if settings.kafka_security_protocol.has_tls() {
        return Ok(());
    }
    let files = [
        (CA_FLAG, &settings.kafka_ca),
        (CERTIFICATE_FLAG, &settings.kafka_certificate),
    ];
    match files.iter().find(|(_, file)| file.is_some()) {
        None => Ok(()),
        Some((flag, _)) => Err(AccessError::Flag {
            flag,
            expected: "--kafka-security-protocol ssl or sasl_ssl with it",
        }),
    }
}

fn read_secrets(
    settings: &SecuritySettings,
    environment: &Environment,
) -> Result<Secrets, AccessError> {
    let pem = |flag, file: &Option<PathBuf>, kind| {
        let file = file.as_deref();
        file.map(|file| read_pem(flag, file, kind)).transpose()
    };
    let mut secrets = Secrets {
        ca: pem(CA_FLAG, &settings.kafka_ca, PemKind::Certificate)?,
        certificate: pem(
            CERTIFICATE_FLAG,
            &settings.kafka_certificate,
            PemKind::Certificate,
        )?,
        key: pem(KEY_FLAG, &settings.kafka_key, PemKind::Key)?,
        ..Secrets::default()
    };
    if settings.kafka_username.is_some() {
        let file = settings.kafka_password_file.as_deref();
        let password = password(PASSWORD_FLAG, file, environment.password.as_ref())?;
        secrets.password = Some(password.ok_or(AccessError::Flag {
            flag: PASSWORD_FLAG,
            expected: "a file with the password, or KAFKA_PASSWORD in the environment",
        })?);
    }
    if let Some(key) = &secrets.key {
        let file = settings.kafka_key_password_file.as_deref();
        secrets.key_password =
            password(KEY_PASSWORD_FLAG, file, environment.key_password.as_ref())?;
        if secrets.key_password.is_none() && key.contains("ENCRYPTED") {
            return Err(AccessError::Flag {
                flag: KEY_PASSWORD_FLAG,
                expected: "a file with the password of the encrypted key, or KAFKA_KEY_PASSWORD in the environment",
            });
        }
    }
    Ok(secrets)
}

/// The password in the file, else that of the environment.
fn password(
    flag: &'static str,
    file: Option<&Path>,
    environment: Option<&String>,
) -> Result<Option<String>, AccessError> {
    match (file, environment) {
        (Some(file), _) => read_secret(flag, file).map(Some),
        (None, Some(password)) if is_secret(password) => Ok(Some(password.clone())),
        (None, Some(_)) => Err(AccessError::Flag {
            flag,
            expected: "text without control characters in the variable of the environment",
        }),
        (None, None) => Ok(None),
    }
}

#[cfg(test)]
mod tests;
