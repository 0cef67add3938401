//! The functional check: a system that does not work is not measured.

use std::{collections::BTreeMap, time::Duration};

use tokio::time::{Instant, sleep};
use waggle_load::{Escape, Template};
use waggle_study::Check;

use crate::{
    components::{
        driver::{Driver, Failure},
        endpoints::endpoint,
    },
    http::{
        answer::Answer,
        client::{Connection, HttpConnector, Request},
        json::text_in,
        peer::Peer,
    },
    placeholder::fill_content,
    secrets::words::Secrets,
};

/// Pause between two attempts at a step.
const AGAIN_EVERY: Duration = Duration::from_millis(50);
/// Bytes of an answer that are read.
const BODY_MAX_BYTES: usize = 1024 * 1024;

/// The system to check.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    pub system: &'a waggle_study::System,
    /// For `${secret.NAME}` in headers and bodies.
    pub secrets: &'a Secrets,
}

/// Runs every step in turn; a step is repeated until it succeeds or times out.
pub async fn verify<D: Driver, W: HttpConnector>(
    target: Target<'_>,
    driver: &D,
    http: &W,
) -> Result<(), Failure> {
    let mut captured = BTreeMap::new();
    for check in &target.system.verify {
        let peer = endpoint(target.system, driver, &check.endpoint)?;
        let check = fill(check, target.secrets)?;
        let check = with_captured(&check, &captured)?;
        captured.extend(step(&check, &peer, http).await?);
    }
    Ok(())
}

/// Limit on the whole check.
pub fn at_most(system: &waggle_study::System) -> Duration {
    system.verify.iter().map(|check| check.timeout).sum()
}

fn fill(check: &Check, secrets: &Secrets) -> Result<Check, Failure> {
    let fill = |text: &str| {
        let filled = secrets.fill(text);
        filled.map_err(|why| Failure::new(format!("check \"{}\": {why}", check.name)))
    };
    let (headers, body) = fill_content(&check.headers, &check.body, fill)?;
    Ok(Check {
        headers,
        body,
        ..check.clone()
    })
}

/// The step with every `{{name}}` replaced by what earlier steps captured, in the syntax of a scenario's requests.
fn with_captured(check: &Check, captured: &BTreeMap<String, String>) -> Result<Check, Failure> {
    let failed = |why: String| Failure::new(format!("check \"{}\": {why}", check.name));
    let fill =
        |text: &mut String, place: Escape| fill_template(text, place, captured).map_err(failed);
    let mut filled = check.clone();
    fill(&mut filled.path, Escape::Path)?;
    fill(&mut filled.body, Escape::None)?;
    for (_, value) in &mut filled.headers {
        fill(value, Escape::Header)?;
    }
    for text in filled.expect.body.texts_mut() {
        fill(text, Escape::None)?;
    }
    Ok(filled)
}

fn fill_template(
    text: &mut String,
    place: Escape,
    captured: &BTreeMap<String, String>,
) -> Result<(), String> {
    let template = Template::parse(text).map_err(|problem| problem.to_string())?;
    let filled = template.fill_with(place, |name| captured.get(name).cloned());
    *text = filled.map_err(|unknown| format!("no step before it captured \"{}\"", unknown.0))?;
    Ok(())
}

/// The values that a step captured, by name.
type Captured = Vec<(String, String)>;

async fn step<W: HttpConnector>(check: &Check, peer: &Peer, http: &W) -> Result<Captured, Failure> {
    let deadline = Instant::now() + check.timeout;
    let mut connection = http.connection(peer);
    loop {
        match holds(check, &mut connection).await {
            Ok(captured) => return Ok(captured),
            Err(why) if Instant::now() >= deadline => {
                return Err(Failure::new(format!(
                    "check \"{}\" does not hold: {why}",
                    check.name
                )));
            }
            Err(_) => sleep(AGAIN_EVERY).await,
        }
    }
}

async fn holds(check: &Check, connection: &mut impl Connection) -> Result<Captured, String> {
    let request = Request {
        method: &check.method,
        path: &check.path,
        headers: &check.headers,
        body: &check.body,
    };
    let mut body = Vec::new();
    let mut keep = |chunk: &[u8]| {
        let room = BODY_MAX_BYTES - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
    };
    let status = connection
        .send(&request, &mut keep)
        .await
        .map_err(|problem| problem.to_string())?;
    let answer = Answer {
        status,
        body: &String::from_utf8_lossy(&body),
    };
    if let Some(why) = answer.mismatch(&check.expect) {
        return Err(why);
    }
    let (body, shown) = (answer.body, answer.excerpt());
    let capture = |(name, path): &(String, String)| {
        let value = text_in(body, path)
            .ok_or_else(|| format!("expected a value at {path} in the answer, got \"{shown}\""))?;
        Ok((name.clone(), value))
    };
    check.captures.iter().map(capture).collect()
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, time::Duration};

    use waggle_study::{BodyExpect, Check, Expect, When};

    use super::with_captured;

    #[test]
    fn what_was_captured_cannot_break_out_of_its_place() {
        let check = |path: &str| Check {
            name: "read".to_owned(),
            when: When::default(),
            endpoint: "shop".to_owned(),
            method: "GET".to_owned(),
            path: path.to_owned(),
            headers: vec![("X-Of".to_owned(), "of {{id}}".to_owned())],
            body: "{{id}}".to_owned(),
            expect: Expect {
                status: vec![200],
                body: BodyExpect::Contains(vec!["<{{id}}>".to_owned()]),
            },
            captures: Vec::new(),
            timeout: Duration::from_secs(1),
        };
        let captured = BTreeMap::from([("id".to_owned(), "a b\nü".to_owned())]);
        let filled = with_captured(&check("/orders/{{id}}"), &captured).unwrap();
        assert_eq!(filled.path, "/orders/a%20b%0A%C3%BC");
        assert_eq!(filled.headers[0].1, "of a b ü");
        assert_eq!(filled.body, "a b\nü");
        let expected = BodyExpect::Contains(vec!["<a b\nü>".to_owned()]);
        assert_eq!(filled.expect.body, expected);
        let failure = with_captured(&check("/orders/{{it}}"), &captured).unwrap_err();
        assert_eq!(
            failure.reason,
            "check \"read\": no step before it captured \"it\""
        );
    }
}
