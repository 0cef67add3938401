//! The public keys of an issuer (JWKS, RFC 7517): from a file, or from a URL that is asked again.

use std::{
    path::PathBuf,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use jsonwebtoken::{
    Algorithm, DecodingKey, Header,
    jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyAlgorithm, PublicKeyUse},
};
use serde::Deserialize;

use http::StatusCode;
use waggle_fetch::{Ask, Location};

use super::IssuerError;

/// Interval of requests for the keys at a URL.
const REFRESH_EVERY: Duration = Duration::from_mins(5);
/// The same after an error, and the least time until they are asked for because of a key that is not known.
const RETRY_EVERY: Duration = Duration::from_secs(10);

/// A public key.
struct Key {
    id: Option<String>,
    /// What a signature by it may be.
    algorithms: Vec<Algorithm>,
    key: DecodingKey,
}

/// The usable keys of a set.
pub(super) struct KeySet(Vec<Key>);

impl KeySet {
    /// Reads a set. Keys of other kinds are left out, as the standard wants it.
    pub(super) fn read(text: &[u8]) -> Result<Self, IssuerError> {
        #[derive(Deserialize)]
        struct Set {
            keys: Vec<serde_json::Value>,
        }
        let set: Set = serde_json::from_slice(text)
            .map_err(|error| IssuerError(format!("expected a JSON Web Key Set: {error}")))?;
        let keys = set.keys.into_iter().filter_map(|value| {
            let jwk: Jwk = serde_json::from_value(value).ok()?;
            read_key(&jwk)
        });
        let keys: Vec<Key> = keys.collect();
        if keys.is_empty() {
            let problem = "expected public keys for signatures in the JSON Web Key Set";
            return Err(IssuerError(problem.to_owned()));
        }
        Ok(Self(keys))
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The key that a token names, or the only one.
    pub(super) fn find(&self, header: &Header) -> Option<&DecodingKey> {
        let key = match &header.kid {
            Some(id) => self.0.iter().find(|key| key.id.as_ref() == Some(id)),
            None if self.0.len() == 1 => self.0.first(),
            None => None,
        };
        let key = key.filter(|key| key.algorithms.contains(&header.alg));
        key.map(|key| &key.key)
    }
}

fn read_key(jwk: &Jwk) -> Option<Key> {
    use Algorithm::{ES256, ES384, EdDSA, PS256, PS384, PS512, RS256, RS384, RS512};
    let is_for_signatures = matches!(
        jwk.common.public_key_use,
        None | Some(PublicKeyUse::Signature)
    );
    let mut algorithms = match &jwk.algorithm {
        AlgorithmParameters::RSA(_) => vec![RS256, RS384, RS512, PS256, PS384, PS512],
        AlgorithmParameters::EllipticCurve(key) => match key.curve {
            EllipticCurve::P256 => vec![ES256],
            EllipticCurve::P384 => vec![ES384],
            _ => return None,
        },
        AlgorithmParameters::OctetKeyPair(key) if key.curve == EllipticCurve::Ed25519 => {
            vec![EdDSA]
        }
        _ => return None,
    };
    if let Some(only) = jwk.common.key_algorithm {
        algorithms.retain(|algorithm| is_same(*algorithm, only));
    }
    if !is_for_signatures || algorithms.is_empty() {
        return None;
    }
    Some(Key {
        id: jwk.common.key_id.clone(),
        algorithms,
        key: DecodingKey::from_jwk(jwk).ok()?,
    })
}

fn is_same(algorithm: Algorithm, named: KeyAlgorithm) -> bool {
    format!("{algorithm:?}") == format!("{named:?}")
}

/// Where keys come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Source {
    File(PathBuf),
    Url(Location),
}

/// The keys of an issuer as they are known now.
pub(in super::super) struct Keys {
    pub(super) source: Source,
    /// `None` as long as a URL has not answered.
    known: RwLock<Option<Arc<KeySet>>>,
    /// A token has named a key that is not among them.
    is_wanted: AtomicBool,
    /// Whether the last attempt to read them succeeded.
    is_current: AtomicBool,
}

impl Keys {
    pub(super) fn new(source: Source, known: Option<KeySet>) -> Self {
        Self {
            source,
            is_current: AtomicBool::new(known.is_some()),
            known: RwLock::new(known.map(Arc::new)),
            is_wanted: AtomicBool::new(false),
        }
    }

    /// Whether they are those of the last attempt to read them.
    pub(super) fn is_current(&self) -> bool {
        self.is_current.load(Ordering::Relaxed)
    }

    pub(super) fn get(&self) -> Option<Arc<KeySet>> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.clone()
    }

    /// Notes that a token has named a key that is not there: the issuer may have new ones.
    pub(super) fn want(&self) {
        self.is_wanted.store(true, Ordering::Relaxed);
    }

    /// Asks a URL for its keys if it is time; returns what to say about an error, or about other numbers of keys than before.
    pub(super) async fn refresh(&self, times: &mut Times) -> Option<Result<usize, String>> {
        let Source::Url(location) = &self.source else {
            return None;
        };
        let now = Instant::now();
        let is_wanted = self.is_wanted.load(Ordering::Relaxed);
        if !times.are_due(now, is_wanted) {
            return None;
        }
        let read = fetch(location).await;
        times.asked = Some(Instant::now());
        times.is_failed = read.is_err();
        self.is_current.store(read.is_ok(), Ordering::Relaxed);
        self.is_wanted.store(false, Ordering::Relaxed);
        match read {
            Ok(keys) => {
                let count = keys.len();
                let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
                let before = known.replace(Arc::new(keys));
                let is_same = before.is_some_and(|before| before.len() == count);
                (!is_same).then_some(Ok(count))
            }
            Err(error) => Some(Err(format!("{location}: {error}"))),
        }
    }
}

/// Asks a URL for its keys.
async fn fetch(location: &Location) -> Result<KeySet, IssuerError> {
    let accept = "application/json, application/jwk-set+json";
    let answer = location.ask(&Ask::Read { accept }).await;
    let answer = answer.map_err(|error| IssuerError(error.to_string()))?;
    if answer.status == StatusCode::OK {
        return KeySet::read(&answer.body);
    }
    let status = answer.status;
    Err(IssuerError(format!(
        "expected status 200, and found {status}"
    )))
}

/// When a URL was asked.
#[derive(Debug, Default)]
pub(super) struct Times {
    asked: Option<Instant>,
    is_failed: bool,
}

impl Times {
    fn are_due(&self, now: Instant, is_wanted: bool) -> bool {
        let interval = if is_wanted || self.is_failed {
            RETRY_EVERY
        } else {
            REFRESH_EVERY
        };
        self.asked
            .is_none_or(|asked| now.duration_since(asked) >= interval)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_are_no_public_keys_for_signatures_are_left_out() {
        let set = |keys: &str| KeySet::read(format!("{{\"keys\":[{keys}]}}").as_bytes());
        let good =
            r#"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#;
        let others = [
            r#"{"kty":"oct","k":"AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T","alg":"HS256"}"#,
            r#"{"kty":"future","x":"1"}"#,
            r#"{"kty":"OKP","crv":"Ed25519","use":"enc","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#,
            r#"{"kty":"OKP","crv":"Ed25519","alg":"ES256","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#,
        ];
        assert_eq!(set(good).unwrap().len(), 1);
        assert_eq!(
            set(&format!("{good},{}", others.join(","))).unwrap().len(),
            1
        );
        for other in others {
            assert!(set(other).is_err(), "{other}");
        }
        assert!(set("").is_err());
        assert!(KeySet::read(b"<html>").is_err());
    }

    #[test]
    fn a_url_is_asked_again_sooner_after_an_error_and_for_an_unknown_key() {
        let now = Instant::now();
        let times = |is_failed| Times {
            asked: Some(now),
            is_failed,
        };
        assert!(Times::default().are_due(now, false));
        let soon = now + RETRY_EVERY;
        assert!(!times(false).are_due(soon, false));
        assert!(times(true).are_due(soon, false) && times(false).are_due(soon, true));
        assert!(!times(true).are_due(now, true));
        assert!(times(false).are_due(now + REFRESH_EVERY, false));
    }
}
