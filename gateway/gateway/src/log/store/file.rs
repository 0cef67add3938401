//! The SQLite file: its tables, how it is opened, and the keys of its rows.

use std::{
    fs::{File, TryLockError},
    io::ErrorKind,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use rusqlite::{Connection, OpenFlags, OptionalExtension};
use rustix::fs::OFlags;

use super::{deleter::Deleter, settings::StoreSettings};

/// Marks the file as ours ("wagl").
const APPLICATION_ID: i64 = 0x7761_676c;
pub(super) const FORMAT_VERSION: i64 = 1;
/// A row's key is topic × 2^43 + offset of its first record: 8.7 × 10^12 records per topic, 10^6 topics.
const OFFSET_BITS: u32 = 43;
/// Most topics that keys allow: topics are numbered from 1, and the key after the last topic must exist too.
pub(crate) const TOPICS_MAX: usize = (1 << 20) - 2;

/// How long a checkpoint waits for readers; it is retried later.
const WAIT_FOR_READERS: std::time::Duration = std::time::Duration::from_secs(1);

const TABLES: &str = "
    CREATE TABLE topics (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
    CREATE TABLE chunks (
        id INTEGER PRIMARY KEY,
        count INTEGER NOT NULL,
        min_time INTEGER NOT NULL,
        max_time INTEGER NOT NULL,
        measurements INTEGER NOT NULL,
        records BLOB NOT NULL
    ) STRICT;
    CREATE TABLE trial_write (id INTEGER PRIMARY KEY, filling BLOB NOT NULL) STRICT;
";

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("opening the store {file}: {source}")]
    Open {
        file: PathBuf,
        source: rusqlite::Error,
    },
    #[error("locking {file}: {source}")]
    Lock {
        file: PathBuf,
        source: std::io::Error,
    },
    #[error("resolving the path of the store {file}: {source}")]
    Find {
        file: PathBuf,
        source: std::io::Error,
    },
    #[error("the store {file} can be read but not written")]
    ReadOnly { file: PathBuf },
    #[error("the store {file} is in use by another process")]
    InUse { file: PathBuf },
    #[error("{file} is a SQLite file, but not a store of this gateway")]
    Foreign { file: PathBuf },
    #[error("the store {file} has format {found}; this gateway reads format {FORMAT_VERSION}")]
    Format { file: PathBuf, found: i64 },
    #[error("starting the committer: {0}")]
    Thread(std::io::Error),
}

/// A topic of the file.
#[derive(Debug, Clone)]
pub(super) struct KnownTopic {
    pub(super) id: i64,
    pub(super) name: String,
    pub(super) next_offset: i64,
}

/// An open file, for the writer.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) connection: Connection,
    pub(super) topics: Vec<KnownTopic>,
    pub(super) deleter: Deleter,
    /// Kept as long as the file is open: closing it earlier would release SQLite's own locks, too.
    pub(super) lock: File,
}

/// The key of the chunk that starts at `offset`.
pub(super) fn key(topic: i64, offset: i64) -> i64 {
    (topic << OFFSET_BITS) + offset
}

/// The first offset of the chunk with this key.
pub(super) fn offset_of(key: i64) -> i64 {
    key & ((1 << OFFSET_BITS) - 1)
}

/// The number of the topic of the chunk with this key.
pub(super) fn topic_of(key: i64) -> i64 {
    key >> OFFSET_BITS
}

/// The canonical path of the file: its write-ahead log is next to it under that name. It is absolute, so SQLite
/// cannot take it for something else (`:memory:`, `file:…`).
pub(super) fn resolve_path(file: &Path) -> Result<PathBuf, StoreError> {
    let failed = |source| StoreError::Find {
        file: file.to_owned(),
        source,
    };
    let absolute = std::path::absolute(file).map_err(failed)?;
    match absolute.canonicalize() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        result => return result.map_err(failed),
    }
    let (Some(folder), Some(name)) = (absolute.parent(), absolute.file_name()) else {
        return Err(failed(std::io::ErrorKind::InvalidFilename.into()));
    };
    Ok(folder.canonicalize().map_err(failed)?.join(name))
}

/// Opens the file for writing, creates it if needed.
pub(super) fn open(settings: &StoreSettings) -> Result<Opened, StoreError> {
    let file = &settings.file;
    let lock = lock(file)?;
    let failed = |source| StoreError::Open {
        file: file.clone(),
        source,
    };
    let connection = Connection::open(file).map_err(failed)?;
    if connection.is_readonly(rusqlite::MAIN_DB).map_err(failed)? {
        return Err(StoreError::ReadOnly { file: file.clone() });
    }
    prepare(&connection, settings).map_err(failed)?;
    identify(&connection, file)?;
    let topics = topics(&connection).map_err(failed)?;
    let deleter = Deleter::open(&connection).map_err(failed)?;
    Ok(Opened {
        deleter,
        connection,
        topics,
        lock,
    })
}

/// A connection that only reads.
pub(super) fn open_for_reading(file: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(file, flags)
        .and_then(|connection| {
            connection.pragma_update(None, "cache_size", -1024)?;
            Ok(connection)
        })
        .map_err(|source| StoreError::Open {
            file: file.to_owned(),
            source,
        })
}

/// Offsets are counted in memory, so there must be one writer. The lock is on the file itself, so that it holds for all of its
/// names; it is one of `flock`, of which SQLite's own locks know nothing, and the kernel releases it.
///
/// The store is created here, readable by its owner alone: SQLite gives its other files the same mode.
fn lock(file: &Path) -> Result<File, StoreError> {
    let failed = |source| lock_error(file, source);
    let lock = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
        .open(file)
        .map_err(failed)?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(StoreError::InUse {
            file: file.to_owned(),
        }),
        Err(TryLockError::Error(source)) => Err(failed(source)),
    }
}

fn lock_error(file: &Path, source: std::io::Error) -> StoreError {
    let file = file.to_owned();
    match source.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem if file.is_file() => {
            StoreError::ReadOnly { file }
        }
        _ => StoreError::Lock { file, source },
    }
}

fn prepare(connection: &Connection, settings: &StoreSettings) -> rusqlite::Result<()> {
    connection.busy_timeout(WAIT_FOR_READERS)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // FULL syncs the log at every commit: that is what a 204 promises.
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "cache_size", -16 * 1024)?;
    let page_size: i64 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
    // A quarter of the limit, so that SQLite's own checkpoints usually come first.
    let pages = i64::try_from(settings.wal_max_bytes).unwrap_or(i64::MAX) / 4 / page_size;
    connection.pragma_update(None, "wal_autocheckpoint", pages.max(1))?;
    if settings.file_max_bytes > 0 {
        let pages = i64::try_from(settings.file_max_bytes).unwrap_or(i64::MAX) / page_size;
        connection.pragma_update(None, "max_page_count", pages.max(1))?;
    }
    Ok(())
}

/// Creates the tables in a new file; refuses a file that is not ours.
fn identify(connection: &Connection, file: &Path) -> Result<(), StoreError> {
    let failed = |source| StoreError::Open {
        file: file.to_owned(),
        source,
    };
    let number = |name| {
        connection
            .pragma_query_value(None, name, |row| row.get::<_, i64>(0))
            .map_err(failed)
    };
    let tables: i64 = connection
        .query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))
        .map_err(failed)?;
    if tables == 0 {
        let make = format!(
            "BEGIN IMMEDIATE; {TABLES} PRAGMA application_id = {APPLICATION_ID}; \
             PRAGMA user_version = {FORMAT_VERSION}; COMMIT;"
        );
        return connection.execute_batch(&make).map_err(failed);
    }
    if number("application_id")? != APPLICATION_ID {
        return Err(StoreError::Foreign {
            file: file.to_owned(),
        });
    }
    match number("user_version")? {
        FORMAT_VERSION => Ok(()),
        version => Err(StoreError::Format {
            file: file.to_owned(),
            found: version,
        }),
    }
}

fn topics(connection: &Connection) -> rusqlite::Result<Vec<KnownTopic>> {
    let mut names = connection.prepare("SELECT id, name FROM topics ORDER BY id")?;
    let mut last = connection.prepare(LAST_CHUNK)?;
    let mut rows = names.query([])?;
    let mut topics = Vec::new();
    while let Some(row) = rows.next()? {
        let id: i64 = row.get(0)?;
        let next_offset = last
            .query_row([key(id, 0), key(id + 1, 0)], next_offset)
            .optional()?
            .unwrap_or(0);
        topics.push(KnownTopic {
            id,
            name: row.get(1)?,
            next_offset,
        });
    }
    Ok(topics)
}

pub(super) const INSERT_CHUNK: &str = "INSERT INTO chunks VALUES (?1, ?2, ?3, ?4, ?5, ?6)";

/// The last chunk of a topic, given the keys that bound it.
pub(super) const LAST_CHUNK: &str =
    "SELECT id, count FROM chunks WHERE id >= ?1 AND id < ?2 ORDER BY id DESC LIMIT 1";

/// The offset after the chunk of a row of [`LAST_CHUNK`].
pub(super) fn next_offset(row: &rusqlite::Row<'_>) -> rusqlite::Result<i64> {
    Ok(offset_of(row.get(0)?) + row.get::<_, i64>(1)?)
}
