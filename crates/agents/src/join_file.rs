//! What an agent needs to join a run: where the runner is, its certificate and the token. A file that only its owner reads.

use std::{
    fmt, fs,
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

/// Longest file.
const MAX_BYTES: u64 = 64 * 1024;

/// The contents, as JSON.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JoinFile {
    /// The run, for messages.
    pub run: String,
    /// `HOST:PORT` of the runner, tried in order.
    pub addresses: Vec<String>,
    pub token: String,
    /// The runner's certificate in PEM: the only one that is trusted.
    pub certificate: String,
}

impl fmt::Debug for JoinFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("JoinFile");
        shown
            .field("run", &self.run)
            .field("addresses", &self.addresses);
        shown.finish_non_exhaustive()
    }
}

#[derive(Debug, thiserror::Error)]
pub enum JoinFileError {
    #[error("cannot read {}: {problem}", file.display())]
    Read { file: PathBuf, problem: io::Error },
    #[error("cannot write {}: {problem}", file.display())]
    Write { file: PathBuf, problem: io::Error },
    #[error("{} is no file by which agents join a run: {why}", file.display())]
    Invalid { file: PathBuf, why: String },
}

impl JoinFile {
    /// Reads a file; `-` is standard input.
    ///
    /// # Errors
    /// It cannot be read, or is not such a file.
    pub fn read(file: &Path) -> Result<Self, JoinFileError> {
        let read = |from: &mut dyn io::Read| {
            let mut text = String::new();
            let mut bounded = io::Read::take(from, MAX_BYTES + 1);
            io::Read::read_to_string(&mut bounded, &mut text).map(|_| text)
        };
        let text = match file == Path::new("-") {
            true => read(&mut io::stdin()),
            false => fs::File::open(file).and_then(|mut file| read(&mut file)),
        };
        let text = text.map_err(|problem| JoinFileError::Read {
            file: file.to_path_buf(),
            problem,
        })?;
        let invalid = |why: String| JoinFileError::Invalid {
            file: file.to_path_buf(),
            why,
        };
        if text.len() as u64 > MAX_BYTES {
            return Err(invalid(format!("it has more than {MAX_BYTES} bytes")));
        }
        // The message of a parser may show a part of the text, and that may be the token.
        let join: Self = serde_json::from_str(&text).map_err(|problem| {
            let (line, column) = (problem.line(), problem.column());
            invalid(format!("its JSON is wrong in line {line}, column {column}"))
        })?;
        match join.addresses.is_empty() {
            true => Err(invalid("it has no address of the runner".to_owned())),
            false => Ok(join),
        }
    }

    /// Writes it into a new file that only its owner may read.
    ///
    /// # Errors
    /// The file exists, or the disk refuses.
    pub fn write(&self, file: &Path) -> Result<(), JoinFileError> {
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let written = options
            .open(file)
            .and_then(|mut open| open.write_all(self.text().as_bytes()));
        written.map_err(|problem| JoinFileError::Write {
            file: file.to_path_buf(),
            problem,
        })
    }

    /// The text of the file.
    #[must_use]
    pub fn text(&self) -> String {
        let text = serde_json::to_string_pretty(self).expect("texts are JSON");
        text + "\n"
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_file_is_private_and_a_wrong_one_shows_no_token() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("agents.join");
        let join = JoinFile {
            run: "a".to_owned(),
            addresses: vec!["127.0.0.1:1".to_owned()],
            token: "very-secret".to_owned(),
            certificate: "PEM".to_owned(),
        };
        join.write(&file).unwrap();
        assert_eq!(
            fs::metadata(&file).unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert_eq!(JoinFile::read(&file).unwrap(), join);
        assert!(!format!("{join:?}").contains("very-secret"));
        assert!(matches!(
            join.write(&file),
            Err(JoinFileError::Write { .. })
        ));

        let check = |text: String, expected: &str| {
            fs::write(&file, text).unwrap();
            let error = JoinFile::read(&file).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
            assert!(!error.contains("very-secret"), "{error}");
        };
        check(
            join.text().replace("\"token\"", "\"word\""),
            "its JSON is wrong in line",
        );
        check("\"very-secret\"".to_owned(), "its JSON is wrong in line 1");
        check(" ".repeat(70_000), "more than 65536 bytes");
        let nowhere = JoinFile {
            addresses: Vec::new(),
            ..join
        };
        check(nowhere.text(), "no address");
    }
}
