//! Sessions against a shop: what they send, in which order, with which variables and cookies; what is counted.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use waggle_load::{Action, Job, Scenario, SessionCounts};
use waggle_spec::{Arrivals, FeedOrder, LoadModel, Think, TimeKind};
use waggle_testkit::http::field;

use crate::support::{
    Ended, Reply, closed_model, run,
    scenarios::{feed, flow, job, plain, repeat, scenario, shopping_scenario},
    shop::{Asked, Shop},
};

fn shop() -> Shop {
    Shop::start(|_| None)
}

/// Runs a scenario of which `requests` are sent by one connection.
fn run_one(shop: &Shop, scenario: Scenario, requests: u64) -> Ended {
    run_changed(shop, scenario, |job| job.max_requests = Some(requests))
}

fn run_changed(shop: &Shop, scenario: Scenario, change: impl Fn(&mut Job)) -> Ended {
    let mut job = job(shop.server.address, closed_model(1, 1), scenario);
    change(&mut job);
    let ended = run(job);
    ended.check_sums();
    ended
}

fn one_flow(steps: usize, actions: Vec<Action>) -> Scenario {
    scenario(steps, vec![flow("one", 1, actions)], Vec::new())
}

fn lines(asked: &[Asked]) -> Vec<String> {
    asked
        .iter()
        .map(|asked| format!("{} {}", asked.method, asked.path))
        .collect()
}

fn sessions(started: u64, completed: u64, failed: u64) -> SessionCounts {
    SessionCounts {
        started,
        completed,
        failed,
        retries: 0,
    }
}

#[test]
fn captured_values_are_used_in_later_requests() {
    let shop = shop();
    let ended = run_one(&shop, shopping_scenario(), 6);
    let asked = shop.received_requests();
    let expected = ["1", "2"].map(|sid| {
        [
            "POST /login".to_owned(),
            "GET /orders".to_owned(),
            format!("PUT /orders/o-{sid}-1"),
        ]
    });
    assert_eq!(lines(&asked), expected.concat());
    assert!(asked.iter().all(|asked| asked.status == 200), "{asked:?}");
    assert_eq!(asked[0].body, r#"{"name": "u1", "session": 1}"#);
    assert_eq!(asked[3].body, r#"{"name": "u1", "session": 2}"#);
    assert_eq!(asked[5].body, "n2 o-2-1");
    assert_eq!(
        asked[5].head,
        "PUT /orders/o-2-1 HTTP/1.1\r\nHost: shop\r\nAuthorization: Bearer t-2\r\nCookie: sid=2\r\nContent-Length: 8\r\n\r\n"
    );
    assert_eq!(ended.counts().sessions, sessions(2, 2, 0));
    let sent: Vec<u64> = ended.outcome.steps.iter().map(|step| step.sent).collect();
    assert_eq!(sent, [2, 2, 2]);
}

#[test]
fn cookies_belong_to_their_session() {
    let shop = shop();
    let actions = vec![
        plain(0, "POST /login"),
        plain(1, "GET /open"),
        plain(2, "POST /logout"),
        plain(1, "GET /open"),
    ];
    run_one(&shop, one_flow(3, actions), 8);
    let cookies: Vec<Option<String>> = shop
        .received_requests()
        .iter()
        .map(|asked| field(&asked.head, "cookie").map(str::to_owned))
        .collect();
    let sequence = |sid: &str| {
        [
            None,
            Some(format!("sid={sid}")),
            Some(format!("sid={sid}")),
            None,
        ]
    };
    assert_eq!(cookies, [sequence("1"), sequence("2")].concat());
}

#[test]
fn loops_have_their_number_of_rounds() {
    let shop = shop();
    let inner = repeat(2, vec![plain(1, "GET /open/{{round}}")]);
    let outer = repeat(2, vec![plain(0, "GET /open/outer/{{round}}"), inner]);
    run_one(
        &shop,
        one_flow(2, vec![outer, plain(0, "GET /open/end")]),
        7,
    );
    let paths: Vec<String> = shop
        .received_requests()
        .into_iter()
        .map(|asked| asked.path)
        .collect();
    let round = |number| {
        [
            format!("/open/outer/{number}"),
            "/open/1".to_owned(),
            "/open/2".to_owned(),
        ]
    };
    let expected = [&round(1)[..], &round(2)[..], &["/open/end".to_owned()]].concat();
    assert_eq!(paths, expected);
}

#[test]
fn flows_are_drawn_by_their_weights() {
    const SESSIONS: u64 = 4_000;
    let mixed = || {
        let flows = vec![
            flow("often", 3, vec![plain(0, "GET /open/often")]),
            flow("seldom", 1, vec![plain(1, "GET /open/seldom")]),
        ];
        scenario(2, flows, Vec::new())
    };
    let counts = [(); 2].map(|()| {
        let shop = shop();
        run_one(&shop, mixed(), SESSIONS);
        shop.paths()["/open/often"]
    });
    // Six standard deviations of a binomial count with p = 3/4.
    assert!((2_836..=3_164).contains(&counts[0]), "{counts:?}");
    assert_eq!(counts[0], counts[1], "one seed gives one sequence");
}

/// The rows that each user's sessions had, in a run of two workers with four users.
fn rows_of_users(
    order: FeedOrder,
    rows: usize,
    requests: u64,
) -> (Ended, HashMap<String, Vec<String>>) {
    let shop = shop();
    let actions = vec![plain(0, "GET /open/{{user}}/{{rows.name}}")];
    let feeds = vec![feed("rows", rows, order)];
    let mut job = job(
        shop.server.address,
        closed_model(4, 1),
        scenario(1, vec![flow("one", 1, actions)], feeds),
    );
    job.workers = vec![None; 2];
    job.max_requests = Some(requests);
    let ended = run(job);
    ended.check_sums();
    let mut users: HashMap<String, Vec<String>> = HashMap::new();
    for asked in shop.received_requests() {
        let (user, row) = asked.path["/open/".len()..]
            .split_once('/')
            .unwrap_or_default();
        users
            .entry(user.to_owned())
            .or_default()
            .push(row.to_owned());
    }
    (ended, users)
}

#[test]
fn a_feed_that_is_used_once_gives_each_row_to_one_session_and_ends_the_run() {
    let (ended, users) = rows_of_users(FeedOrder::Once, 101, 10_000);
    let mut rows: Vec<String> = users.into_values().flatten().collect();
    rows.sort();
    let mut expected: Vec<String> = (0..101).map(|row| format!("r{row}")).collect();
    expected.sort();
    assert_eq!(rows, expected);
    assert_eq!(ended.outcome.feeds_used_up, ["rows"]);
    assert_eq!(ended.counts().sessions, sessions(101, 101, 0));
}

#[test]
fn a_row_per_user_stays_with_the_user() {
    let (ended, users) = rows_of_users(FeedOrder::PerUser, 4, 400);
    assert_eq!(users.len(), 4);
    for (user, rows) in users {
        let user_of = |row: &String| row.strip_prefix('r')?.parse().ok().map(|row: u64| row + 1);
        assert!(
            rows.iter().all(|row| user_of(row) == user.parse().ok()),
            "{user}: {rows:?}"
        );
    }
    assert!(ended.outcome.feeds_used_up.is_empty());
}

#[test]
fn cycling_and_random_feeds_never_end() {
    for order in [FeedOrder::Cycle, FeedOrder::Random] {
        let (ended, users) = rows_of_users(order, 5, 400);
        let rows: Vec<String> = users.into_values().flatten().collect();
        let different: HashSet<&String> = rows.iter().collect();
        assert_eq!((rows.len(), different.len()), (400, 5), "{order:?}");
        assert!(ended.outcome.feeds_used_up.is_empty());
    }
}

fn max_us(ended: &Ended, step: usize) -> u64 {
    ended
        .merge(|interval| &interval.steps[step].times[TimeKind::Response])
        .max()
}

const PAUSE: Duration = Duration::from_millis(300);

#[test]
fn a_pause_is_in_no_response_time() {
    let models = [
        closed_model(1, 1),
        LoadModel::Users {
            users: 1,
            think_time: Think::Fixed(Duration::ZERO),
        },
        open(2.0),
    ];
    for model in models {
        let shop = shop();
        let pause = Action::Pause(Think::Fixed(PAUSE));
        let actions = vec![plain(0, "GET /open/a"), pause, plain(1, "GET /open/b")];
        let ended = run_changed(&shop, one_flow(2, actions), |job| {
            job.model = model.clone();
            job.max_requests = Some(2);
        });
        assert_eq!(
            lines(&shop.received_requests()),
            ["GET /open/a", "GET /open/b"],
            "{model:?}"
        );
        // The second request is due after the pause, and not before.
        let after_pause = (ended.outcome.ran_for.saturating_sub(PAUSE)).as_micros();
        assert!(
            u128::from(max_us(&ended, 1)) <= after_pause,
            "{model:?}: {} of {after_pause} µs",
            max_us(&ended, 1)
        );
    }
}

fn open(per_s: f64) -> LoadModel {
    LoadModel::Open {
        rate_per_s: per_s,
        arrivals: Arrivals::Uniform,
        connections: 1,
        pipelining: 1,
    }
}

#[test]
fn sessions_of_an_open_load_are_due_by_the_clock_and_steps_by_the_step_before() {
    const ANSWER: Duration = Duration::from_millis(20);
    let body = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    let shop = Shop::start(|_| Some(Reply::After(ANSWER, body.to_vec())));
    let actions = vec![plain(0, "GET /open/a"), plain(1, "GET /open/b")];
    let ended = run_changed(&shop, one_flow(2, actions), |job| {
        job.model = open(1_000.0);
        job.max_requests = Some(20);
    });
    let counts = ended.counts();
    assert_eq!((counts.sent, counts.sessions), (20, sessions(10, 10, 0)));
    // Ten sessions fall due within 10 ms and run one after the other: the last one waits for nine others.
    let waited = (ANSWER * 2 * 9 - Duration::from_millis(10)).as_micros();
    assert!(u128::from(max_us(&ended, 0)) >= waited);
    // Second steps are due when their first ones are answered, so that no two of them overlap: together they fit into the run,
    // which they would not if they were due by the clock.
    let second = ended.merge(|interval| &interval.steps[1].times[TimeKind::Response]);
    let together = second.mean() * second.len() as f64 / 1e6;
    let ran_for = ended.outcome.ran_for.as_secs_f64();
    assert!(together <= ran_for * 1.001, "{together} s of {ran_for} s");
    assert_eq!(counts.due, counts.sent + counts.skipped);
}

/// The schedule ends with its last session, which is in its pause then.
#[test]
fn a_session_that_has_begun_is_completed() {
    let pause = || Action::Pause(Think::Fixed(Duration::from_millis(50)));
    let actions = vec![pause(), plain(0, "GET /open"), pause()];
    for model in [closed_model(1, 1), open(500.0)] {
        let shop = shop();
        let ended = run_changed(&shop, one_flow(1, actions.clone()), |job| {
            job.model = model.clone();
            job.max_requests = Some(3);
        });
        let counts = ended.counts();
        assert_eq!(
            (counts.due, counts.sent, counts.skipped),
            (3, 3, 0),
            "{model:?}"
        );
        assert_eq!(shop.server.answered_count(), 3, "{model:?}");
    }
}
