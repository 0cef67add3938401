//! The token of an InfluxDB: from a file that may change, or from the environment. It is never in a message or a log.

use std::{
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use http::HeaderValue;

/// The environment variable with the token, if there is no file.
pub const TOKEN_VARIABLE: &str = "INFLUX_TOKEN";

/// Largest size of a token file.
const TOKEN_MAX_BYTES: u64 = 16 * 1024;

/// The credential of requests.
pub struct Token {
    file: Option<PathBuf>,
    header: Mutex<HeaderValue>,
}

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    #[error(
        "expected a file with a token for InfluxDB, or {TOKEN_VARIABLE} in the environment, found neither"
    )]
    Missing,
    #[error("reading {path}: {source}")]
    File {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{origin}: expected a token of printable characters")]
    Unprintable { origin: String },
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

impl Token {
    /// The token in the file, else the one of the environment.
    ///
    /// # Errors
    /// If there is neither, or it cannot be sent.
    pub fn new(file: Option<PathBuf>, environment: Option<String>) -> Result<Self, TokenError> {
        let header = match (&file, environment) {
            (Some(file), _) => read(file)?,
            (None, Some(token)) => header(&token, TOKEN_VARIABLE)?,
            (None, None) => return Err(TokenError::Missing),
        };
        Ok(Self {
            file,
            header: Mutex::new(header),
        })
    }

    /// Reads the token from its file again, if it comes from one.
    ///
    /// # Errors
    /// If the file has no valid token.
    pub fn renew(&self) -> Result<(), TokenError> {
        if let Some(file) = &self.file {
            let header = read(file)?;
            *self.header.lock().unwrap_or_else(PoisonError::into_inner) = header;
        }
        Ok(())
    }

    /// Value of the field `Authorization`.
    pub fn header(&self) -> HeaderValue {
        self.header
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

fn read(path: &Path) -> Result<HeaderValue, TokenError> {
    let text =
        waggle_fetch::read_text(path, TOKEN_MAX_BYTES).map_err(|source| TokenError::File {
            path: path.to_owned(),
            source,
        })?;
    header(&text, &path.display().to_string())
}

fn header(token: &str, origin: &str) -> Result<HeaderValue, TokenError> {
    let token = token.trim();
    match HeaderValue::from_str(&format!("Token {token}")) {
        Ok(mut value) if !token.is_empty() => {
            value.set_sensitive(true);
            Ok(value)
        }
        _ => Err(TokenError::Unprintable {
            origin: origin.to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_is_not_in_messages() {
        let token = Token::new(None, Some(" secret\n".into())).unwrap();
        assert_eq!(token.header(), "Token secret");
        assert!(token.header().is_sensitive());
        assert!(!format!("{token:?}").contains("secret"));
        let error = Token::new(None, Some("sec\u{1}ret".into())).unwrap_err();
        assert!(!error.to_string().contains("ret"), "{error}");
        assert!(Token::new(None, Some("  ".into())).is_err());
        assert!(Token::new(None, None).is_err());
    }

    #[test]
    fn token_file_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        std::fs::write(&file, "one\n").unwrap();
        let token = Token::new(Some(file.clone()), Some("other".into())).unwrap();
        assert_eq!(token.header(), "Token one");
        std::fs::write(&file, "two\n").unwrap();
        token.renew().unwrap();
        assert_eq!(token.header(), "Token two");
        std::fs::remove_file(&file).unwrap();
        assert!(token.renew().unwrap_err().to_string().contains("token"));
    }
}
