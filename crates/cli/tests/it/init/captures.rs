//! `waggle init --from har` of a session with a login: each user of the study that is written has a login of its own.

use std::{
    collections::BTreeSet,
    fs,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use serde_json::json;
use waggle_testkit::http::{Reply, Request, Server, answer};

use crate::workspace::{Workspace, output_text};

const RECORDED: &str = "tok-4f7a91-recorded";
const PASSWORD: &str = "open-sesame-of-ada";

/// Gives each login a token and each order an identifier of its own, and answers 401 without them.
#[derive(Default)]
struct Shop {
    logins: AtomicU64,
    used: Mutex<BTreeSet<String>>,
}

impl Shop {
    fn answer(&self, request: &Request) -> Vec<u8> {
        let json = "Content-Type: application/json\r\n";
        let (path, _) = request.path.split_once('?').unwrap_or((&request.path, ""));
        if path == "/login" {
            let expected = json!({ "user": "ada", "password": PASSWORD });
            if serde_json::from_str::<serde_json::Value>(request.text()).ok() != Some(expected) {
                return answer(401, "", "wrong password");
            }
            let number = self.logins.fetch_add(1, Ordering::SeqCst) + 1;
            let token = format!("tok-{number:06}-live");
            return answer(
                200,
                json,
                &json!({ "access": { "token": token } }).to_string(),
            );
        }
        let authorization = request.header("authorization").unwrap_or_default();
        let logins = self.logins.load(Ordering::SeqCst);
        let known =
            (1..=logins).find(|number| authorization == format!("Bearer tok-{number:06}-live"));
        let Some(number) = known else {
            return answer(401, "", "who are you?");
        };
        self.used.lock().unwrap().insert(authorization.to_owned());
        let location = format!("/orders/order-{number:05}");
        match path {
            "/orders" => answer(
                201,
                &format!("Location: {location}\r\nX-CSRF-Token: c{number:07}\r\n"),
                "",
            ),
            _ if path == format!("{location}/items") => {
                let form = format!("csrf=c{number:07}&n=1");
                let status = if request.text() == form { 200 } else { 403 };
                answer(status, json, "{}")
            }
            _ => answer(404, "", "no such order"),
        }
    }
}

#[test]
fn each_user_has_a_login_of_its_own() {
    let shop = Arc::new(Shop::default());
    let its = Arc::clone(&shop);
    let server = Server::start(move |request| Reply::Answer(its.answer(request)));
    let workspace = Workspace::new();
    fs::write(
        workspace.path().join("shop.har"),
        archive(&server.address.to_string()),
    )
    .unwrap();
    let made = workspace.output(&["init", "--from", "har", "shop.har", "-o", "shop.yaml"]);
    assert_eq!(made.status.code(), Some(0), "{}", output_text(&made));
    let file = workspace.path().join("shop.yaml");
    let text = fs::read_to_string(&file).unwrap();
    for secret in [RECORDED, PASSWORD, "c4711aa"] {
        assert!(!text.contains(secret), "{text}");
    }
    let mut command = workspace.waggle(&["run", "shop.yaml", "--quick", "--quiet"]);
    let ran = command.env("PASSWORD", PASSWORD).output().unwrap();
    let model = workspace.report_of(&ran);
    for trial in &model.trials {
        assert!(trial.failure.is_none(), "{}", output_text(&ran));
        let numbers = trial.numbers.as_ref().unwrap();
        assert!(
            numbers.counts.succeeded > 0 && numbers.counts.failed == 0,
            "{}",
            output_text(&ran)
        );
    }
    // The check before the load and the users of each trial.
    let used = shop.used.lock().unwrap();
    assert!(used.len() > model.trials.len(), "{used:?}");
}

fn archive(host: &str) -> String {
    let entry = |second: u32, method: &str, path: &str, headers: serde_json::Value| {
        json!({
            "startedDateTime": format!("2026-01-02T03:04:{second:02}.000Z"), "time": 10, "_resourceType": "fetch",
            "request": { "method": method, "url": format!("http://{host}{path}"), "headers": headers },
            "response": { "status": 200, "headers": [], "content": { "mimeType": "application/json" } },
        })
    };
    let field = |name: &str, value: &str| json!({ "name": name, "value": value });
    let bearer = field("Authorization", &format!("Bearer {RECORDED}"));
    let mut login = entry(
        0,
        "POST",
        "/login",
        json!([field("Content-Type", "application/json")]),
    );
    let body = json!({ "user": "ada", "password": PASSWORD });
    login["request"]["postData"] =
        json!({ "mimeType": "application/json", "text": body.to_string() });
    login["response"]["content"]["text"] = json!({ "access": { "token": RECORDED } })
        .to_string()
        .into();
    let mut order = entry(0, "POST", "/orders?fast=1", json!([bearer]));
    order["startedDateTime"] = json!("2026-01-02T03:04:00.050Z");
    order["response"]["status"] = json!(201);
    order["response"]["headers"] = json!([
        field("location", "/orders/order-00017"),
        field("x-csrf-token", "c4711aa")
    ]);
    let form = "application/x-www-form-urlencoded";
    let mut item = entry(
        0,
        "POST",
        "/orders/order-00017/items",
        json!([bearer, field("Content-Type", form)]),
    );
    item["startedDateTime"] = json!("2026-01-02T03:04:00.100Z");
    item["request"]["postData"] = json!({ "mimeType": form, "text": "csrf=c4711aa&n=1" });
    json!({ "log": { "version": "1.2", "entries": [login, order, item] } }).to_string()
}
