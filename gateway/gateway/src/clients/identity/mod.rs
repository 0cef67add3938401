//! Who sends a request, and what that client may do: tokens, rights by topic and budgets, from the file of `--clients`.
//!
//! `file` reads it, `token` makes and checks tokens, `rights` judges topics, `pages` web pages, `audit` writes down who was refused,
//! `certificate` checks those of TLS, `jwt` tokens of others, and [`Identities`] is what is in force. Without a file nothing of this is used.

pub(crate) mod audit;
pub(crate) mod caller;
pub(crate) mod certificate;
mod file;
mod jwt;
mod known_client;
pub(crate) mod pages;
mod rights;
mod table;
mod token;

pub use file::{ClientsError, read_name as read_client_name};

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use audit::{Audit, Changes, Event};
use pages::Pages;
use table::Table;
pub use token::NoRandomness;
use waggle_service::metrics::Page;

use crate::{clients::memory::ClientMax, watch::Watched};

/// A new token for a client: the token, and the client's entry for the file of `--clients`.
///
/// # Errors
/// If the system has no random numbers.
pub fn token_for(name: &str) -> Result<(String, String), NoRandomness> {
    let token = token::make()?;
    let digest = token::hexadecimal(&token::digest_of(token.as_bytes()));
    let name = as_yaml(name);
    let entry = format!("- name: {name}\n  tokens: [{digest}]\n  write: []\n  read: []");
    Ok((token, entry))
}

/// A name as a value of YAML: in quotes if it could be read as something else.
fn as_yaml(name: &str) -> String {
    let words = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"];
    let is_plain = name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
        && !words.contains(&&*name.to_ascii_lowercase());
    if is_plain {
        return name.to_owned();
    }
    format!("'{}'", name.replace('\'', "''"))
}

/// What decides who may send requests.
#[derive(Default)]
pub(crate) struct Gate {
    /// The clients with tokens; `None` if everyone may do everything.
    pub(crate) identities: Option<Arc<Identities>>,
    pub(crate) pages: Pages,
    pub(crate) audit: Audit,
    /// The current second, by which budgets are counted.
    pub(crate) second: AtomicU64,
}

impl Watched for Gate {
    fn files(&self) -> Vec<PathBuf> {
        let Some(identities) = &self.identities else {
            return Vec::new();
        };
        let table = identities.table();
        let keys = table.issuers.iter().filter_map(jwt::Issuer::file);
        keys.chain([identities.file.clone()]).collect()
    }

    fn renew(&self) -> Result<String, String> {
        let Some(identities) = &self.identities else {
            return Err("there are no clients".to_owned());
        };
        let (changes, count) = identities.renew().map_err(|error| error.to_string())?;
        if changes.is_any() {
            self.audit.write(Event::ClientsChanged(changes), None, None);
        }
        Ok(format!("clients are read again: {count} clients"))
    }
}

/// The clients in force.
pub(crate) struct Identities {
    file: PathBuf,
    /// What each client may take of memory.
    client_max: ClientMax,
    table: RwLock<Arc<Table>>,
    /// Counts the versions of the table, so that connections notice a new one without a lock.
    version: AtomicU64,
    /// Whether the file as it is now is in force.
    is_current: AtomicBool,
}

impl Identities {
    /// Reads the file.
    ///
    /// # Errors
    /// If it cannot be read or has a mistake.
    pub(crate) fn open(file: &Path, client_max: ClientMax) -> Result<Self, ClientsError> {
        let table = file::read(file, &Table::default(), client_max)?;
        Ok(Self {
            file: file.to_owned(),
            client_max,
            table: RwLock::new(Arc::new(table)),
            version: AtomicU64::new(1),
            is_current: AtomicBool::new(true),
        })
    }

    /// Reads the file again; returns what has changed and the number of clients. After a mistake what was in force remains.
    ///
    /// # Errors
    /// As [`Self::open`].
    fn renew(&self) -> Result<(Changes, usize), ClientsError> {
        let before = self.table();
        let read = file::read(&self.file, &before, self.client_max);
        self.is_current.store(read.is_ok(), Ordering::Relaxed);
        let table = read?;
        let changes = before.changes(&table);
        let count = table.len();
        let mut current = self.table.write().unwrap_or_else(PoisonError::into_inner);
        *current = Arc::new(table);
        self.version.fetch_add(1, Ordering::Release);
        Ok((changes, count))
    }

    pub(crate) fn write_metrics(&self, page: &mut Page) {
        page.gauge(
            "clients_file_is_in_force",
            "1 if the file of clients is in force, 0 if it has a mistake and an earlier one is",
            u64::from(self.is_current.load(Ordering::Relaxed)),
        );
        let table = self.table();
        let keys = table.issuers.iter().map(|issuer| {
            let labels = vec![("issuer", issuer.name.to_string())];
            (labels, i64::from(issuer.is_current()))
        });
        page.gauges(
            "issuer_keys_are_current",
            "1 if an issuer's keys could be read at the last attempt, 0 if not: earlier keys are in force, if there are any",
            keys,
        );
    }

    /// Asks issuers for their keys until it is dropped.
    pub(crate) async fn refresh_keys(self: Arc<Self>) {
        let in_use = || {
            let table = self.table();
            table.issuers.iter().map(jwt::Issuer::keys).collect()
        };
        jwt::refresh(in_use).await;
    }

    fn table(&self) -> Arc<Table> {
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&table)
    }

    fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_read_with_the_name_that_it_was_made_for() {
        for name in ["press-7", "x:", "#7", "null", "'*'", "{a}", "12", "-", "~"] {
            assert_eq!(read_client_name(name).as_deref(), Ok(name));
            let (_, entry) = token_for(name).unwrap();
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), format!("clients:\n{entry}\n")).unwrap();
            let table = file::read(file.path(), &Table::default(), ClientMax::UNLIMITED).unwrap();
            assert!(table.by_name(name).is_some(), "{entry}");
        }
        for name in ["", " ", "a b", "a\nb", "\u{e9}", &"x".repeat(101)] {
            assert!(read_client_name(name).is_err(), "{name:?}");
        }
        assert_eq!(as_yaml("press-7"), "press-7");
    }
}
