//! `waggle init --from curl` beside curl itself: both make the same requests, or the command is refused with its reason.
// long: the table of commands

use std::{
    fs,
    path::Path,
    process::{Command, Output},
    sync::{Arc, Mutex},
};

use waggle_testkit::http::{Reply, Request, Server, ok};

use crate::workspace::{Workspace, output_text};

/// Headers that curl sends by itself, or whose value depends on how curl was built. The study's own are not compared either.
const DEFAULTS: [&str; 5] = [
    "host",
    "content-length",
    "expect",
    "accept-encoding",
    "connection",
];

/// A request as it is compared: headers in lower case and sorted.
#[derive(Debug, PartialEq, Eq)]
struct Sent {
    method: String,
    target: String,
    headers: Vec<(String, String)>,
    body: String,
}

/// Commands that curl and the study send alike; `SERVER` is the address of the server.
const SAME: &[&str] = &[
    "SERVER",
    "'SERVER/a/b?c=d&e'",
    "http://SERVER/a#fragment",
    "--url SERVER/a",
    "SERVER/a SERVER/b",
    "SERVER/a --next -d x SERVER/b",
    "SERVER/a -: -X PUT SERVER/b",
    "-X DELETE SERVER/1",
    "-XPATCH -d x SERVER",
    "-X purge SERVER",
    "-I SERVER/a",
    "--head SERVER/a",
    "-sSI SERVER/a",
    "-sSXPUT -dx=1 SERVER/a",
    "-o /dev/null -w '%{http_code}' -m 9 SERVER",
    "-fsSLk SERVER",
    "--max-time 9 --retry 0 --no-keepalive SERVER",
    "-4 -N -i SERVER",
    "--compressed SERVER",
    "-d a=1 SERVER",
    "-d a=1 -d b=2 SERVER",
    "--data a=1 --data-raw @b SERVER",
    "-d '' SERVER",
    "-d 'a b&c' SERVER",
    "-d @two.txt SERVER",
    "-d@two.txt SERVER",
    "-d a -d @two.txt -d b SERVER",
    "--data-ascii @two.txt SERVER",
    "--data-binary @two.txt SERVER",
    "--data-binary @sub/body.json SERVER",
    "--data-binary 'a\nb' SERVER",
    "--data-raw '{\"a\":1}' SERVER",
    "--data-raw $'a\\'b\\n\\t\\\\c' SERVER",
    "--data-raw $'\\x41\\u00e4\\U0001F600\\101\\e' SERVER",
    "--data-raw \"a \\\"b\\\" \\$c\" SERVER",
    "--data-raw 'a'\"b\"c SERVER",
    "-X GET -d x SERVER",
    "--data-urlencode 'a b' SERVER",
    "--data-urlencode '=a b&c' SERVER",
    "--data-urlencode 'n=a b=c' SERVER",
    "--data-urlencode @two.txt SERVER",
    "--data-urlencode n@two.txt SERVER",
    "--data-urlencode 'n@x=c d' SERVER",
    "--data-urlencode 'n=é~-._*+%' SERVER",
    "--data-urlencode 'a=1 2' -d b=3 SERVER",
    "-G SERVER/a",
    "-G -d a=1 SERVER/x",
    "-G -d a=1 SERVER/x?y",
    "-G -d a=1 'SERVER/x?'",
    "-G -d a=1 -d b=2 SERVER/x?y=z",
    "-G --data-urlencode 'q=a b' SERVER",
    "-G --data-urlencode n@two.txt SERVER",
    "-G -I -d a=1 SERVER/x",
    "-G -X POST -d a=1 SERVER/x",
    "--url-query a=b SERVER",
    "--url-query 'a=b c' --url-query +x=%20 'SERVER/x?k'",
    "--url-query n@two.txt -d body SERVER",
    "--url-query 'a b' SERVER/x",
    "--json '{\"a\":1}' SERVER",
    "--json @sub/body.json SERVER",
    "--json '{' --json '}' SERVER",
    "-d a --json b SERVER",
    "--json 1 -d b SERVER",
    "--json 1 -H 'Content-Type: application/vnd.x+json' SERVER",
    "--json 1 -H 'accept: text/plain' SERVER",
    "--json 1 -X PUT SERVER",
    "-H 'X-A: 1' -H 'X-B:2' SERVER",
    "-H 'X-A:   padded   ' SERVER",
    "-H 'X-Empty;' SERVER",
    "-H 'X-Colon: a:b;c' SERVER",
    "-d x -H 'Content-Type: text/plain' SERVER",
    "-d x -H 'content-type: text/plain' SERVER",
    "-d x -H 'Content-Type:' SERVER",
    "-d x -H Content-Type: SERVER",
    "-H @fields.txt SERVER",
    "-H @fields.txt -H 'X-C: 3' SERVER",
    "-HX-A:1 SERVER",
    "--header 'X-A: 1' SERVER",
    "-A agent/1 SERVER",
    "--user-agent 'agent 2' SERVER",
    "-A one -A two SERVER",
    "-A one -H 'User-Agent: two' SERVER",
    "-e http://from/ SERVER",
    "-e 'http://from/;auto' SERVER",
    "--referer http://from/ -H 'Referer: http://other/' SERVER",
    "-r 0-99 SERVER",
    "--range 5- SERVER",
    "-r 0-9 -H 'Range: bytes=1-2' SERVER",
    "'SERVER/[1-3]'",
    "'SERVER/[08-10]'",
    "'SERVER/[1-10:4]'",
    "'SERVER/[a-c]'",
    "'SERVER/[a-e:2]'",
    "'SERVER/{a,b}'",
    "'SERVER/{a,b}/[1-2]'",
    "'SERVER/{,x}'",
    "'SERVER/?q=\\[a\\]'",
    "-g 'SERVER/?filter[a]=1'",
    "--globoff 'SERVER/?a[]=1&b[]=2'",
    "-d x 'SERVER/{a,b}'",
    "-F a=b SERVER",
    "-F a=b -F c=d SERVER",
    "-F 'a=b;type=text/x' SERVER",
    "-F 'meta={\"a\":1};type=application/json' SERVER",
    "-F 'a=\"x;y\"' SERVER",
    "-F 'a=\"x;y\";type=text/x;charset=utf-8' SERVER",
    "-F f=@two.txt SERVER",
    "-F f=@sub/body.json SERVER",
    "-F 'f=@two.txt;type=text/csv' SERVER",
    "-F 'f=@two.txt;filename=other.csv' SERVER",
    "-F 'f=@two.txt;filename=\"a\\\"b.txt\";type=a/b' SERVER",
    "-F 'g=<two.txt' SERVER",
    "-F 'g=<two.txt;type=a/b' SERVER",
    "--form-string 'a=@b;type=c' SERVER",
    "-F a=b -X PUT SERVER",
    "-F 'a=' SERVER",
    "-T two.txt SERVER/up",
    "-T sub/body.json SERVER/up/",
    "-T two.txt -X POST -H 'Content-Type: text/plain' SERVER/up",
];

/// Options, and words of the refusal.
const REFUSED: &[(&str, &str)] = &[
    ("'SERVER/?filter[a]=1'", "[a], which is no range"),
    ("'SERVER/[3-1]'", "[3-1], which is no range"),
    ("'SERVER/[1-1000]'", "at most 100"),
    ("'SERVER/{a'", "that is not closed"),
    ("'SERVER/{}'", "empty {}"),
    ("'SERVER/a]'", "closes nothing"),
    (
        "-F 'a=b;headers=\"x: y\"' SERVER",
        ";headers is not supported",
    ),
    (
        "-F 'a=b;encoder=base64' SERVER",
        ";encoder is not supported",
    ),
    ("-F 'a=@two.txt,sub/body.json' SERVER", "several files"),
    (
        "-F 'a=(;type=multipart/mixed' SERVER",
        "a part within a part",
    ),
    ("-F a SERVER", "expected name=value"),
    ("-d a -F b=c SERVER", "both -d and -F"),
    ("-d a -T two.txt SERVER", "both -d and -T"),
    ("-I -d a SERVER", "both -d and -I"),
    ("-d @- SERVER", "standard input"),
    ("-T - SERVER", "standard input"),
    ("-d @none.txt SERVER", "none.txt"),
    (
        "-d @long.txt SERVER",
        "long.txt is longer than 1048576 bytes",
    ),
    ("-F f=@bytes.bin SERVER", "bytes.bin is not UTF-8"),
    ("-u name SERVER", "expected name:password"),
    ("-x http://proxy SERVER", "-x has no equivalent"),
    ("--digest -u a:b SERVER", "--digest has no equivalent"),
    ("--resolve a:1:b SERVER", "--resolve has no equivalent"),
    ("-K file SERVER", "-K has no equivalent"),
    ("--frobnicate SERVER", "--frobnicate is not supported"),
    ("-d \"$ID\" SERVER", "-d contains $ID"),
];

/// A server that records requests, and a folder with the files that the commands name.
struct Recorder {
    workspace: Workspace,
    server: Server,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Recorder {
    fn start() -> Self {
        let workspace = Workspace::new();
        let folder = workspace.path();
        fs::create_dir(folder.join("sub")).unwrap();
        fs::write(folder.join("two.txt"), "l1 x\r\nl2\n").unwrap();
        fs::write(folder.join("sub/body.json"), "{\n \"a\": 1\n}\n").unwrap();
        fs::write(folder.join("fields.txt"), "X-A: 1\n\nX-B: 2\n").unwrap();
        fs::write(folder.join("long.txt"), vec![b'a'; 1024 * 1024 + 1]).unwrap();
        fs::write(folder.join("bytes.bin"), b"\xff\xfe").unwrap();
        let requests: Arc<Mutex<Vec<Request>>> = Arc::default();
        let theirs = Arc::clone(&requests);
        let server = Server::start(move |request| {
            theirs.lock().unwrap().push(request.clone());
            match request.method.as_str() {
                "HEAD" => Reply::Last(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_vec()),
                _ => Reply::Answer(ok("")),
            }
        });
        Self {
            workspace,
            server,
            requests,
        }
    }

    fn command(&self, options: &str) -> String {
        format!("curl {options}").replace("SERVER", &self.server.address.to_string())
    }

    /// What curl sends.
    fn by_curl(&self, options: &str) -> Vec<Sent> {
        let command = self.command(&format!("-q -s --expect100-timeout 0.01 {options}"));
        let output = Command::new("bash")
            .args(["-c", &command])
            .current_dir(self.workspace.path())
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{command}: {}",
            output_text(&output)
        );
        let requests = std::mem::take(&mut *self.requests.lock().unwrap());
        assert!(!requests.is_empty(), "{command}");
        requests.iter().map(comparable).collect()
    }

    fn init(&self, options: &str) -> Output {
        let folder = self.workspace.path();
        fs::write(folder.join("command.sh"), self.command(options)).unwrap();
        let arguments = ["init", "--from", "curl", "command.sh", "-o", "-"];
        self.workspace.output(&arguments)
    }

    /// What the written study sends.
    fn by_study(&self, options: &str) -> Vec<Sent> {
        let output = self.init(options);
        assert_eq!(
            output.status.code(),
            Some(0),
            "{options}: {}",
            output_text(&output)
        );
        calls(&String::from_utf8(output.stdout).unwrap())
    }
}

fn comparable(request: &Request) -> Sent {
    let fields = request.head.lines().skip(1).filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        Some((name.to_ascii_lowercase(), value.trim().to_owned()))
    });
    let is_default = |(name, value): &(String, String)| {
        DEFAULTS.contains(&name.as_str())
            || (name == "user-agent" && value.starts_with("curl/"))
            || (name == "accept" && value == "*/*")
    };
    let headers = fields.filter(|field| !is_default(field)).collect();
    with_one_boundary(Sent {
        method: request.method.clone(),
        target: request.path.clone(),
        headers,
        body: request.text().to_owned(),
    })
}

/// The calls of a study as `init` writes it, whose strings are JSON.
fn calls(study: &str) -> Vec<Sent> {
    let text = |value: &str| -> String {
        let text: String = serde_json::from_str(value).unwrap_or_else(|_| value.to_owned());
        text.replace("$${", "${").replace("{{{{", "{{")
    };
    let mut calls: Vec<Sent> = Vec::new();
    for line in study.lines().map(str::trim_start) {
        let Some((key, value)) = line.trim_start_matches("- ").split_once(": ") else {
            continue;
        };
        let methods = ["get", "head", "options", "post", "put", "patch", "delete"];
        if methods.contains(&key) || key == "method" {
            let (method, target) = match key {
                "method" => (text(value), String::new()),
                key => (key.to_ascii_uppercase(), text(value)),
            };
            calls.push(Sent {
                method,
                target,
                headers: Vec::new(),
                body: String::new(),
            });
            continue;
        }
        let Some(call) = calls.last_mut() else {
            continue;
        };
        match key {
            "path" => call.target = text(value),
            "body" => call.body = text(value),
            key if key.starts_with('"') => {
                let name = text(key).to_ascii_lowercase();
                if !DEFAULTS.contains(&name.as_str()) {
                    call.headers.push((name, text(value)));
                }
            }
            _ => {}
        }
    }
    calls.into_iter().map(with_one_boundary).collect()
}

/// Escapes with capital digits, which are the same (RFC 3986, 6.2.2.1); curl writes small ones in queries.
fn with_capital_escapes(target: &str) -> String {
    let mut parts = target.split('%');
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2).unwrap_or((part, ""));
        whole.push_str(&format!("%{}{rest}", digits.to_ascii_uppercase()));
    }
    whole
}

/// Sorts the headers; each client chooses its own boundary of a multipart form.
fn with_one_boundary(mut sent: Sent) -> Sent {
    sent.headers.sort();
    sent.target = with_capital_escapes(&sent.target);
    for (_, value) in &mut sent.headers {
        if let Some((kind, boundary)) = value.split_once("; boundary=") {
            sent.body = sent.body.replace(boundary, "BOUNDARY");
            *value = format!("{kind}; boundary=BOUNDARY");
        }
    }
    sent
}

#[test]
fn a_study_sends_what_curl_sends() {
    let recorder = Recorder::start();
    let mut differences = Vec::new();
    for options in SAME {
        let (curl, study) = (recorder.by_curl(options), recorder.by_study(options));
        if curl != study {
            differences.push(format!("{options}\n  curl:  {curl:?}\n  study: {study:?}"));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn what_a_study_cannot_send_is_refused_with_its_reason() {
    let recorder = Recorder::start();
    for (options, why) in REFUSED {
        let output = recorder.init(options);
        let said = output_text(&output);
        assert_eq!(output.status.code(), Some(2), "{options}: {said}");
        assert!(said.contains(why), "{options}: {said}");
    }
}

#[test]
fn secrets_are_taken_from_the_environment() {
    let recorder = Recorder::start();
    let check = |options: &str, expected: &str| {
        let output = recorder.init(options);
        let said = output_text(&output);
        assert!(said.contains(expected), "{options}: {said}");
        assert!(!said.contains("hush"), "{options}: {said}");
    };
    check("-u me:hush SERVER", "\"Basic ${env.AUTHORIZATION}\"");
    check(
        "--oauth2-bearer hush -u a:b SERVER",
        "\"Bearer ${env.AUTHORIZATION}\"",
    );
    check("-b sid=hush -b a=b SERVER", "\"${env.COOKIE}\"");
    check("-F password=hush -F a=b SERVER", "${env.PASSWORD}");
    check(
        "-F password=hush -F a=b SERVER",
        "name=\\\"a\\\"\\r\\n\\r\\nb\\r\\n",
    );
}

#[test]
fn options_without_effect_are_said_once() {
    let recorder = Recorder::start();
    let output = recorder.init("-s -S -o /dev/null SERVER/a --next -s SERVER/b");
    let said = output_text(&output);
    let line = "# Left out: curl's -s, -S, -o: without effect on the request\n";
    assert_eq!(said.matches(line).count(), 1, "{said}");
}

#[test]
fn a_byte_order_mark_and_files_beside_the_command_are_read() {
    let recorder = Recorder::start();
    let folder = recorder.workspace.path();
    let command = format!("\u{feff}{}", recorder.command("-d @body.json SERVER"));
    fs::write(Path::new(folder).join("sub/command.sh"), command).unwrap();
    let arguments = ["init", "--from", "curl", "sub/command.sh", "-o", "-"];
    let output = recorder.workspace.output(&arguments);
    let calls = calls(&output_text(&output));
    assert_eq!(calls[0].body, "{ \"a\": 1}");
}
