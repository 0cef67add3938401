//! Tokens of OAuth 2 beside a load: when they are fetched, what is sent with them, and what becomes of the trial without one.

use waggle_load::What;
use waggle_results::{PhaseName, TrialEnd};
use waggle_study::{Values, no_files};
use waggle_system::secrets::oauth2::TokenSource;

use super::{Bench, STUDY, Then, world};
use crate::run::request::Ended;

/// Two trials of about four seconds; tokens last one.
fn bench() -> Bench {
    let oauth2 = "system:
  use: fake
  oauth2: { endpoint: records, path: /token, client_id: bench, client_secret: '${env.SECRET}' }
";
    let study = STUDY
        .replace("system: { use: fake }\n", oauth2)
        .replace("connections: [1, 2]", "connections: [1]")
        .replace(
            "    endpoint: records\n",
            "    endpoint: records\n    headers: { Authorization: 'Bearer ${oauth2.token}' }\n",
        );
    let mut bench = Bench::new_with_study(&study);
    let values = Values {
        variable: &|_| Some("secret-word".to_owned()),
        file: &no_files,
    };
    bench.study.take_from_environment(values).unwrap();
    bench.tokens = TokenSource::read(&bench.study, "study.yaml".as_ref()).unwrap();
    bench
}

/// The token in what a load sends.
fn token_in(what: &What) -> String {
    let What::Requests { requests, .. } = what else {
        panic!("the study has requests")
    };
    let text = String::from_utf8_lossy(&requests[0].bytes).into_owned();
    let (_, rest) = text.split_once("Bearer ").unwrap();
    rest.split("\r\n").next().unwrap().to_owned()
}

#[tokio::test(start_paused = true)]
async fn a_load_gets_each_new_token_before_the_last_one_ends() {
    let (bench, world) = (bench(), world(None));
    let (ended, _) = bench.run(&world, Then::Nothing).await;
    assert_eq!(ended.unwrap(), Ended::Finished);
    let (given, replaced) = {
        let world = world.borrow();
        let tokens: Vec<String> = world.replaced.iter().map(token_in).collect();
        (world.tokens.0, tokens)
    };
    // Of each trial all but the first are renewals, one in 0.8 s.
    assert!((6..=14).contains(&given), "{given}");
    assert_eq!(replaced.len() as u64, given - 2, "{replaced:?}");
    let mut increasing = replaced.clone();
    increasing.dedup();
    assert_eq!(increasing, replaced);
    for trial in bench.results().trials {
        assert_eq!(trial.info.end, TrialEnd::Completed);
    }
}

#[tokio::test(start_paused = true)]
async fn a_token_that_is_not_renewed_fails_the_trial_when_it_has_ended() {
    let (bench, world) = (bench(), world(None));
    world.borrow_mut().tokens.1 = 2;
    let (ended, _) = bench.run(&world, Then::Nothing).await;
    assert_eq!(ended.unwrap(), Ended::Finished);
    let trials = bench.results().trials;
    let ends: Vec<(PhaseName, &str)> = trials
        .iter()
        .map(|trial| match &trial.info.end {
            TrialEnd::Failed { phase, reason, .. } => (*phase, &**reason),
            TrialEnd::Completed => panic!("{:?}", trial.info),
        })
        .collect();
    let late = "/token of endpoint records gave no token before the last one expired: it answered with status 503";
    let none = "/token of endpoint records gave no token: it answered with status 503";
    assert_eq!(
        ends,
        [(PhaseName::Measure, late), (PhaseName::Verify, none)]
    );
    assert_eq!(world.borrow().replaced.len(), 1);
}
