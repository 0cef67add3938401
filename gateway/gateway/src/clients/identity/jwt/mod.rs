//! Tokens of OpenID providers: JWT (RFC 7519), signed by a key of an issuer in the file of clients.

mod keys;
mod signatures;

use std::{collections::HashSet, path::PathBuf, sync::Arc};

use jsonwebtoken::{
    Algorithm, DecodingKey, Header, Validation,
    dangerous::insecure_decode,
    decode, decode_header,
    errors::{Error, ErrorKind},
};
use serde::Deserialize;
use serde_json::Value;
use tokio::time::{Duration, sleep};
use waggle_fetch::Location;
use waggle_service::log;

pub(super) use keys::Keys;

use keys::{KeySet, Source, Times};

/// Difference of clocks that is allowed, in seconds.
const LEEWAY: u64 = 30;
/// Interval of looks at what is due.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Largest file of keys.
const FILE_MAX_BYTES: u64 = 1024 * 1024;

/// The entry of an issuer, as it is written.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawIssuer {
    pub(super) name: String,
    /// The claim `iss` of its tokens.
    issuer: String,
    /// What the claim `aud` may be.
    audiences: Vec<String>,
    algorithms: Vec<String>,
    /// A file or a URL.
    keys: String,
    keys_ca: Option<PathBuf>,
    /// The claim that names a client.
    #[serde(default = "default_claim")]
    claim: String,
}

fn default_claim() -> String {
    "sub".to_owned()
}

/// An issuer of tokens.
pub(super) struct Issuer {
    pub(super) name: Box<str>,
    issuer: String,
    algorithms: Vec<Algorithm>,
    validation: Validation,
    claim: String,
    keys: Arc<Keys>,
}

/// What is wrong with the entry of an issuer, or with what it names.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct IssuerError(String);

/// What a valid token says.
pub(super) struct Verified {
    /// The issuer's name in the file.
    pub(super) issuer: Box<str>,
    pub(super) subject: String,
    /// Until when the token is valid, in seconds since 1970.
    pub(super) expires: u64,
}

/// Why a token is refused, with the status of the answer.
pub(super) struct Refused {
    pub(super) status: u16,
    pub(super) detail: &'static str,
}

impl Issuer {
    /// Checks an entry. Keys of a URL that was known before are kept.
    pub(super) fn new(raw: &RawIssuer, before: &[Issuer]) -> Result<Self, IssuerError> {
        signatures::install();
        Self::read(raw, before).map_err(IssuerError)
    }

    fn read(raw: &RawIssuer, before: &[Issuer]) -> Result<Self, String> {
        for (key, is_empty) in [
            ("name", raw.name.is_empty()),
            ("issuer", raw.issuer.is_empty()),
            ("audiences", raw.audiences.is_empty()),
            ("algorithms", raw.algorithms.is_empty()),
            ("claim", raw.claim.is_empty()),
        ] {
            if is_empty {
                return Err(format!("expected {key} that is not empty"));
            }
        }
        let algorithms = raw.algorithms.iter().map(|name| read_algorithm(name));
        let algorithms: Vec<Algorithm> = algorithms.collect::<Result<_, _>>()?;
        let source = match raw.keys.contains("://") {
            true => Source::Url(location(raw)?),
            false => Source::File(PathBuf::from(&raw.keys)),
        };
        let mut validation = Validation::new(algorithms[0]);
        validation.leeway = LEEWAY;
        validation.validate_nbf = true;
        validation.set_audience(&raw.audiences);
        validation.set_issuer(&[&raw.issuer]);
        validation.set_required_spec_claims(&["exp", "iss", "aud"]);
        Ok(Self {
            name: (&*raw.name).into(),
            issuer: raw.issuer.clone(),
            algorithms,
            validation,
            claim: raw.claim.clone(),
            keys: keys(source, before)?,
        })
    }

    pub(super) fn keys(&self) -> Arc<Keys> {
        Arc::clone(&self.keys)
    }

    /// Whether its keys are those of the last attempt to read them.
    pub(super) fn is_current(&self) -> bool {
        self.keys.is_current()
    }

    /// The file of its keys, if it has one.
    pub(super) fn file(&self) -> Option<PathBuf> {
        match &self.keys.source {
            Source::File(file) => Some(file.clone()),
            Source::Url(_) => None,
        }
    }

    fn verify(&self, token: &[u8], header: &Header) -> Result<Verified, Refused> {
        if !self.algorithms.contains(&header.alg) {
            return refuse("the algorithm of the token is not one of its issuer");
        }
        let Some(keys) = self.keys.get() else {
            return Err(Refused {
                status: 503,
                detail: "the keys of the token's issuer are not there yet; try again",
            });
        };
        let Some(key) = keys.find(header) else {
            self.keys.want();
            return refuse("the key of the token is not one of its issuer");
        };
        self.claims(token, header, key).map_err(|error| Refused {
            status: 401,
            detail: detail(error.kind()),
        })
    }

    fn claims(&self, token: &[u8], header: &Header, key: &DecodingKey) -> Result<Verified, Error> {
        let mut validation = self.validation.clone();
        validation.algorithms = vec![header.alg];
        let claims = decode::<Value>(token, key, &validation)?.claims;
        let subject = claims.get(&self.claim).and_then(Value::as_str);
        let missing = || ErrorKind::MissingRequiredClaim(self.claim.clone());
        let expires = claims.get("exp").and_then(Value::as_f64);
        Ok(Verified {
            issuer: self.name.clone(),
            subject: subject.ok_or_else(missing)?.to_owned(),
            // `decode` has checked that it is a time.
            expires: expires
                .map_or(0, |seconds| seconds as u64)
                .saturating_add(LEEWAY),
        })
    }
}

fn location(raw: &RawIssuer) -> Result<Location, String> {
    let location = Location::new(&raw.keys, raw.keys_ca.clone());
    location.map_err(|error| error.to_string())
}

fn read_algorithm(name: &str) -> Result<Algorithm, String> {
    let read = name
        .parse()
        .ok()
        .filter(|algorithm| signatures::is_asymmetric(*algorithm));
    read.ok_or_else(|| {
        format!("{name:?} is no algorithm of signatures: expected ES256, ES384, RS256, RS384, RS512, PS256, PS384, PS512 or EdDSA")
    })
}

fn keys(source: Source, before: &[Issuer]) -> Result<Arc<Keys>, String> {
    let Source::File(file) = &source else {
        let known = before.iter().find(|issuer| issuer.keys.source == source);
        return Ok(known.map_or_else(
            || Arc::new(Keys::new(source, None)),
            |issuer| Arc::clone(&issuer.keys),
        ));
    };
    let failed = |error: String| format!("{}: {error}", file.display());
    let text = waggle_fetch::read_file(file, FILE_MAX_BYTES);
    let text = text.map_err(|error| failed(error.to_string()))?;
    let set = KeySet::read(&text).map_err(|error| failed(error.to_string()))?;
    Ok(Arc::new(Keys::new(source, Some(set))))
}

/// Whether a token has the form of a JWT; those of this gateway have no points.
pub(super) fn is_jwt(token: &[u8]) -> bool {
    memchr::memchr_iter(b'.', token).count() == 2
}

/// Checks a token by the issuer that it names.
pub(super) fn verify(token: &[u8], issuers: &[Issuer]) -> Result<Verified, Refused> {
    #[derive(Deserialize)]
    struct Named {
        iss: String,
    }
    let Ok(header) = decode_header(token) else {
        return refuse("the token is no JWT with an algorithm that is known here");
    };
    if header.crit.is_some() || header.enc.is_some() || header.zip.is_some() {
        return refuse("the token has header parameters that are not known here");
    }
    // Only to choose the issuer, whose key then must have signed this.
    let Ok(named) = insecure_decode::<Named>(token) else {
        return refuse("the token names no issuer");
    };
    let issuer = issuers
        .iter()
        .find(|issuer| issuer.issuer == named.claims.iss);
    match issuer {
        Some(issuer) => issuer.verify(token, &header),
        None => refuse("the issuer of the token is not known here"),
    }
}

fn refuse<T>(detail: &'static str) -> Result<T, Refused> {
    Err(Refused {
        status: 401,
        detail,
    })
}

fn detail(error: &ErrorKind) -> &'static str {
    match error {
        ErrorKind::ExpiredSignature => "the token has expired",
        ErrorKind::ImmatureSignature => "the token is not valid yet",
        ErrorKind::InvalidAudience => "the token is for another audience",
        ErrorKind::InvalidSignature => "the signature of the token is wrong",
        ErrorKind::MissingRequiredClaim(_) | ErrorKind::InvalidClaimFormat(_) => {
            "the token lacks a claim that is needed here"
        }
        _ => "the token is not valid",
    }
}

/// Asks URLs for their keys until it is dropped. `in_use` gives the keys of the file in force.
pub(super) async fn refresh(in_use: impl Fn() -> Vec<Arc<Keys>>) {
    let mut known: Vec<(Arc<Keys>, Times)> = Vec::new();
    loop {
        let in_use = in_use();
        known.retain(|(keys, _)| in_use.iter().any(|used| Arc::ptr_eq(used, keys)));
        for keys in in_use {
            if !known.iter().any(|(known, _)| Arc::ptr_eq(known, &keys)) {
                known.push((keys, Times::default()));
            }
        }
        for (keys, times) in &mut known {
            match keys.refresh(times).await {
                Some(Ok(count)) => log::note(format_args!("an issuer has {count} keys")),
                Some(Err(error)) => log::warn(format_args!("keys of an issuer: {error}")),
                None => {}
            }
        }
        sleep(LOOK_EVERY).await;
    }
}

/// The names of issuers must differ, and so must their claims `iss`: the first entry would be that of all tokens.
pub(super) fn duplicates(issuers: &[RawIssuer]) -> Vec<String> {
    let (mut names, mut claims, mut problems) = (HashSet::new(), HashSet::new(), Vec::new());
    for raw in issuers {
        if !names.insert(&raw.name) {
            problems.push(format!("two issuers have the same name {:?}", raw.name));
        }
        if !claims.insert(&raw.issuer) {
            problems.push(format!(
                "two entries have the issuer {:?}: expected one, with the audiences of both",
                raw.issuer
            ));
        }
    }
    problems
}
