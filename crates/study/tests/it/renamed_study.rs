//! Keys and words of studies of earlier versions: each is refused with an error that says what it is called now, and with no
//! other.

use waggle_study::{read_scenario, read_study};

use super::{check_renamed, source, system};

const LOAD: &str = r#"
study: shop
question: How many orders per second?
system: { use: shop }
load:
  model: users
  users: 2
  think: 1s # think_time
  cpus: [1] # cpuset
  request:
    name: order
    put: /orders
    to: front # endpoint
    records:
      from: orders.lp # file
      as: json # send_as
schedule:
  ready: { at_most: 3s } # ready_timeout: DURATION
  fresh: # restart
    cell #= every_cell
  warm_up:
    until: time #= warm_up: DURATION, or duration in place of until
    at_most: 5s # timeout, and with until: time the whole is warm_up: DURATION
    first: # ramp_up
      users: 1
      for: 1s # duration
  measure: 3s
  recovery:
    users: 1
    p99: 1s
    at_most: 10s # duration
  drain:
    at_most: 4s # timeout
    quiet: 1s # quiet_period
disturb: # faults
  - kill: front
    at: 1s
    again_after: 1s # restart_after
measure:
  interval: 250ms # schedule.interval
  resources: 250ms # schedule.sampling_interval
  delivery: # delivery at the top level
    at: store # probes
    poll: 100ms # poll_interval
    late_after: 1s # late_threshold
published: # reference
  title: Table 1
  source: A machine.
  from: table.csv # file
  by: workers # match_on
  columns:
    - column: per_s
      number: order.goodput # metric
noisy_above: 0.2 # schedule.repeat.max_ci_width
thresholds: [delivery.missing == 0]
"#;

const SEARCH: &str = r#"
study: shop
question: How many orders per second?
system:
  use: shop
  insecure: true # system.tls.insecure_skip_verify
  verify: false # smoke_test
load:
  model: open
  request: { name: order, get: /orders, endpoint: front }
schedule:
  fresh: # restart
    trial #= every_trial
  measure:
    requests: 1000
    at_most: 10s # timeout
find: # search
  rate: highest # maximize: rate
  users: highest # maximize: users
  connections: highest # maximize: connections
  where: [order.failed == 0] # conditions
  from: 100/s # start
  at_least: 10/s # min
  at_most: 1000/s # max
  confirm: 2 # confirmations
  trials_at_most: 10 # max_trials
"#;

/// A whole study, whose scenario begins with the line after `scenario:`.
const SESSIONS: &str = r#"
study: shop
question: How many sessions per second?
system: { use: shop }
load:
  model: users
  users: 2
  scenario:
    name: shopping
    to: front # endpoint
    on_failure: go_on #= continue
    flows:
      - name: buy
        steps:
          - name: look
            get: /orders
            on_failure: end #= end_session
            check:
              - of: status # part
                equals: 200
          - think: 1s # think_time
          - repeat: 2
            steps:
              - { name: again, get: /again }
              - think: 1s # think_time
schedule: { measure: 3s }
"#;

#[test]
fn each_old_key_of_a_study_names_the_new_one() {
    for text in [LOAD, SEARCH, SESSIONS] {
        let text = source("study.yaml", text);
        let mistakes = read_study(&text, &system()).expect_err("its keys are old");
        check_renamed(&text, &mistakes);
    }
}

#[test]
fn each_old_key_of_a_scenario_names_the_new_one() {
    let (_, scenario) = SESSIONS.split_once("  scenario:\n").expect("it is there");
    let (scenario, _) = scenario.split_once("schedule:").expect("it ends there");
    let lines = scenario.lines().filter(|line| !line.contains("to: front"));
    let lines: Vec<_> = lines
        .map(|line| line.strip_prefix("    ").unwrap_or(line))
        .collect();
    let text = source("scenario.yaml", lines.join("\n"));
    let no_files = |name: &str| Err(format!("there is no {name}"));
    let mistakes = read_scenario(&text, &no_files).expect_err("its keys are old");
    check_renamed(&text, &mistakes);
}
