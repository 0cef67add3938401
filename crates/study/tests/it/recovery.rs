//! The load after the measured phase, and its control in the warm-up.

use std::time::Duration;

use super::accepted::read_valid_study;

#[test]
fn a_load_drop_has_a_level_in_each_cell() {
    let study = read_valid_study(&[
        ("connections: [2, 10]", "after: [5/s, 50/s]"),
        ("model: closed", "model: open\n  rate: 100/s"),
        ("  connections: ${connections}\n", ""),
        ("until: steady, timeout: 2s", "duration: 2s"),
        (
            "measure: 3s",
            "measure: 3s\n  recovery: { rate: \"${after}\", p99: 250ms, duration: 30s }",
        ),
        ("order.response_time.p99 < 50ms", "recovery_time < 5s"),
    ]);
    let recovery = |cell: usize| study.cells[cell].schedule.recovery.unwrap();
    assert_eq!((recovery(0).level, recovery(4).level), (5.0, 50.0));
    assert_eq!(recovery(0).p99, Duration::from_millis(250));
    assert_eq!(recovery(0).duration, Duration::from_secs(30));
    assert_eq!(study.thresholds[1].metric, ["recovery_time"]);
    assert_eq!(study.thresholds[1].value, 5e6);

    let users = read_valid_study(&[
        (
            "connections: [2, 10]\n  pipelining: [1, 4]\n",
            "load: [10, 20]\n",
        ),
        (
            "model: closed",
            "model: users\n  think_time: 1s\n  users: ${load}",
        ),
        (
            "  connections: ${connections}\n  pipelining: ${pipelining}\n",
            "",
        ),
        ("until: steady, timeout: 2s", "duration: 2s"),
        (
            "measure: 3s",
            "measure: 3s\n  recovery: { users: 10, p99: 250ms, duration: 30s }",
        ),
    ]);
    let levels = users.cells.iter().map(|cell| cell.schedule.recovery);
    assert!(levels.flatten().all(|recovery| recovery.level == 10.0));
    assert!(
        users
            .cells
            .iter()
            .all(|cell| cell.schedule.control().is_none())
    );
}

/// The control is between the ramp-up and an interval of 250 ms at the load's own level, at least.
#[test]
fn a_control_has_its_place_in_the_warm_up() {
    let control = |warm_up: &str, control: &str| {
        let recovery = format!(
            "measure: 3s\n  recovery: {{ rate: 5/s, p99: 250ms, duration: 30s, control: {control} }}"
        );
        let study = read_valid_study(&[
            ("model: closed", "model: open\n  rate: 100/s"),
            ("until: steady, timeout: 2s", warm_up),
            ("measure: 3s", &recovery),
        ]);
        let interval = study.cells[0].schedule.control();
        interval.map(|(from, to)| (from.as_millis(), to.as_millis()))
    };
    assert_eq!(control("duration: 2s", "1500ms"), Some((0, 1_500)));
    let ramp_up = "duration: 2s, ramp_up: { rate: 50/s, duration: 500ms }";
    assert_eq!(control(ramp_up, "1250ms"), Some((500, 1_750)));
}
