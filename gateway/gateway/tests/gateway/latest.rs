//! The latest reading of a series: order, visibility after a 204 and after a restart, limits.

use crate::support::{Answer, Client, Gateway, put, store, wait_until};

/// The latest reading as a line, or the status if there is none.
pub(crate) fn fetch_latest(gateway: &Gateway, topic: &str, series: &str) -> String {
    let answer = ask(
        &mut gateway.client(),
        topic,
        series,
        "Accept: text/plain\r\n",
    );
    if answer.status == 200 {
        answer.body
    } else {
        answer.status.to_string()
    }
}

fn ask(client: &mut Client, topic: &str, series: &str, fields: &str) -> Answer {
    client.send(request(topic, series, fields).as_bytes());
    client.answer().unwrap()
}

fn request(topic: &str, series: &str, fields: &str) -> String {
    let target = format!("/api/v1/topics/{topic}/latest?series={series}");
    format!("GET {target} HTTP/1.1\r\nHost: a\r\n{fields}\r\n")
}

/// Waits until the readings are restored.
fn wait_until_filled(gateway: &Gateway) {
    wait_until("the store is read", || {
        gateway.get("/api/v1/topics/t/latest").status == 200
    });
}

/// Every series of a topic, sorted, page by page.
fn all_series(gateway: &Gateway, topic: &str, limit: usize) -> Vec<String> {
    let (mut lines, mut after) = (Vec::new(), String::new());
    loop {
        let page = gateway.get(&format!(
            "/api/v1/topics/{topic}/latest?limit={limit}{after}"
        ));
        assert_eq!(page.status, 200, "{}", page.body);
        assert_eq!(page.header("content-type"), Some("application/x-ndjson"));
        assert!(page.body.lines().count() <= limit);
        lines.extend(page.body.lines().map(str::to_owned));
        let Some(next) = page.header("waggle-next") else {
            lines.sort();
            return lines;
        };
        after = format!("&after={next}");
    }
}

#[test]
fn latest_is_by_time_and_in_the_accepted_format() {
    let (_folder, file) = store();
    let gateway = Gateway::start(&file, &["--workers=2"]);
    assert_eq!(fetch_latest(&gateway, "t", "m,a=b"), "404");
    assert_eq!(
        gateway
            .put("t", "m,a=b f=1i,g=\"x\" 5\nm,a=b f=2i 3\nm f=0.5 9")
            .status,
        204
    );
    assert_eq!(
        fetch_latest(&gateway, "t", "m,a=b"),
        "m,a=b f=1i,g=\"x\" 5\n"
    );
    assert_eq!(
        fetch_latest(&gateway, "t", "m%2Ca%3Db"),
        "m,a=b f=1i,g=\"x\" 5\n"
    );
    assert_eq!(fetch_latest(&gateway, "other", "m"), "404");
    let json = ask(&mut gateway.client(), "t", "m,a=b", "");
    assert_eq!(json.header("content-type"), Some("application/json"));
    assert_eq!(
        json.body,
        "{\"time\":5,\"measurement\":\"m\",\"tags\":{\"a\":\"b\"},\"fields\":{\"f\":1,\"g\":\"x\"}}\n"
    );
    // The router's answers are the same.
    for fields in ["Connection: close\r\n", "Content-Length: 1\r\n\r\nx"] {
        let answer = ask(&mut gateway.client(), "t", "m,a=b", fields);
        assert_eq!((answer.status, answer.body), (200, json.body.clone()));
    }
    let lines = gateway.ask(
        "GET http://a/api/v1/topics/t/latest?series=m HTTP/1.1\r\nHost: a\r\nAccept: text/plain\r\n\r\n",
    );
    assert_eq!(lines.body, "m f=0.5 9\n");
    for (target, status) in [
        ("/api/v1/topics/t/latest?series=m&limit=1&after=0", 200),
        ("/api/v1/topics/t/latest?series=m&limit=0", 400),
        ("/api/v1/topics/t/latest?after=-1", 400),
        ("/api/v1/topics/t/latest?x=1", 400),
        ("/api/v1/topics/a%20b/latest?series=m", 400),
        ("/api/v1/topics/t/latest?series=", 404),
    ] {
        assert_eq!(gateway.get(target).status, status, "{target}");
    }
}

#[test]
fn a_reading_is_visible_after_its_204_on_every_worker() {
    let (_folder, file) = store();
    let gateway = Gateway::start(&file, &["--workers=3"]);
    let mut clients: Vec<Client> = (0..6).map(|_| gateway.client()).collect();
    for round in 0..50 {
        let writer = round % clients.len();
        clients[writer].send(put("t", &format!("m f={round}i {round}")).as_bytes());
        assert_eq!(clients[writer].answer().unwrap().status, 204);
        for client in &mut clients {
            let answer = ask(client, "t", "m", "Accept: text/plain\r\n");
            assert_eq!(answer.body, format!("m f={round}i {round}\n"));
        }
    }
}

#[test]
fn pipelined_reads_see_earlier_writes_and_answers_keep_their_order() {
    let (_folder, file) = store();
    let gateway = Gateway::start(&file, &["--pipelining-max=4"]);
    let mut client = gateway.client();
    let read = request("t", "m", "Accept: text/plain\r\n");
    for round in 0..20 {
        let time = round * 2;
        let requests = [
            &*put("t", &format!("m f=1i {time}")),
            &*read,
            &*put("t", "m f="),
            &*put("t", &format!("m f=1i {}", time + 1)),
            &*read.repeat(10),
            "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n",
            &*read,
        ];
        client.send(requests.concat().as_bytes());
        let mut next = || {
            let answer = client.answer().unwrap();
            (answer.status, answer.body)
        };
        assert_eq!(next().0, 204);
        assert_eq!(next(), (200, format!("m f=1i {time}\n")));
        assert_eq!(next().0, 400);
        assert_eq!(next().0, 204);
        let later = (200, format!("m f=1i {}\n", time + 1));
        for _ in 0..10 {
            assert_eq!(next(), later);
        }
        assert_eq!(next(), (200, "alive\n".to_owned()));
        assert_eq!(next(), later);
    }
}

/// Requests more answers than the gateway buffers, before it reads any.
#[test]
fn answers_from_memory_are_bounded_by_slow_clients() {
    let (_folder, file) = store();
    let gateway = Gateway::start(&file, &[]);
    let body = format!("m f=\"{}\" 1", "x".repeat(10_000));
    assert_eq!(gateway.put("t", &body).status, 204);
    let mut client = gateway.client();
    client.send(
        request("t", "m", "Accept: text/plain\r\n")
            .repeat(500)
            .as_bytes(),
    );
    for _ in 0..500 {
        assert_eq!(client.answer().unwrap().body.len(), body.len() + 1);
    }
}

#[test]
fn readings_are_restored_after_a_restart() {
    let (_folder, file) = store();
    let mut gateway = Gateway::start(&file, &[]);
    let body: String = (0..50).map(|s| format!("m,s={s} f={s}i {s}\n")).collect();
    assert_eq!(gateway.put("t", &body).status, 204);
    assert_eq!(gateway.put("t", "m,s=1 f=9i 100\nm,s=2 f=9i 1").status, 204);
    assert_eq!(gateway.put("u", "m,s=1 f=7i 7").status, 204);
    let before = all_series(&gateway, "t", 7);
    gateway.kill();
    let gateway = Gateway::start(&file, &[]);
    wait_until_filled(&gateway);
    assert_eq!(all_series(&gateway, "t", 1000), before);
    assert_eq!(fetch_latest(&gateway, "t", "m,s=1"), "m,s=1 f=9i 100\n");
    assert_eq!(fetch_latest(&gateway, "t", "m,s=2"), "m,s=2 f=2i 2\n");
    assert_eq!(fetch_latest(&gateway, "u", "m,s=1"), "m,s=1 f=7i 7\n");
    assert_eq!(gateway.put("t", "m,s=1 f=10i 101").status, 204);
    assert_eq!(fetch_latest(&gateway, "t", "m,s=1"), "m,s=1 f=10i 101\n");
    // Of each topic only its share of the newest records is read.
    drop(gateway);
    let gateway = Gateway::start(&file, &["--latest-restore-records=6"]);
    wait_until_filled(&gateway);
    assert_eq!(all_series(&gateway, "t", 10).len(), 2);
}

#[test]
fn series_are_limited_and_evictions_counted() {
    let (_folder, file) = store();
    let gateway = Gateway::start(&file, &["--latest-max-series=10"]);
    let body: String = (0..100).map(|s| format!("m,s={s} f=1 {s}\n")).collect();
    assert_eq!(gateway.put("t", &body).status, 204);
    assert_eq!(all_series(&gateway, "t", 3).len(), 10);
    assert_eq!(fetch_latest(&gateway, "t", "m,s=99"), "m,s=99 f=1 99\n");
    let metrics = gateway.get("/metrics").body;
    for line in [
        "waggle_gateway_latest_series 10",
        "waggle_gateway_latest_evicted_total 90",
    ] {
        assert!(metrics.lines().any(|found| found == line), "{metrics}");
    }
    let (_folder, file) = store();
    let none = Gateway::start(&file, &["--latest-max-series=0"]);
    assert_eq!(none.put("t", "m f=1").status, 204);
    assert_eq!(fetch_latest(&none, "t", "m"), "404");
}
