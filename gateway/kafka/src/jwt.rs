//! What a client must know of its own token: when it expires and whose it is. The broker checks the signature.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use rdkafka::client::OAuthToken;

/// How long a token is used whose expiry cannot be seen, before it is read again.
const OPAQUE_LIFETIME: Duration = Duration::from_mins(1);
/// Name of a client whose token has no subject. Brokers take it from the token.
const UNKNOWN_PRINCIPAL: &str = "waggle";

/// Why a token cannot be used. It never has the token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TokenError {
    #[error("expected a token of visible ASCII characters")]
    Unprintable,
    #[error("expected a token that is still valid, found one that expired {} s ago", .0.as_secs())]
    Expired(Duration),
}

/// The claims of a JWT that are used here.
#[derive(Debug, serde::Deserialize)]
struct Claims {
    /// Expiry in seconds since the Unix epoch.
    exp: Option<f64>,
    sub: Option<String>,
}

/// The token for librdkafka, with its lifetime: what its claim says, or who gave it, whichever is shorter.
pub(crate) fn oauth_token(
    token: String,
    now: SystemTime,
    lifetime: Option<Duration>,
) -> Result<OAuthToken, TokenError> {
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(TokenError::Unprintable);
    }
    let claims = claims(&token);
    let now = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let expiry = claims.as_ref().and_then(|claims| claims.exp);
    let expiry = expiry.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    if let Some(expiry) = expiry.filter(|expiry| *expiry <= now) {
        return Err(TokenError::Expired(now - expiry));
    }
    let told = lifetime.map(|lifetime| now.saturating_add(lifetime));
    let lifetime = match (expiry, told) {
        (Some(expiry), Some(told)) => expiry.min(told),
        (expiry, told) => expiry.or(told).unwrap_or(now + OPAQUE_LIFETIME),
    };
    let principal = claims
        .and_then(|claims| claims.sub)
        .filter(|subject| !subject.is_empty() && !subject.contains('\0'));
    Ok(OAuthToken {
        token,
        principal_name: principal.unwrap_or_else(|| UNKNOWN_PRINCIPAL.to_owned()),
        lifetime_ms: i64::try_from(lifetime.as_millis()).unwrap_or(i64::MAX),
    })
}

/// The claims, if the token is a JWT.
fn claims(token: &str) -> Option<Claims> {
    let mut parts = token.split('.');
    let (_, payload, _) = (parts.next()?, parts.next()?, parts.next()?);
    let json = URL_SAFE_NO_PAD.decode(payload.trim_end_matches('=')).ok()?;
    serde_json::from_slice(&json).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(claims: &str) -> String {
        format!("e30.{}.sig", URL_SAFE_NO_PAD.encode(claims))
    }

    #[track_caller]
    fn check(text: &str, expected: Result<(&str, i64), TokenError>) {
        let now = UNIX_EPOCH + Duration::from_secs(1_000);
        let result = oauth_token(text.to_owned(), now, None);
        let result = result.as_ref().map(|token| {
            assert_eq!(token.token, text);
            (&*token.principal_name, token.lifetime_ms)
        });
        assert_eq!(result, expected.as_ref().map(|token| *token));
    }

    #[test]
    fn a_token_is_used_until_it_expires() {
        check(
            &token(r#"{"sub":"plant","exp":1500}"#),
            Ok(("plant", 1_500_000)),
        );
        check(&token(r#"{"exp":1000.5}"#), Ok(("waggle", 1_000_500)));
        check(
            &token(r#"{"sub":"plant","exp":990}"#),
            Err(TokenError::Expired(Duration::from_secs(10))),
        );
    }

    #[test]
    fn a_token_without_expiry_is_read_again_after_a_minute() {
        check("opaque", Ok(("waggle", 1_060_000)));
        check("a.b.c", Ok(("waggle", 1_060_000)));
        check(&token(r#"{"sub":"plant"}"#), Ok(("plant", 1_060_000)));
    }

    #[test]
    fn a_token_is_not_used_longer_than_its_giver_says() {
        let now = UNIX_EPOCH + Duration::from_secs(1_000);
        let check = |text: &str, seconds: u64, expected: i64| {
            let lifetime = Some(Duration::from_secs(seconds));
            let token = oauth_token(text.to_owned(), now, lifetime).unwrap();
            assert_eq!(token.lifetime_ms, expected, "{text}");
        };
        check("opaque", 300, 1_300_000);
        check(&token(r#"{"exp":1500}"#), 300, 1_300_000);
        check(&token(r#"{"exp":1500}"#), 900, 1_500_000);
    }

    #[test]
    fn what_is_no_token_is_refused() {
        for text in ["", "a b", "a\u{1}b", "ü"] {
            check(text, Err(TokenError::Unprintable));
        }
    }
}
