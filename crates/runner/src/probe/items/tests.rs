//! Elements that become visible before others that were there: each record is counted once, and copies are found.

use waggle_load::key_of;
use waggle_study::{Extract, ProbeKind};
use waggle_system::http::client::{Connection, HttpError, Request};

use super::Items;
use crate::probe::tests::{Bench, RUN};

/// The elements of a store by their id, and what comes before the request with this number.
#[derive(Debug, Default)]
struct Store {
    /// Id and sequence.
    elements: Vec<(u64, u64)>,
    /// Number of the request, id and sequence.
    coming: Vec<(usize, u64, u64)>,
    requests: usize,
    answer: Option<String>,
}

impl Connection for Store {
    async fn send(
        &mut self,
        request: &Request<'_>,
        chunk: &mut dyn FnMut(&[u8]),
    ) -> Result<u16, HttpError> {
        self.requests += 1;
        for (request_number, id, sequence) in &self.coming {
            if *request_number == self.requests {
                self.elements.push((*id, *sequence));
            }
        }
        self.elements.sort_unstable();
        let mut numbers = request.path.split('/').filter_map(|part| part.parse().ok());
        let (offset, limit): (usize, usize) = (numbers.next().unwrap(), numbers.next().unwrap());
        let shown = self.elements.iter().skip(offset).take(limit);
        let texts: Vec<String> = shown
            .map(|(id, sequence)| {
                let key = key_of(0, *sequence);
                format!(
                    r#"{{"id": {id}, "labels": {{"run": "{RUN}", "key": "{key}", "time": "9"}}}}"#
                )
            })
            .collect();
        let text = format!(r#"{{"count": 1, "list": [{}]}}"#, texts.join(", "));
        chunk(self.answer.as_ref().unwrap_or(&text).as_bytes());
        Ok(200)
    }
}

fn bench() -> Bench {
    let kind = ProbeKind::Items {
        get: "/${offset}/${limit}".to_owned(),
        items: "$.list".to_owned(),
        limit: 4,
    };
    let extract = Extract::After {
        key: "\"key\":".to_owned(),
        run: Some("\"run\":\"".to_owned()),
        time: Some("\"time\":".to_owned()),
    };
    Bench::new(kind, extract)
}

fn items(bench: &Bench) -> Items {
    Items::new(&bench.start_probe(), "/${offset}/${limit}", 4, "$.list").unwrap()
}

/// Elements with the ids 10, 20, 30 … and the sequences 0, 1, 2 …
fn ascending(count: u64) -> Vec<(u64, u64)> {
    (0..count)
        .map(|number| ((number + 1) * 10, number))
        .collect()
}

/// Polls to the end under load, and after it. Returns distinct records and copies after each of the two.
async fn read_all(store: &mut Store) -> [(u64, u64); 2] {
    let bench = bench();
    let mut items = items(&bench);
    let counts = |items: &Items| (items.log.seen.distinct, items.log.seen.duplicates);
    while items.poll(store).await.unwrap() {}
    while items.poll(store).await.unwrap() {}
    let under_load = counts(&items);
    items.end_load();
    assert!(items.remark().is_some());
    while items.poll(store).await.unwrap() {}
    assert!(items.remark().is_none());
    [under_load, counts(&items)]
}

#[track_caller]
fn check(read: [(u64, u64); 2], under_load: u64, end: (u64, u64)) {
    assert_eq!(read, [(under_load, 0), end]);
}

#[tokio::test(start_paused = true)]
async fn each_record_is_counted_once() {
    let mut store = Store::default();
    check(read_all(&mut store).await, 0, (0, 0));
    store.elements = ascending(11);
    check(read_all(&mut store).await, 11, (11, 0));
}

#[tokio::test(start_paused = true)]
async fn copies_are_found_also_at_the_edge_of_a_page() {
    for copied in 0..11 {
        let mut elements = ascending(11);
        elements.push((copied * 10 + 11, copied));
        let mut store = Store {
            elements,
            ..Store::default()
        };
        check(read_all(&mut store).await, 11, (11, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn element_that_comes_among_the_last_is_seen_under_load() {
    let mut store = Store {
        elements: ascending(11),
        // Requests 1 to 5 read up to the end.
        coming: vec![(6, 105, 11)],
        ..Store::default()
    };
    check(read_all(&mut store).await, 12, (12, 0));
}

#[tokio::test(start_paused = true)]
async fn element_that_comes_at_any_time_at_any_place_is_no_copy_and_not_missing() {
    // Six requests under load, and five of a pass.
    for request in 1..=11 {
        for place in 0..11 {
            let mut store = Store {
                elements: ascending(11),
                coming: vec![(request, place * 10 + 5, 11)],
                ..Store::default()
            };
            let [_, (distinct, duplicates)] = read_all(&mut store).await;
            assert_eq!((distinct, duplicates), (12, 0), "{request} {place}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn bad_answers_are_explained() {
    for (answer, expected) in [
        ("<html>", "/0/4: the answer is not JSON: expected value"),
        (r#"{"items":[]}"#, "/0/4: the answer has no array at $.list"),
        (r#"{"list":{}}"#, "/0/4: the answer has no array at $.list"),
    ] {
        let bench = bench();
        let mut store = Store {
            answer: Some(answer.to_owned()),
            ..Store::default()
        };
        let problem = items(&bench)
            .poll(&mut store)
            .await
            .unwrap_err()
            .to_string();
        assert!(problem.starts_with(expected), "{problem}");
    }
}
