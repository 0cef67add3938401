//! Tokens of OpenID providers: what is valid, what is refused, and where the keys come from.

use std::{
    path::Path,
    process::Stdio,
    sync::{Arc, Mutex},
    time::{SystemTime, UNIX_EPOCH},
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{
    hmac,
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair},
};
use serde_json::{Value, json};
use waggle_testkit::{
    http::{self, Reply, Server},
    tls::Authority,
};

use crate::support::{Answer, Gateway, command, store, wait_until};

/// An issuer's key.
struct Signer {
    id: &'static str,
    pair: EcdsaKeyPair,
}

impl Signer {
    fn new(id: &'static str) -> Self {
        let (algorithm, random) = (&ECDSA_P256_SHA256_FIXED_SIGNING, SystemRandom::new());
        let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random).unwrap();
        Self { id, pair }
    }

    fn jwk(&self) -> Value {
        // An uncompressed point: 4, x, y.
        let point = &self.pair.public_key().as_ref()[1..];
        let (x, y) = point.split_at(32);
        let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        json!({ "kty": "EC", "crv": "P-256", "kid": self.id, "use": "sig", "x": text(x), "y": text(y) })
    }

    fn sign(&self, claims: &Value) -> String {
        let message = message(&json!({ "alg": "ES256", "kid": self.id }), claims);
        let signature = self.pair.sign(&SystemRandom::new(), message.as_bytes());
        let signature = signature.unwrap();
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature.as_ref()))
    }
}

fn message(header: &Value, claims: &Value) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}", part(header), part(claims))
}

fn key_set(signers: &[&Signer]) -> String {
    let keys: Vec<Value> = signers.iter().map(|signer| signer.jwk()).collect();
    json!({ "keys": keys }).to_string()
}

fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap().as_secs()
}

const ISSUER: &str = "https://login.plant.example/realms/plant";

fn claims() -> Value {
    json!({ "iss": ISSUER, "aud": ["other", "waggle"], "sub": "x", "azp": "press-7", "exp": now() + 600 })
}

/// The claims with one of them changed, or left out if it is null.
fn claims_with(name: &str, value: Value) -> Value {
    let mut claims = claims();
    match value {
        Value::Null => claims.as_object_mut().unwrap().remove(name),
        value => claims
            .as_object_mut()
            .unwrap()
            .insert(name.to_owned(), value),
    };
    claims
}

fn start(folder: &Path, store: &Path, keys: &str) -> Gateway {
    let clients = folder.join("clients.yaml");
    let text = format!(
        "issuers:
- name: plant
  issuer: {ISSUER}
  audiences: [waggle]
  algorithms: [ES256]
  claim: azp
{keys}
clients:
- name: press
  subjects: {{ plant: [press-7] }}
  write: [press.*]
- name: panels
  subjects: {{ plant: ['*'] }}
  read: [press.*]
"
    );
    std::fs::write(&clients, text).unwrap();
    let mut start = command(store, &[]);
    start.arg("--clients").arg(&clients).stderr(Stdio::piped());
    Gateway::start_by(&mut start)
}

fn put(gateway: &Gateway, token: &str) -> Answer {
    gateway.ask(&request(token))
}

fn request(token: &str) -> String {
    let body = "m f=1";
    format!(
        "PUT /api/v1/topics/press.7/records HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {token}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[test]
fn a_token_of_an_issuer_is_a_client_with_rights() {
    let (folder, store) = store();
    let (signer, other) = (Signer::new("a"), Signer::new("a"));
    let keys = folder.path().join("keys.json");
    std::fs::write(&keys, key_set(&[&signer])).unwrap();
    let entry = format!("  keys: {}", keys.display());
    let mut gateway = start(folder.path(), &store, &entry);
    let good = signer.sign(&claims());
    assert_eq!(put(&gateway, &good).status, 204);
    let single = claims_with("aud", json!("waggle"));
    assert_eq!(put(&gateway, &signer.sign(&single)).status, 204);
    // Another subject of the issuer may read alone.
    let panel = signer.sign(&claims_with("azp", json!("panel")));
    assert_eq!(put(&gateway, &panel).status, 403);

    let check = |token: &str, words: &str| {
        let refused = put(&gateway, token);
        assert_eq!(refused.status, 401, "{words}: {}", refused.body);
        assert!(refused.body.contains(words), "{words}: {}", refused.body);
    };
    let with = |name: &str, value: Value| signer.sign(&claims_with(name, value));
    check(&with("exp", json!(now() - 60)), "expired");
    check(&with("exp", Value::Null), "lacks a claim");
    check(&with("exp", json!("soon")), "lacks a claim");
    check(&with("nbf", json!(now() + 60)), "not valid yet");
    check(&with("aud", json!("other")), "another audience");
    check(&with("aud", Value::Null), "lacks a claim");
    check(
        &with("iss", json!("https://evil.example")),
        "issuer of the token is not known",
    );
    check(&with("iss", Value::Null), "names no issuer");
    check(&with("azp", Value::Null), "lacks a claim");
    check(&with("azp", json!(7)), "lacks a claim");
    check(&other.sign(&claims()), "signature");
    check(&Signer::new("b").sign(&claims()), "key of the token");
    let (rest, signature) = good.rsplit_once('.').unwrap();
    check(&format!("{rest}."), "signature");
    check(
        &format!("{rest}.{}", signature.replace('A', "B") + "AA"),
        "",
    );
    // No algorithm, and the public key as a secret that both know.
    let none = message(&json!({ "alg": "none" }), &claims());
    check(&format!("{none}."), "no JWT with an algorithm");
    let confused = message(&json!({ "alg": "HS256", "kid": "a" }), &claims());
    let secret = hmac::Key::new(hmac::HMAC_SHA256, key_set(&[&signer]).as_bytes());
    let tag = hmac::sign(&secret, confused.as_bytes());
    let confused = format!("{confused}.{}", URL_SAFE_NO_PAD.encode(tag));
    check(&confused, "algorithm of the token");
    let other_algorithm = message(&json!({ "alg": "ES384", "kid": "a" }), &claims());
    check(
        &format!("{other_algorithm}.{signature}"),
        "algorithm of the token",
    );
    let critical = json!({ "alg": "ES256", "kid": "a", "crit": ["exp"], "exp": "1" });
    check(
        &format!("{}.{signature}", message(&critical, &claims())),
        "header parameters",
    );
    check("a.b.c", "no JWT");
    check("..", "no JWT");
    let lines = gateway.end();
    assert!(
        lines.contains("refused") && !lines.contains(signature),
        "{lines}"
    );
}

#[test]
fn a_token_that_expires_ends_what_its_connection_may_do() {
    let (folder, store) = store();
    let signer = Signer::new("a");
    let keys = folder.path().join("keys.json");
    std::fs::write(&keys, key_set(&[&signer])).unwrap();
    let gateway = start(
        folder.path(),
        &store,
        &format!("  keys: {}", keys.display()),
    );
    // Clocks may differ by 30 s, so that this one is valid for 15 s more.
    let token = signer.sign(&claims_with("exp", json!(now() - 15)));
    let mut client = gateway.client();
    let mut status = || {
        client.send(request(&token).as_bytes());
        client.answer().unwrap().status
    };
    assert_eq!(status(), 204);
    wait_until("the token has expired", || status() == 401);
    // A key that is no longer in the file ends it, too.
    let token = signer.sign(&claims());
    assert_eq!(put(&gateway, &token).status, 204);
    let new = folder.path().join("new.json");
    std::fs::write(&new, key_set(&[&Signer::new("b")])).unwrap();
    std::fs::rename(&new, &keys).unwrap();
    wait_until("the key is withdrawn", || {
        put(&gateway, &token).status == 401
    });
}

#[test]
fn keys_come_from_a_url_and_are_asked_for_again() {
    let (folder, store) = store();
    let (first, second) = (Signer::new("a"), Signer::new("b"));
    let answer = Arc::new(Mutex::new(http::answer(500, "", "not now")));
    let shown = Arc::clone(&answer);
    let authority = Authority::new("plant");
    let server = Server::start_secure(authority.server(), move |_| {
        Reply::Answer(shown.lock().unwrap().clone())
    });
    let ca = folder.path().join("ca.pem");
    std::fs::write(&ca, &authority.pem).unwrap();
    let port = server.address.port();
    let keys = format!(
        "  keys: https://localhost:{port}/keys\n  keys_ca: {}",
        ca.display()
    );
    let gateway = start(folder.path(), &store, &keys);
    let refused = put(&gateway, &first.sign(&claims()));
    assert_eq!(refused.status, 503, "{}", refused.body);
    assert!(
        refused.body.contains("keys of the token's issuer"),
        "{}",
        refused.body
    );
    *answer.lock().unwrap() = http::ok(&key_set(&[&first]));
    wait_until("the keys are there", || {
        put(&gateway, &first.sign(&claims())).status == 204
    });
    assert_eq!(put(&gateway, &second.sign(&claims())).status, 401);
    *answer.lock().unwrap() = http::ok(&key_set(&[&second]));
    wait_until("the new key is there", || {
        put(&gateway, &second.sign(&claims())).status == 204
    });
    // The issuer has withdrawn it. What was known stays if the issuer does not answer.
    let metrics = || {
        let bearer = second.sign(&claims());
        let request =
            format!("GET /metrics HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {bearer}\r\n\r\n");
        gateway.ask(&request).body
    };
    let are_current = "waggle_gateway_issuer_keys_are_current{issuer=\"plant\"} ";
    assert!(metrics().contains(&format!("{are_current}1\n")));
    *answer.lock().unwrap() = http::answer(500, "", "not now");
    assert_eq!(put(&gateway, &first.sign(&claims())).status, 401);
    let is_not = format!("{are_current}0\n");
    wait_until("it is asked again", || metrics().contains(&is_not));
    assert_eq!(put(&gateway, &second.sign(&claims())).status, 204);
}
