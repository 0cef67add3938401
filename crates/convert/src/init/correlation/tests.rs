//! Archives of two and more calls → the captures and uses of the study that is written.

use serde_json::{Value, json};

use super::super::{Origin, StudyOfCalls, StudyOptions, har, make_study};

/// An entry: method, URL, request headers, body of the request, headers and body of the answer.
struct Entry<'a> {
    request: (&'a str, &'a str),
    headers: &'a [(&'a str, &'a str)],
    body: Option<(&'a str, &'a str)>,
    answer_headers: &'a [(&'a str, &'a str)],
    answer: &'a str,
}

const NOTHING: Entry<'static> = Entry {
    request: ("GET", "http://h/other"),
    headers: &[],
    body: None,
    answer_headers: &[],
    answer: "",
};

fn fields(pairs: &[(&str, &str)]) -> Vec<Value> {
    let pairs = pairs.iter();
    pairs
        .map(|(name, value)| json!({ "name": name, "value": value }))
        .collect()
}

fn archive(entries: &[Entry<'_>]) -> Value {
    let entries = entries.iter().enumerate().map(|(second, entry)| {
        let mut whole = json!({
            "startedDateTime": format!("2026-01-02T03:04:{second:02}Z"), "time": 10,
            "request": { "method": entry.request.0, "url": entry.request.1, "headers": fields(entry.headers) },
            "response": {
                "status": 200, "headers": fields(entry.answer_headers), "content": { "text": entry.answer },
            },
        });
        if let Some((kind, text)) = entry.body {
            whole["request"]["postData"] = json!({ "mimeType": kind, "text": text });
            let headers = whole["request"]["headers"].as_array_mut();
            headers.unwrap().push(json!({ "name": "Content-Type", "value": kind }));
        }
        whole
    });
    json!({ "log": { "entries": entries.collect::<Vec<_>>() } })
}

/// The text of the study, which is a valid one.
fn study(archive: &Value) -> String {
    let options = StudyOptions {
        format: None,
        source: "source".to_owned(),
        from: Some(Origin::Har),
        output: None,
        include_writes: false,
        server: None,
    };
    let imported = har::read(&archive.to_string()).unwrap();
    let StudyOfCalls { written, .. } = make_study(imported, &options).unwrap();
    super::super::check(&written.text).unwrap_or_else(|why| panic!("{}\n{why:#}", written.text));
    written.text
}

/// The value that is captured in these tests.
const TOKEN: &str = "q7Zf3-91_xK";

#[track_caller]
fn check(entries: &[Entry<'_>], expected: &[&str]) {
    let text = study(&archive(entries));
    for line in expected {
        assert!(text.contains(line), "{line}:\n{text}");
    }
    assert!(!text.contains(TOKEN), "{text}");
}

#[track_caller]
fn check_none(entries: &[Entry<'_>]) {
    let text = study(&archive(entries));
    assert!(!text.contains("capture"), "{text}");
}

/// A session whose first answer has the value, and what the study takes it from.
#[track_caller]
fn check_from(answer: &str, headers: &[(&str, &str)], expected: &str) {
    let first = Entry {
        request: ("POST", "http://h/login"),
        answer,
        answer_headers: headers,
        ..NOTHING
    };
    let bearer = format!("Bearer {TOKEN}");
    let second = Entry {
        headers: &[("Authorization", &bearer)],
        ..NOTHING
    };
    let whole = format!("            capture:\n              {expected}");
    let name = expected.split(':').next().unwrap();
    let used = format!("\"Authorization\": \"Bearer {{{{{name}}}}}\"");
    check(&[first, second], &[&whole, &used]);
}

#[test]
fn values_are_captured_from_every_part_of_an_answer() {
    let from = check_from;
    let json = |pattern: &str| pattern.replace('T', TOKEN);
    from(
        &json(r#"{"token":"T"}"#),
        &[],
        r#"token: { json: "$.token" }"#,
    );
    from(
        &json(r#"{"a":[{"b c":1},{"access-token":"T"}]}"#),
        &[],
        r#"access_token: { json: "$.a[1][\"access-token\"]" }"#,
    );
    from(
        "",
        &[("X-Auth-Token", TOKEN)],
        r#"x_auth_token: { header: "X-Auth-Token" }"#,
    );
    from(
        "",
        &[("Authorization", &format!("Bearer {TOKEN}"))],
        r#"authorization: { header: "Authorization", regex: "^Bearer +(.+)$" }"#,
    );
    from(
        "",
        &[("Set-Cookie", &format!("jwt={TOKEN}; Path=/; HttpOnly"))],
        r#"jwt: { cookie: "jwt" }"#,
    );
    from(
        "",
        &[("Location", &format!("/cb?code={TOKEN}&x=1"))],
        r#"code: { header: "Location", regex: "[?&]code=([^&#]+)" }"#,
    );
    from(
        &json(
            "<form><input type=hidden value='1' name='n'><input type=\"hidden\" name=\"_csrf\" value=\"T\"/></form>",
        ),
        &[],
        "csrf: { regex: ",
    );
    from(
        &json("<meta name=\"csrf-token\" content=\"T\" />"),
        &[],
        "csrf_token: { regex: ",
    );
    from(&json("<a><token>T</token></a>"), &[], "token: { regex: ");
    from(
        &json("<script>s = {\"token\": \"T\"}</script>"),
        &[],
        "token: { regex: ",
    );
    from(
        &json("access_token=T&expires=7"),
        &[],
        "access_token: { regex: ",
    );
    from(&json("T\n"), &[], "text: { regex: ");
    from(&json("\"T\""), &[], r#"text: { json: "$" }"#);
}

/// Where the value is in a request.
#[test]
fn captured_values_are_used_in_every_part_of_a_request() {
    let login = || Entry {
        request: ("POST", "http://h/login"),
        answer: r#"{"token":"q7Zf3-91_xK","user":{"id":9007199}}"#,
        ..NOTHING
    };
    let in_url = |rest: &str, expected: &str| {
        let url = format!("http://h{rest}");
        let entry = Entry {
            request: ("GET", &url),
            ..NOTHING
        };
        check(&[login(), entry], &[&format!("get: \"{expected}\"")]);
    };
    in_url("/a/q7Zf3-91_xK/b", "/a/{{token}}/b");
    in_url("/a?token=q7Zf3-91_xK&n=1", "/a?token={{token}}&n=1");
    in_url("/u/9007199?x={{1}}", "/u/{{id}}?x={{{{1}}");
    in_url("/a;jsessionid=q7Zf3-91_xK", "/a;jsessionid={{token}}");
    let header = |name: &str, value: &str, expected: &str| {
        let entry = Entry {
            headers: &[(name, value)],
            ..NOTHING
        };
        check(&[login(), entry], &[expected]);
    };
    header("X-Csrf", "q7Zf3-91_xK", r#""X-Csrf": "{{token}}""#);
    header(
        "Authorization",
        "Token token=\"q7Zf3-91_xK\"",
        r#""Authorization": "Token token=\"{{token}}\"""#,
    );
    header(
        "Referer",
        "http://h/a?t=q7Zf3-91_xK",
        r#""Referer": "http://h/a?t={{token}}""#,
    );
    let in_body = |kind: &str, body: &str, expected: &str| {
        let entry = Entry {
            request: ("POST", "http://h/b"),
            body: Some((kind, body)),
            ..NOTHING
        };
        check(&[login(), entry], &[expected]);
    };
    let json = "application/json";
    in_body(
        json,
        r#"{"auth": {"token":"q7Zf3-91_xK"}, "id": 9007199, "n": 1.50}"#,
        r#"body: "{\"auth\": {\"token\":\"{{token}}\"}, \"id\": {{id}}, \"n\": 1.50}""#,
    );
    in_body(
        json,
        r#"{"query":"{ me(token: \"q7Zf3-91_xK\") }"}"#,
        r#"{ me(token: \\\"{{token}}\\\") }"#,
    );
    in_body(
        json,
        r#"{"a":"q7Zf3\u002d91_xK"}"#,
        r#"{\"a\":\"{{token}}\"}"#,
    );
    let form = "application/x-www-form-urlencoded";
    in_body(form, "a=b&csrf=q7Zf3-91_xK", "a=b&csrf={{token}}");
    in_body("text/xml", "<t>q7Zf3-91_xK</t>", "<t>{{token}}</t>");
    in_body(
        "multipart/form-data; boundary=b",
        "--b\r\nContent-Disposition: form-data; name=\"token\"\r\n\r\nq7Zf3-91_xK\r\n--b--\r\n",
        r#"name=\"token\"\r\n\r\n{{token}}\r\n"#,
    );
}

#[test]
fn links_of_answers_are_followed() {
    let created = || Entry {
        request: ("POST", "http://h/orders"),
        answer_headers: &[("Location", "http://h/orders/17")],
        ..NOTHING
    };
    let get = |url: &'static str| Entry {
        request: ("GET", url),
        ..NOTHING
    };
    let location = r#"location: { header: "Location" }"#;
    check(
        &[created(), get("http://h/orders/17")],
        &[location, "get: \"{{location}}\""],
    );
    // A link with the server's name has it in a header, too, and only once.
    check(
        &[
            created(),
            Entry {
                request: ("GET", "http://h/orders/17"),
                headers: &[("X-Back", "http://h/orders/17")],
                ..NOTHING
            },
        ],
        &[
            location,
            "get: \"{{location}}\"",
            "\"X-Back\": \"{{location}}\"",
        ],
    );
    check(
        &[created(), get("http://h/orders/17/items?n=1")],
        &[location, "get: \"{{location}}/items?n=1\""],
    );
    let page = Entry {
        answer: r#"{"next":"/items?after=a81f39"}"#,
        ..NOTHING
    };
    check(
        &[page, get("http://h/items?after=a81f39")],
        &[r#"next: { json: "$.next" }"#, "get: \"{{next}}\""],
    );
}

#[test]
fn each_step_has_the_newest_value() {
    let page = |answer: &'static str, csrf: &'static [(&str, &str)]| Entry {
        request: ("POST", "http://h/form"),
        headers: csrf,
        answer,
        ..NOTHING
    };
    let text = study(&archive(&[
        page(r#"{"csrf":"first-81af"}"#, &[]),
        page(r#"{"csrf":"other-92be"}"#, &[("X-Csrf", "first-81af")]),
        page("", &[("X-Csrf", "other-92be")]),
    ]));
    for line in [
        "csrf: { json",
        "csrf_2: { json",
        "\"{{csrf}}\"",
        "\"{{csrf_2}}\"",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
}

/// A name that is made of a path has no value of it.
#[test]
fn names_of_steps_have_no_values() {
    let login = Entry {
        request: ("POST", "http://h/login"),
        answer: r#"{"token":"q7Zf3k91"}"#,
        ..NOTHING
    };
    let get = |url: &'static str| Entry {
        request: ("GET", url),
        ..NOTHING
    };
    let entries = [
        login,
        get("http://h/a/q7Zf3k91/b"),
        get("http://h/c;jsessionid=hush123"),
    ];
    let text = study(&archive(&entries));
    assert!(text.contains("name: get-a-token-b\n"), "{text}");
    assert!(text.contains("name: get-c-jsessionid\n"), "{text}");
    let lower = text.to_ascii_lowercase();
    assert!(
        !lower.contains("q7zf3k91") && !lower.contains("hush"),
        "{text}"
    );
}

/// What is equal by chance, or known before, is not captured.
#[test]
fn equal_values_that_are_no_correlation_stay() {
    let pair = |answer: &'static str, url: &'static str| {
        let first = Entry { answer, ..NOTHING };
        let second = Entry {
            request: ("GET", url),
            ..NOTHING
        };
        check_none(&[first, second]);
    };
    pair(r#"{"more":true,"id":17}"#, "http://h/a/true?n=17");
    pair(
        r#"{"n":100000,"size":"1000000"}"#,
        "http://h/a?n=100000&m=1000000",
    );
    pair(r#"{"from":"2026-01-02"}"#, "http://h/a?from=2026-01-02");
    pair(
        r#"{"lang":"en-US","kind":"description"}"#,
        "http://h/description?l=en-US",
    );
    pair(r#"{"version":"v10.11.12"}"#, "http://h/a?v=v10.11.12");
    pair(r#"{"next":"/items/all"}"#, "http://h/items/all");
    // Part of a longer word.
    pair(r#"{"id":"a81f39"}"#, "http://h/a/xa81f39x");
    // The client had it before the answer did.
    let known = |url| Entry {
        request: ("GET", url),
        answer: r#"{"id":"a81f39c2"}"#,
        ..NOTHING
    };
    check_none(&[known("http://h/a/a81f39c2"), known("http://h/b/a81f39c2")]);
    // The token type is no token.
    let first = Entry {
        answer: r#"{"token_type":"Bearer"}"#,
        ..NOTHING
    };
    let second = Entry {
        headers: &[("Authorization", "Bearer elsewhere-1")],
        ..NOTHING
    };
    check_none(&[first, second]);
}

#[test]
fn values_of_the_page_itself_stay() {
    let first = Entry {
        answer: r#"{"key":"a81f39c2"}"#,
        ..NOTHING
    };
    let script = Entry {
        request: ("GET", "http://h/app.js"),
        answer: "const key = 'a81f39c2';",
        ..NOTHING
    };
    let second = Entry {
        request: ("GET", "http://h/a?v=a81f39c2"),
        ..NOTHING
    };
    let mut archive = archive(&[first, script, second]);
    archive["log"]["entries"][1]["_resourceType"] = json!("script");
    assert!(!study(&archive).contains("capture"));
}

#[test]
fn a_request_that_was_sent_before_the_answer_came_has_no_value_of_it() {
    let first = Entry {
        answer: r#"{"id":"a81f39c2"}"#,
        ..NOTHING
    };
    let second = Entry {
        request: ("GET", "http://h/a/a81f39c2"),
        ..NOTHING
    };
    let mut archive = archive(&[first, second]);
    archive["log"]["entries"][0]["time"] = json!(1_500);
    assert!(!study(&archive).contains("capture"));
}

/// A value that needs percent-encoding cannot be a variable, and is not written as it was recorded.
#[test]
fn encoded_values_are_said() {
    let first = Entry {
        answer: r#"{"token":"q7Zf3+91/xK="}"#,
        ..NOTHING
    };
    let second = Entry {
        request: ("GET", "http://h/a?x=q7Zf3%2B91%2FxK%3D"),
        ..NOTHING
    };
    let text = study(&archive(&[first, second]));
    for line in [
        "it is percent-encoded, which a captured value is not",
        "get: \"/a?x=${env.TOKEN}\"",
        "# Needs in the environment: TOKEN\n",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(
        !text.contains("q7Zf3") && !text.contains("capture:"),
        "{text}"
    );
}

/// A large archive is searched in bounded time: values are looked up, not compared.
#[test]
fn many_values_are_looked_up() {
    let members: Vec<String> = (0..20_000)
        .map(|n| format!("\"k{n}\":\"v{n}-a81f{n}\""))
        .collect();
    let answer = format!("{{{}}}", members.join(","));
    let first = Entry {
        answer: &answer,
        ..NOTHING
    };
    let last = Entry {
        request: ("POST", "http://h/b"),
        body: Some(("application/json", r#"{"a":"v19999-a81f19999"}"#)),
        ..NOTHING
    };
    check(
        &[first, last],
        &[r#"k19999: { json: "$.k19999" }"#, "{{k19999}}"],
    );
}
