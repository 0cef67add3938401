//! System `technologies`: every technology keeps the same contract. Those that cannot be had here are named with the reason.

use std::{
    fs,
    io::{Read, Write},
    net::{TcpStream, ToSocketAddrs},
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use waggle_testkit::{
    http::{self, Answer},
    not_tested,
};

use crate::{
    systems::{comes_and_goes, in_project},
    workspace::{Workspace, output_text},
};

/// Draws of the test of the distribution. They are in one answer.
const DRAWS: usize = 20_000;
/// χ² of nine degrees of freedom: a right distribution exceeds it in one of the 192 tests of a whole run (16 technologies, two
/// configurations, six places) with a probability of 2e-6.
const CHI_SQUARED_MAX: f64 = 55.0;
/// Values of `num` that are refused.
const REFUSED: [&str; 9] = [
    "-1",
    "x",
    "",
    "1.5",
    "1x",
    "100001",
    "99999999999999999999",
    "%20",
    // No UTF-8.
    "%ff",
];
/// The registry of Elixir's packages.
const HEX: (&str, u16) = ("repo.hex.pm", 443);
/// How long one of its addresses may take to accept a connection.
const HEX_WITHIN: Duration = Duration::from_secs(20);

/// No answer on loopback takes this long.
const ANSWER_WITHIN: Duration = Duration::from_secs(180);

/// The answer to a request on its own connection, which the server closes. Its body may be in chunks.
fn get(address: &str, path: &str) -> Answer {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(ANSWER_WITHIN)).unwrap();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let mut answer = Answer {
        status: head.split(' ').nth(1).unwrap().parse().unwrap(),
        head: format!("{head}\r\n\r\n"),
        body: body.to_owned(),
    };
    if answer.header("transfer-encoding") == Some("chunked") {
        answer.body = joined_chunks(body);
    }
    answer
}

/// The body without the lengths of its chunks.
fn joined_chunks(mut rest: &str) -> String {
    let mut body = String::new();
    loop {
        let (length, after) = rest.split_once("\r\n").unwrap();
        let length = usize::from_str_radix(length, 16).unwrap();
        if length == 0 {
            return body;
        }
        body.push_str(&after[..length]);
        rest = &after[length + 2..];
    }
}

/// The numbers of a correct answer; checks everything but their distribution.
#[track_caller]
fn numbers(answer: &Answer, count: usize) -> Vec<String> {
    assert_eq!(answer.status, 200, "{}", answer.head);
    let content_type = answer.header("content-type").unwrap();
    assert!(
        content_type.starts_with("application/json"),
        "{}",
        answer.head
    );
    let numbers: Vec<String> = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(numbers.len(), count);
    for number in &numbers {
        let is_number = number.len() == 6 && number.bytes().all(|byte| byte.is_ascii_digit());
        assert!(is_number, "{number:?}");
    }
    // No spaces: answers of all technologies have the same length, nine bytes for each number.
    assert_eq!(answer.body.trim_end().len(), (9 * count + 1).max(2));
    numbers
}

/// Each digit is as frequent as the others, in each of the six places.
fn check_distribution(numbers: &[String]) {
    let expected = numbers.len() as f64 / 10.0;
    for place in 0..6 {
        let mut counts = [0.0_f64; 10];
        for number in numbers {
            counts[usize::from(number.as_bytes()[place] - b'0')] += 1.0;
        }
        let terms = counts.map(|count| (count - expected).powi(2) / expected);
        let chi_squared: f64 = terms.iter().sum();
        assert!(
            chi_squared < CHI_SQUARED_MAX,
            "χ² of place {place} is {chi_squared}: {counts:?}"
        );
    }
}

fn check_contract(address: &str) {
    let get = |path: &str| get(address, path);
    numbers(&get("/random"), 10);
    numbers(&get("/random?num=0"), 0);
    numbers(&get("/random?num=1"), 1);
    numbers(&get("/random?num=100000"), 100_000);
    for num in REFUSED {
        let answer = get(&format!("/random?num={num}"));
        assert_eq!(answer.status, 400, "num={num}: {}", answer.body);
    }
    // Other names than `num`, which some frameworks read as lists and maps.
    for query in ["num[]=3", "num[a]=3"] {
        numbers(&get(&format!("/random?{query}")), 10);
    }
    // Some parsers of numbers take a sign, others refuse it.
    let signed = get("/random?num=%2B3");
    if signed.status != 400 {
        numbers(&signed, 3);
    }
    let draw = || numbers(&get(&format!("/random?num={DRAWS}")), DRAWS);
    let draws = draw();
    check_distribution(&draws);
    assert_ne!(draws, draw(), "the same numbers twice");
}

/// The address in the output of `waggle system up`.
fn address(text: &str) -> &str {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("  service "));
    let address = line.unwrap_or_else(|| panic!("{text}")).trim();
    address.strip_prefix("http://").unwrap_or(address)
}

fn fetch(technology: &str) -> (Option<i32>, String) {
    let workspace = Workspace::new();
    let level = format!("technology={technology}");
    let mut fetch = in_project(&workspace, &["system", "fetch", "technologies", &level]);
    let output = fetch.output().unwrap();
    (output.status.code(), output_text(&output))
}

fn keeps_its_contract(technology: &str) {
    let (code, text) = fetch(technology);
    assert_eq!(code, Some(0), "{text}");
    check_technology(technology);
}

/// With its own defaults, and with all that can be set.
fn check_technology(technology: &str) {
    let level = format!("technology={technology}");
    for others in [&[][..], &["workers=2", "backlog=200", "tuned=true"]] {
        let levels = [&[level.as_str()], others].concat();
        comes_and_goes("technologies", &levels, |text| {
            check_contract(address(text))
        });
    }
}

/// Packages of Elixir come from Hex, which is not reached everywhere. Nothing but that leaves a technology out.
fn keeps_its_contract_if_hex_is_reached(technology: &str) {
    let (code, text) = fetch(technology);
    if code == Some(0) {
        check_technology(technology);
        return;
    }
    let said = |words: &str| text.lines().find(|line| line.contains(words));
    let reason = match (
        said("which is not reached here"),
        said("cannot be fetched without"),
    ) {
        (Some(reason), _) => reason,
        // Elixir alone is of no use: it is installed where Hex answers.
        (None, Some(reason)) if !hex_answers() => reason,
        _ => panic!("{technology} was not built, and Hex is not the reason: {text}"),
    };
    not_tested(technology, &format!("Hex does not answer; {reason}"));
}

fn hex_answers() -> bool {
    let addresses = HEX.to_socket_addrs().into_iter().flatten();
    addresses
        .into_iter()
        .any(|address| TcpStream::connect_timeout(&address, HEX_WITHIN).is_ok())
}

#[test]
fn actix_keeps_the_contract() {
    keeps_its_contract("actix");
}

#[test]
fn axum_keeps_the_contract() {
    keeps_its_contract("axum");
}

#[test]
fn go_keeps_the_contract() {
    keeps_its_contract("go");
}

#[test]
fn node_keeps_the_contract() {
    keeps_its_contract("node");
}

#[test]
fn express_keeps_the_contract() {
    keeps_its_contract("express");
}

#[test]
fn fastify_keeps_the_contract() {
    keeps_its_contract("fastify");
}

#[test]
fn flask_keeps_the_contract() {
    keeps_its_contract("flask");
}

#[test]
fn tornado_keeps_the_contract() {
    keeps_its_contract("tornado");
}

#[test]
fn fastapi_keeps_the_contract() {
    keeps_its_contract("fastapi");
}

#[test]
fn cowboy_keeps_the_contract() {
    keeps_its_contract("cowboy");
}

#[test]
fn ktor_keeps_the_contract() {
    keeps_its_contract("ktor");
}

#[test]
fn micronaut_keeps_the_contract() {
    keeps_its_contract("micronaut");
}

#[test]
fn ratpack_keeps_the_contract() {
    keeps_its_contract("ratpack");
}

#[test]
fn vertx_keeps_the_contract() {
    keeps_its_contract("vertx");
}

#[test]
fn phoenix_keeps_the_contract_if_hex_is_reached() {
    keeps_its_contract_if_hex_is_reached("phoenix");
}

#[test]
fn trot_keeps_the_contract_if_hex_is_reached() {
    keeps_its_contract_if_hex_is_reached("trot");
}

/// The floor: one answer for every request, which is no answer to `num`.
#[test]
fn null_server_answers_without_num() {
    comes_and_goes("technologies", &["technology=null-server"], |text| {
        // It does not close connections.
        let answer = http::get(address(text).parse().unwrap(), "/random");
        numbers(&answer.unwrap(), 10);
    });
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../systems/technologies")
}

/// A version ends in the digest of the sources: else a changed source would be found in the cache, as it was.
#[test]
fn versions_end_in_the_digests_of_the_sources() {
    let system = fs::read_to_string(folder().join("system.yaml")).unwrap();
    let lines: Vec<&str> = system.lines().collect();
    let mut checked = 0;
    for pair in lines.windows(2) {
        let Some(version) = pair[1].strip_prefix("    version: ") else {
            continue;
        };
        let technology = pair[0].trim().trim_end_matches(':');
        let digest = Command::new(folder().join("fetch/digest"))
            .arg(technology)
            .output();
        let digest = String::from_utf8(digest.unwrap().stdout).unwrap();
        let ending = format!("-{}\"", digest.trim());
        assert!(
            version.ends_with(&ending),
            "{technology}: {version} does not end in {ending}"
        );
        checked += 1;
    }
    assert_eq!(checked, 16);
}
