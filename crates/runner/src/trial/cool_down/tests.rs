//! Waits with values that follow a script and a paused clock; files and commands with real ones.

use std::{fs, path::Path, time::Duration};

use tokio::time::Instant;
use waggle_study::{CoolDownBound, CoolDownUntil, Sensor};
use waggle_system::{http::client::HttpConnection, problem::Problem};

use super::{Reader, command, files, remark, wait};

fn make_until(sensor: Sensor, scale: f64, bound: CoolDownBound) -> CoolDownUntil {
    CoolDownUntil {
        sensor,
        scale,
        bound,
        poll_interval: Duration::from_secs(5),
    }
}

/// Waits with these readings, one after the other; the last one stays.
async fn wait_with(readings: &[Result<f64, &str>]) -> (waggle_results::CoolDownInfo, usize) {
    let until = make_until(
        Sensor::File("/temp".to_owned()),
        0.001,
        CoolDownBound::Below(60.0),
    );
    let mut count = 0;
    let info = wait(&until, Duration::from_secs(12), async || {
        let reading = readings[count.min(readings.len() - 1)];
        count += 1;
        reading.map_err(|why| Problem(why.to_owned()))
    });
    let info = info.await;
    (info, count)
}

#[tokio::test(start_paused = true)]
async fn it_ends_once_the_bound_holds() {
    let (info, readings) = wait_with(&[Ok(71.0), Ok(60.0), Ok(59.9)]).await;
    assert!(info.is_reached && info.problem.is_none(), "{info:?}");
    assert_eq!((info.waited_s, readings), (10.0, 3));
    assert_eq!(info.value, Some(59.9));
    let (info, readings) = wait_with(&[Ok(50.0)]).await;
    assert_eq!((info.waited_s, readings), (0.0, 1));
}

#[tokio::test(start_paused = true)]
async fn its_time_has_an_end() {
    let (info, readings) = wait_with(&[Ok(71.300_000_000_000_01)]).await;
    assert!(!info.is_reached);
    // After 0, 5, 10 and 12 seconds.
    assert_eq!((info.waited_s, readings), (12.0, 4));
    let until = make_until(
        Sensor::File("/temp".to_owned()),
        0.001,
        CoolDownBound::Below(60.0),
    );
    let expected = "the cool-down after this trial ended at its timeout, after 12.0 s: /temp × 0.001 was 71.3, not below 60";
    assert_eq!(remark(&until, &info).as_deref(), Some(expected));
}

#[tokio::test(start_paused = true)]
async fn a_failed_reading_does_not_end_it() {
    let (info, _) = wait_with(&[Err("it is gone"), Ok(50.0)]).await;
    assert!(info.is_reached && info.problem.is_none(), "{info:?}");
    let (info, _) = wait_with(&[Ok(80.0), Err("it is gone")]).await;
    assert_eq!(
        (info.value, info.problem.as_deref()),
        (None, Some("it is gone"))
    );
    assert!(!info.is_reached);
}

#[test]
fn patterns_match_within_a_name() {
    let check = |pattern: &str, name: &str, expected: bool| {
        assert_eq!(files::matches(pattern, name), expected, "{pattern} {name}");
    };
    check("thermal_zone*", "thermal_zone0", true);
    check("thermal_zone*", "thermal_zone", true);
    check("thermal_zone*", "cooling_device0", false);
    check("temp?_input", "temp1_input", true);
    check("temp?_input", "temp_input", false);
    check("*_*put", "temp10_input", true);
    check("*", ".hidden", false);
    check("", "", true);
}

/// Of several files the one that is farthest from the bound counts.
#[tokio::test]
async fn all_files_count() {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| {
        let zone = folder.path().join(name);
        fs::create_dir_all(&zone).unwrap();
        fs::write(zone.join("temp"), text).unwrap();
    };
    put("zone0", "41000\n");
    put("zone1", "63500\n");
    put("other", "99000\n");
    let pattern = format!("{}/zone*/temp", folder.path().display());
    let check = async |scale: f64, bound: CoolDownBound, expected: Result<f64, &str>| {
        let until = make_until(Sensor::File(pattern.clone()), scale, bound);
        let mut reader = Reader::<HttpConnection>::new(&until, None, None);
        let expected = expected.map_err(|why| Problem(why.to_owned()));
        assert_eq!(reader.read().await, expected, "{until:?}");
    };
    check(1.0, CoolDownBound::Below(1.0), Ok(63_500.0)).await;
    check(1.0, CoolDownBound::Above(1.0), Ok(41_000.0)).await;
    // A negative scale turns them round.
    check(-1.0, CoolDownBound::Below(1.0), Ok(-41_000.0)).await;
    put("zone2", "hot\n");
    let text = format!(
        "{}/zone2/temp does not begin with a number",
        folder.path().display()
    );
    check(1.0, CoolDownBound::Below(1.0), Err(&text)).await;
    let missing = format!("{}/zone*/humidity", folder.path().display());
    let expected = Problem(format!("no file is {missing}"));
    assert_eq!(files::read(&missing), Err(expected));
}

fn shell(script: &str) -> Vec<String> {
    ["sh", "-c", script].map(str::to_owned).to_vec()
}

#[tokio::test]
async fn a_command_prints_a_number() {
    let limit = Duration::from_secs(60);
    let read = async |script: &str| command::read(&shell(script), limit).await;
    assert_eq!(read("echo 42.5 degrees").await, Ok(42.5));
    let failed = read("echo 42; exit 3").await.unwrap_err().to_string();
    assert!(failed.ends_with("ended with exit status: 3"), "{failed}");
    let text = read("echo hot").await.unwrap_err().to_string();
    assert!(text.ends_with("does not begin with a number"), "{text}");
    let missing = ["/no/such/program".to_owned()];
    let missing = command::read(&missing, limit)
        .await
        .unwrap_err()
        .to_string();
    assert!(
        missing.starts_with("cannot start /no/such/program"),
        "{missing}"
    );
}

/// The process with this id in a file has ended, or ends now.
async fn has_ended(file: &Path) -> bool {
    let limit = Instant::now() + Duration::from_secs(60);
    while Instant::now() < limit {
        let text = fs::read_to_string(file).unwrap_or_default();
        let pid = text.trim().parse::<u32>();
        if pid.is_ok_and(|pid| !waggle_system::host::proc::runs(pid)) {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    false
}

/// Neither a command that takes too long nor what it has started stays.
#[tokio::test]
async fn nothing_stays_of_a_command() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let script = format!("sleep 600 & echo $! > {}; wait", file.display());
    let outcome = command::read(&shell(&script), Duration::from_secs(2)).await;
    let outcome = outcome.unwrap_err().to_string();
    assert!(outcome.ends_with("took longer than 2 s"), "{outcome}");
    assert!(has_ended(&file).await);
    // Nor of one whose reading is given up, as by Ctrl-C.
    fs::remove_file(&file).unwrap();
    let command = shell(&script);
    {
        let reading = command::read(&command, Duration::from_secs(600));
        tokio::pin!(reading);
        while fs::read_to_string(&file).map_or(true, |text| text.trim().is_empty()) {
            let tick = tokio::time::sleep(Duration::from_millis(20));
            tokio::select! {
                outcome = &mut reading => panic!("{outcome:?}"),
                () = tick => {}
            }
        }
    }
    assert!(has_ended(&file).await);
}

#[tokio::test]
async fn this_machine_has_a_load_average_and_idle_time() {
    let check = async |sensor: Sensor, most: f64| {
        let until = make_until(sensor, 1.0, CoolDownBound::AtMost(most));
        let mut reader = Reader::<HttpConnection>::new(&until, None, None);
        let value = reader.read().await.unwrap();
        assert!((0.0..=most).contains(&value), "{until:?} {value}");
    };
    check(Sensor::LoadAverage, 1e6).await;
    check(Sensor::IdleCpu, 1.0).await;
}
