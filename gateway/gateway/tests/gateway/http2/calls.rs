//! Each kind of call once: it is the same code as for HTTP/1.1.

use super::*;

#[test]
fn records_are_written_and_read() {
    let mut lab = Lab::start(&["--body-max-bytes=1000"]);
    let written = lab.check(put("cpu,host=a f=1"), 204, "");
    assert!(written.header("date").is_some());
    assert_eq!(written.header("content-length"), None);
    lab.check(request("POST", RECORDS, &[], "cpu,host=b f=2 7"), 204, "");
    let read = lab.check(get(RECORDS), 200, "\"offset\":1");
    assert_eq!(read.body.lines().count(), 2);
    assert_eq!(read.header("waggle-next-offset"), Some("2"));
    let json = [("content-type", "application/json")];
    let body = r#"{"measurement":"m","fields":{"f":1}}"#;
    lab.check(request("PUT", RECORDS, &json, body), 204, "");
    // They are durable.
    let Lab {
        mut gateway,
        folder,
        ..
    } = lab;
    gateway.kill();
    let file = folder.path().join("store.db");
    let mut lab = Lab::start_in(folder, &file, &[]);
    let read = lab.check(get(RECORDS), 200, "");
    assert_eq!(read.body.lines().count(), 3);
}

#[test]
fn latest_readings_are_answered() {
    let mut lab = Lab::start(&[]);
    lab.check(put("cpu,host=a f=1 7\ncpu,host=b f=2 8"), 204, "");
    let latest = "/api/v1/topics/t/latest";
    let single = format!("{latest}?series=cpu,host=a");
    let json = lab.check(get(&single), 200, "\"time\":7");
    assert_eq!(json.header("content-type"), Some("application/json"));
    let plain = [("accept", "text/plain")];
    let line = lab.check(request("GET", &single, &plain, ""), 200, "cpu,host=a f=1 7");
    let length = line.body.len().to_string();
    assert_eq!(line.header("content-length"), Some(&*length));
    let all = lab.check(get(latest), 200, "");
    assert_eq!(all.body.lines().count(), 2);
    lab.check(get(&format!("{latest}?series=other")), 404, "");
}

#[test]
fn refusals_are_problems() {
    let mut lab = Lab::start(&["--body-max-bytes=1000", "--head-max-bytes=2000"]);
    let bad = lab.check(put("m f="), 400, "\"column\":");
    let media_type = Some("application/problem+json");
    assert_eq!(bad.header("content-type"), media_type);
    lab.check(get("/nowhere"), 404, "/documentation");
    lab.check(request("DELETE", RECORDS, &[], ""), 405, "DELETE");
    lab.check(put(&"x".repeat(1001)), 413, "larger");
    let encoded = [("content-encoding", "br")];
    lab.check(request("PUT", RECORDS, &encoded, "m f=1"), 415, "");
    let expects = [("expect", "more")];
    lab.check(request("PUT", RECORDS, &expects, "m f=1"), 417, "");
    let range = [("content-range", "bytes 0-1/2")];
    lab.check(
        request("PUT", RECORDS, &range, "m f=1"),
        400,
        "Content-Range",
    );
    let long = "x".repeat(3000);
    lab.check(request("GET", "/", &[("x", &long)], ""), 431, "head");
    let many: Vec<(String, &str)> = (0..70).map(|number| (format!("a{number}"), "")).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(name, value)| (&**name, *value)).collect();
    lab.check(request("GET", "/", &many, ""), 431, "head");
    let page = [("origin", "https://evil.example")];
    lab.check(request("PUT", RECORDS, &page, "m f=1"), 403, "");
    lab.check(put("m f=1"), 204, "");
}

#[test]
fn the_answer_to_head_has_no_body() {
    let mut lab = Lab::start(&[]);
    lab.check(put("m f=1"), 204, "");
    let whole = lab.check(get(RECORDS), 200, "offset");
    let head = lab.check(request("HEAD", RECORDS, &[], ""), 200, "");
    assert_eq!(head.body, "");
    let length = whole.body.len().to_string();
    assert_eq!(head.header("content-length"), Some(&*length));
    let refused = lab.check(request("HEAD", "/nowhere", &[], ""), 404, "");
    assert_eq!(refused.body, "");
}

#[test]
fn clients_of_influxdb_write() {
    let mut lab = Lab::start(&[]);
    let written = lab.check(request("POST", "/write?db=t", &[], "m f=1"), 204, "");
    assert!(written.header("x-influxdb-version").is_some());
    let target = "/api/v2/write?bucket=t";
    lab.check(request("POST", target, &[], "m f=2"), 204, "");
    let refused = lab.check(
        request("POST", target, &[], "m f="),
        400,
        "\"code\":\"invalid\"",
    );
    assert_eq!(refused.header("x-platform-error-code"), Some("invalid"));
    let target = "/api/v3/write_lp?db=t";
    lab.check(request("POST", target, &[], "m f=3"), 204, "");
    lab.check(request("GET", "/ping", &[], ""), 204, "");
    let read = lab.check(get(RECORDS), 200, "");
    assert_eq!(read.body.lines().count(), 3);
}

#[test]
fn bodies_in_gzip_are_decoded() {
    let mut lab = Lab::start(&[]);
    let packed = crate::encodings::gzip(b"m f=1\nm f=2");
    let mut packed_put = request("PUT", RECORDS, &[("content-encoding", "gzip")], "");
    *packed_put.body_mut() = packed.into();
    lab.check(packed_put, 204, "");
    assert_eq!(lab.check(get(RECORDS), 200, "").body.lines().count(), 2);
}

#[test]
fn metrics_count_them_as_all_others() {
    let mut lab = Lab::start(&[]);
    lab.check(put("m f=1"), 204, "");
    lab.check(put("m f="), 400, "");
    let page = lab.check(get("/metrics"), 200, "").body;
    for line in [
        "waggle_gateway_requests_total{call=\"put_records\",status=\"204\",http_version=\"2\"} 1\n",
        "waggle_gateway_requests_total{call=\"put_records\",status=\"400\",http_version=\"2\"} 1\n",
        "waggle_gateway_in_flight_bytes 0\n",
    ] {
        assert!(page.contains(line), "{line} is not in {page}");
    }
}

#[test]
fn http_1_is_served_on_the_same_port() {
    let mut lab = Lab::start(&[]);
    lab.check(put("m f=1"), 204, "");
    assert_eq!(lab.gateway.put("t", "m f=2").status, 204);
    assert_eq!(lab.gateway.records("t").len(), 2);
    // It begins with the connection, or not at all: what a proxy sends on for its client does not change the protocol.
    let mut client = lab.gateway.client();
    client.send(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\nPRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    assert_eq!(client.answer().unwrap().status, 200);
    assert_eq!(client.answer().unwrap().status, 400);
    assert!(client.answer().is_none());
}
