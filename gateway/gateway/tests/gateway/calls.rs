//! Every call and every refusal, with a real process.

use std::time::SystemTime;

use crate::support::{Gateway, put, store};

/// Sends a request; the answer must have the status and contain the text.
#[track_caller]
fn check(gateway: &Gateway, request: &str, status: u16, contains: &str) {
    let answer = gateway.ask(request);
    assert_eq!(answer.status, status, "{request:?} was answered {answer:?}");
    assert!(
        answer.head.contains(contains) || answer.body.contains(contains),
        "no {contains:?} in {answer:?}"
    );
    if status >= 400 {
        assert_eq!(
            answer.header("content-type"),
            Some("application/problem+json")
        );
        assert!(
            answer.body.contains(&format!("\"status\":{status}")),
            "{}",
            answer.body
        );
    }
}

fn request_text(method: &str, target: &str, fields: &str, body: &str) -> String {
    format!(
        "{method} {target} HTTP/1.1\r\nHost: a\r\n{fields}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn start_gateway() -> (tempfile::TempDir, Gateway) {
    let (folder, file) = store();
    let gateway = Gateway::start(
        &file,
        &[
            "--workers=2",
            "--body-max-bytes=1000",
            "--head-max-bytes=400",
            "--topics-max=5",
        ],
    );
    (folder, gateway)
}

const RECORDS: &str = "/api/v1/topics/t/records";

/// Writes a body to the topic `t`; it must be accepted.
#[track_caller]
fn take(gateway: &Gateway, method: &str, query: &str, media_type: &str, body: &str) {
    let fields = format!("Content-Type: {media_type}\r\n");
    let request = request_text(method, &format!("{RECORDS}{query}"), &fields, body);
    check(gateway, &request, 204, "");
}

#[test]
fn records_are_accepted_in_every_format_and_read_back() {
    let (_folder, gateway) = start_gateway();
    let json = r#"{"measurement":"j","tags":{"h":"b"},"fields":{"f":2.5,"s":"é"},"time":14}"#;
    let ndjson = "{\"measurement\":\"n\",\"fields\":{\"f\":true},\"time\":15}\n";
    let all_types = "m,h=a f=1.5,i=2i,u=3u,b=t,s=\"x \\\"y\" 10";
    check(&gateway, &put("t", all_types), 204, "");
    take(
        &gateway,
        "POST",
        "",
        "text/plain",
        "m f=1 11\n\n# no record\nm f=2 12",
    );
    take(&gateway, "PUT", "?precision=s", "unknown/type", "m f=1 13");
    take(&gateway, "PUT", "", "application/json; charset=utf-8", json);
    take(&gateway, "PUT", "", "application/x-ndjson", ndjson);
    let chunked = "PUT /api/v1/topics/t/records HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nm f=3\r\n3\r\n 16\r\n0\r\n\r\n";
    check(&gateway, chunked, 204, "");
    let expected = [
        r#"{"offset":0,"time":10,"measurement":"m","tags":{"h":"a"},"fields":{"f":1.5,"i":2,"u":3,"b":true,"s":"x \"y"}}"#,
        r#"{"offset":1,"time":11,"measurement":"m","tags":{},"fields":{"f":1.0}}"#,
        r#"{"offset":2,"time":12,"measurement":"m","tags":{},"fields":{"f":2.0}}"#,
        r#"{"offset":3,"time":13000000000,"measurement":"m","tags":{},"fields":{"f":1.0}}"#,
        r#"{"offset":4,"time":14,"measurement":"j","tags":{"h":"b"},"fields":{"f":2.5,"s":"é"}}"#,
        r#"{"offset":5,"time":15,"measurement":"n","tags":{},"fields":{"f":true}}"#,
        r#"{"offset":6,"time":16,"measurement":"m","tags":{},"fields":{"f":3.0}}"#,
    ];
    assert_eq!(gateway.records("t"), expected);
    let part =
        gateway.get("/api/v1/topics/t/records?offset=1&limit=2&from=12&to=13000000001&select=h,f");
    assert_eq!(part.body.lines().collect::<Vec<_>>(), &expected[2..4]);
    assert_eq!(part.header("waggle-next-offset"), Some("4"));
    let selected = gateway.get("/api/v1/topics/t/records?limit=1&select=h,i");
    assert_eq!(
        selected.body,
        "{\"offset\":0,\"time\":10,\"measurement\":\"m\",\"tags\":{\"h\":\"a\"},\"fields\":{\"i\":2}}\n"
    );
    check(
        &gateway,
        &request_text("GET", "/api/v1/topics/unknown/records", "", ""),
        200,
        "waggle-next-offset: 0",
    );
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_body() {
    let (_folder, gateway) = start_gateway();
    let json = r#"{"measurement":"m","fields":{"f":1.5},"time":2}"#;
    for (media_type, body) in [
        ("text/plain", "m f=1.5 2"),
        ("application/json", json),
        ("application/x-ndjson", json),
    ] {
        take(&gateway, "PUT", "", media_type, &format!("\u{feff}{body}"));
    }
    let expected = |offset| {
        format!(
            r#"{{"offset":{offset},"time":2,"measurement":"m","tags":{{}},"fields":{{"f":1.5}}}}"#
        )
    };
    assert_eq!(gateway.records("t"), [0, 1, 2].map(expected));
}

#[test]
fn names_with_control_characters_are_refused() {
    let (_folder, gateway) = start_gateway();
    let check = |media_type: &str, body: &str, contains: &str| {
        let fields = format!("Content-Type: {media_type}\r\n");
        let request = request_text("PUT", RECORDS, &fields, body);
        check(&gateway, &request, 400, contains);
    };
    check(
        "text/plain",
        "a\tb f=1",
        "control character in the measurement",
    );
    check(
        "text/plain",
        "m,t\u{1}=a f=1",
        "control character in the tag key",
    );
    check(
        "text/plain",
        "m,t=a\u{7f} f=1",
        "control character in the tag value",
    );
    check(
        "text/plain",
        "m f\u{0}=1",
        "control character in the field key",
    );
    let json = r#"{"measurement":"m","tags":{"t":"a\tb"},"fields":{"f":1}}"#;
    check(
        "application/json",
        json,
        "a tag value holds a control character",
    );
    check(
        "application/x-ndjson",
        json,
        "a tag value holds a control character",
    );
    assert_eq!(gateway.records("t"), Vec::<String>::new());
}

#[test]
fn records_show_when_they_were_committed() {
    let (_folder, gateway) = start_gateway();
    let now = || {
        let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        since_1970.unwrap().as_nanos()
    };
    let before = now();
    take(&gateway, "PUT", "", "text/plain", "m i=1i 1\nm i=2i 2");
    take(&gateway, "PUT", "", "text/plain", "m i=3i 3");
    let after = now();
    let committed = |query: &str| -> Vec<u128> {
        let read = gateway.get(&format!("/api/v1/topics/t/records?committed=true{query}"));
        let line = |line: &str| {
            let (_, rest) = line.split_once("\"committed\":").unwrap();
            rest.split(',').next().unwrap().parse().unwrap()
        };
        read.body.lines().map(line).collect()
    };
    let all = committed("");
    assert_eq!(all.len(), 3);
    assert!(all[0] == all[1] && before <= all[0] && all[0] <= all[2] && all[2] <= after);
    assert_eq!(committed("&offset=1"), all[1..]);
    for query in ["", "?committed=false"] {
        let plain = gateway.get(&format!("/api/v1/topics/t/records{query}"));
        assert!(!plain.body.contains("committed"), "{}", plain.body);
    }
}

#[test]
fn records_without_a_time_get_unique_ones() {
    let (_folder, gateway) = start_gateway();
    check(&gateway, &put("t", &"m f=1\n".repeat(100)), 204, "");
    let time = |line: &String| line.split(',').nth(1).unwrap().to_owned();
    let times: std::collections::BTreeSet<String> = gateway.records("t").iter().map(time).collect();
    assert_eq!(times.len(), 100);
}

#[test]
fn a_wrong_record_refuses_its_whole_request() {
    let (_folder, gateway) = start_gateway();
    check(
        &gateway,
        &put("t", "m f=1 1\nm f= 2\nm f=3 3\nbad"),
        400,
        "\"line\":2,\"column\":5",
    );
    check(
        &gateway,
        &put("t", "m f=1 1\nm f= 2\nm f=3 3\nbad"),
        400,
        "{\"line\":4,\"column\":4,",
    );
    check(&gateway, &put("t", ""), 400, "\"line\":1,\"column\":1");
    let form = "Content-Type: application/x-www-form-urlencoded\r\n";
    let as_lines = "the body is read as line protocol";
    for fields in [form, ""] {
        let request = request_text("PUT", RECORDS, fields, "{\"measurement\":\"m\"}");
        check(&gateway, &request, 400, as_lines);
    }
    let plain = request_text("PUT", RECORDS, "Content-Type: text/plain\r\n", "x");
    assert!(!gateway.ask(&plain).body.contains(as_lines));
    let json = "Content-Type: application/json\r\n";
    check(
        &gateway,
        &request_text(
            "PUT",
            "/api/v1/topics/t/records",
            json,
            "[{\"measurement\":\"m\",\"fields\":{\"f\":1}},\n{}]",
        ),
        400,
        "\"line\":2",
    );
    check(
        &gateway,
        &request_text("PUT", "/api/v1/topics/t/records", json, "{"),
        400,
        "\"line\":1",
    );
    assert_eq!(gateway.records("t"), Vec::<String>::new());
}

#[test]
fn unsupported_requests_are_refused_with_a_problem() {
    let (_folder, gateway) = start_gateway();
    let check = |method: &str, target: &str, fields: &str, status: u16, contains: &str| {
        let request = request_text(method, target, fields, "m f=1");
        check(&gateway, &request, status, contains);
    };
    check(
        "PUT",
        RECORDS,
        "Content-Encoding: br\r\n",
        415,
        "gzip, zstd and identity",
    );
    check("PUT", RECORDS, "Content-Encoding: identity\r\n", 204, "");
    for media_type in [
        "text/csv",
        "Text/CSV; header=present",
        "application/xml",
        "application/soap+xml",
        "multipart/form-data; boundary=x",
    ] {
        let field = format!("Content-Type: {media_type}\r\n");
        let taken = "line protocol (text/plain), JSON (application/json) or NDJSON";
        check("PUT", RECORDS, &field, 415, taken);
    }
    let form = "Content-Type: application/x-www-form-urlencoded\r\n";
    check("PUT", RECORDS, form, 204, "");
    check(
        "PUT",
        &format!("{RECORDS}?precision=h"),
        "",
        400,
        "precision",
    );
    check("PUT", &format!("{RECORDS}?precison=s"), "", 400, "precison");
    let topic = |name: &str| format!("/api/v1/topics/{name}/records");
    check("PUT", &topic("t%20"), "", 400, "topic");
    check("PUT", &topic(&"t".repeat(201)), "", 400, "topic");
    check("PUT", &topic(""), "", 400, "topic");
    check("GET", &topic("a%2Fb"), "", 400, "topic");
    for dots in [".", ".."] {
        check("PUT", &topic(dots), "", 400, "topic");
        check("GET", &topic(dots), "", 400, "topic");
    }
    check("GET", "/nowhere", "", 404, "/nowhere");
    check("DELETE", RECORDS, "", 405, "allow: GET,HEAD,POST,PUT");
    check("PUT", "/healthz", "", 405, "allow: GET,HEAD");
    check(
        "GET",
        "/",
        &format!("X: {}\r\n", "x".repeat(400)),
        431,
        "head",
    );
    for name in ["b", "c", "d", "e"] {
        check("PUT", &topic(name), "", 204, "");
    }
    check("PUT", &topic("f"), "", 507, "topics-max");
}

#[test]
fn the_first_record_creates_a_topic() {
    let (_folder, file) = store();
    let gateway = Gateway::start(&file, &["--topics-max=1"]);
    check(&gateway, &put("misspelt", "m f="), 400, "\"line\":1");
    check(&gateway, &put("t", "m f=1"), 204, "");
    check(&gateway, &put("u", "m f=1"), 507, "topics-max");
}

#[test]
fn absolute_targets_are_accepted() {
    let (_folder, gateway) = start_gateway();
    let check = |method: &str, target: &str, status: u16, contains: &str| {
        check(
            &gateway,
            &request_text(method, target, "", "m f=1"),
            status,
            contains,
        );
    };
    check("PUT", &format!("http://a{RECORDS}"), 204, "");
    check(
        "POST",
        &format!("HTTP://a:8080{RECORDS}?precision=s"),
        204,
        "",
    );
    check("GET", &format!("http://a{RECORDS}"), 200, "\"offset\":1");
    check("PUT", &format!("ftp://a{RECORDS}"), 400, "http");
    check("PUT", &format!("{RECORDS}#x"), 400, "%23");
    check("GET", "records", 400, "path");
    check("GET", "*", 400, "path");
    check("GET", "http://a", 404, "documentation");
    check("OPTIONS", "*", 404, "");
    check("CONNECT", "a:80", 501, "no proxy");
}

#[test]
fn malformed_requests_are_refused_with_a_problem() {
    let (_folder, gateway) = start_gateway();
    check(&gateway, &put("t", &"x".repeat(1001)), 413, "larger");
    check(&gateway, "GET / HTTP/1.1\r\n\r\n", 400, "Host");
    check(
        &gateway,
        "GET / HTTP/3.0\r\nHost: a\r\n\r\n",
        505,
        "HTTP/1.1",
    );
}

#[test]
fn wrong_parameters_are_named() {
    let (_folder, gateway) = start_gateway();
    let check = |path: &str, query: &str, contains| {
        check(
            &gateway,
            &request_text("GET", &format!("{path}?{query}"), "", ""),
            400,
            contains,
        );
    };
    check(RECORDS, "offset=-1", "offset");
    check(RECORDS, "offset=x", "offset");
    check(RECORDS, "limit=0", "limit");
    check(RECORDS, "limit=1&limit=2", "limit");
    check(RECORDS, "from=x", "from");
    check(RECORDS, "select=", "select");
    check(RECORDS, "select=a,,b", "select");
    check(RECORDS, "committed=1", "committed");
    check(RECORDS, "nonsense=1", "nonsense");
    let query = "/api/v1/query";
    let asked = "topic=t&measurement=m";
    check(query, "", "topic");
    check(query, "topic=t", "measurement");
    check(query, "measurement=m", "topic");
    check(query, &format!("{asked}&aggregate=median"), "median");
    check(query, &format!("{asked}&window=1s&x=1"), "x");
    check(query, &format!("{asked}&aggregate=sum&window=0s"), "window");
    check(query, &format!("{asked}&aggregate=sum&window=1"), "unit");
    check(query, &format!("{asked}&x=1"), "x");
    check(
        query,
        &format!("{asked}&agregate=sum"),
        "did you mean aggregate?",
    );
    check(query, &format!("{asked}&Window=1s"), "did you mean window?");
    check(RECORDS, "offfset=1", "did you mean offset?");
    check(RECORDS, "nonsense=1", "expected offset, limit, from, to");
}

#[test]
fn admin_calls_show_health_and_metrics() {
    let (_folder, gateway) = start_gateway();
    check(&gateway, &put("t", "m f=1\nm f=2"), 204, "");
    check(
        &gateway,
        &request_text("GET", "/healthz", "", ""),
        200,
        "alive",
    );
    check(
        &gateway,
        &request_text("GET", "/readyz", "", ""),
        200,
        "ready",
    );
    let page = gateway.get("/metrics").body;
    for line in [
        "waggle_gateway_requests_total{call=\"put_records\",status=\"204\",http_version=\"1\"} 1",
        "waggle_gateway_records_accepted_total 2",
        "waggle_gateway_stored_records_total 2",
        "waggle_gateway_batch_records_bucket{le=\"4.0\"} 1",
        "waggle_gateway_commit_seconds_bucket{le=\"0.0001\"}",
        "waggle_gateway_in_flight_bytes 0",
    ] {
        assert!(page.contains(line), "no {line} in {page}");
    }
    let mut head = gateway.client();
    head.send(b"HEAD /healthz HTTP/1.1\r\nHost: a\r\n\r\nHEAD /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    head.socket().shutdown(std::net::Shutdown::Write).unwrap();
    let mut answers = String::new();
    std::io::Read::read_to_string(head.socket(), &mut answers).unwrap();
    assert_eq!(
        answers.matches("content-length: 6\r\n").count(),
        2,
        "{answers}"
    );
    assert!(answers.ends_with("connection: close\r\n\r\n"), "{answers}");
}

#[test]
fn the_documentation_page_is_self_contained() {
    let (_folder, gateway) = start_gateway();
    let page = gateway.get("/documentation").body;
    assert!(page.contains("/api/v1/topics/{topic}/records") && !page.contains("{{openapi}}"));
    for outside in ["src=\"http", "href=\"http", "@import", "url(http"] {
        assert!(
            !page.contains(outside),
            "the page asks another host: {outside}"
        );
    }
    assert!(
        gateway
            .get("/documentation/yaml")
            .body
            .starts_with("openapi: 3.1")
    );
    assert!(
        gateway
            .get("/documentation/json")
            .body
            .contains("\"openapi\": \"3.1")
    );
}
