//! What reaches disk and screen, from seeded data, against golden files. `UPDATE_GOLDEN=1` rewrites them.
// long: one test for each form of a report, all against golden files.

use std::{fs, path::PathBuf};

use waggle_analysis::Number;
use waggle_metrics::{Metric, NamedMetric};
use waggle_stats::Verdict;

use crate::{
    catalogue::fields,
    html,
    seeded::{Cluster, Seeded, Wrong},
    seeded_model,
};
use waggle_report::{csv, effects_csv, markdown, report_json, terminal};

pub(crate) fn check(written: &str, golden: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/report/golden")
        .join(golden);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, written).expect("the golden file can be written");
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    let differs = written
        .lines()
        .zip(expected.lines())
        .find(|(written, expected)| written != expected);
    assert!(
        written == expected,
        "{golden} is not what was written; UPDATE_GOLDEN=1 accepts it. First difference: {differs:#?}"
    );
}

#[test]
fn the_ingest_study() {
    let model = seeded_model(&Seeded::ingest());
    check(&csv(&model), "ingest.csv");
    check(&markdown(&model), "ingest.md");
    check(
        &format!("{}\n", terminal(&model, None)),
        "ingest.terminal.txt",
    );
}

#[test]
fn a_scenario() {
    let model = seeded_model(&Seeded::shopping_study());
    check(&csv(&model), "shopping.csv");
    check(&markdown(&model), "shopping.md");
    check(
        &format!("{}\n", terminal(&model, None)),
        "shopping.terminal.txt",
    );
    let page = html(&model);
    assert!(page.contains("id=\"steps\"") && page.contains("id=\"step-spectrum\""));
    let other = html(&seeded_model(&Seeded::plain(&[], 1)));
    assert!(!other.contains("id=\"steps\"") && !other.contains("table-steps"));
}

#[test]
fn intermediate_probes_and_system_metrics() {
    let model = seeded_model(&Seeded::pipeline());
    check(&csv(&model), "pipeline.csv");
    check(&markdown(&model), "pipeline.md");
    let page = html(&model);
    for there in [
        "id=\"time-metric-0\"",
        "backlog, broker",
        "arrival p99",
        "Intermediate probe",
    ] {
        assert!(page.contains(there), "{there}");
    }
    let other = html(&seeded_model(&Seeded::plain(&[], 1)));
    assert!(!other.contains("id=\"time-metric-0\"") && !other.contains("Intermediate probe"));
}

#[test]
fn limits_of_components() {
    let limited = Seeded {
        has_limits: true,
        wrong: vec![(2, Wrong::Fails)],
        ..Seeded::plain(&[("connections", &["10", "50"])], 1)
    };
    let text = markdown(&seeded_model(&limited));
    let table = text.split("Limits of components").nth(1);
    let table = table.expect("there is such a table");
    let rows: Vec<&str> = table
        .lines()
        .filter(|line| line.contains("MiB by"))
        .collect();
    let limit = "0.16 CPUs, 512 MiB by cgroup v2";
    assert_eq!(rows.len(), 2, "{table}");
    assert!(
        rows[0].contains(limit) && rows[0].contains("25"),
        "{rows:?}"
    );
    // A cell whose only trial failed has its limits, and no throttling.
    assert!(
        rows[1].contains(limit) && !rows[1].contains("25"),
        "{rows:?}"
    );
    assert!(html(&seeded_model(&limited)).contains("table-component-limits"));
    let bottleneck = "The bottleneck is the CPU limit of gateway: it used 0.150 of the 0.160 CPUs that it may use.";
    assert!(text.contains(bottleneck), "{text}");
    let other = markdown(&seeded_model(&Seeded::plain(&[], 1)));
    assert!(!other.contains("Limits of components"));
}

#[test]
fn a_gateway_that_is_killed_on_purpose() {
    let model = seeded_model(&Seeded::with_kill());
    check(&csv(&model), "killed.csv");
    check(&markdown(&model), "killed.md");
    let [faults] = &model.faults[..] else {
        panic!("{:?}", model.faults);
    };
    assert_eq!((faults.cell, faults.each.len()), (2, 1));
    let outage_us = faults.outage_us.as_ref().map(|outage| outage.point.round());
    assert_eq!(outage_us, Some(750e3));
    assert!(!faults.outage_to_the_end);
    // The table shows what a condition is held against.
    for (metric, shown) in [
        (Metric::LongestOutage, faults.outage_us),
        (Metric::TimeToReady, faults.each[0].ready_after_us),
    ] {
        let held = model.number_of_cell(&NamedMetric::of_all(metric), faults.cell);
        assert_eq!(shown.map(|one| one.point), held.map(Number::point));
    }
    // Missing records are a finding, the outage is none.
    let verdicts: Vec<Verdict> = model.cells.iter().filter_map(|cell| cell.verdict).collect();
    assert_eq!(verdicts, [Verdict::Valid, Verdict::Incomplete]);
    let page = html(&model);
    for there in [
        "href=\"#faults\"",
        "id=\"table-faults\"",
        "[\"kill of gateway-0\",2.501,3.22]",
    ] {
        assert!(page.contains(there), "{there}");
    }
    let other = html(&seeded_model(&Seeded::plain(&[], 1)));
    assert!(!other.contains("#faults\"") && !other.contains("id=\"table-faults\""));
    assert!(!other.contains("\"faults\":"));
}

/// The seeded kill costs 30 requests a trial, at any level.
#[test]
fn a_kill_in_a_search_is_told_of_the_trials_at_the_answer() {
    let model = seeded_model(&Seeded {
        wrong: vec![(2, Wrong::Killed)],
        ..Seeded::search()
    });
    let tried = model.trials_of(2).count();
    let holding = model.cells[1].counted;
    assert!(holding > 0 && holding < tried, "{holding} of {tried}");
    let [faults] = &model.faults[..] else {
        panic!("{:?}", model.faults);
    };
    assert_eq!(faults.failed, 30 * holding as u64);
    assert_eq!(faults.outage_us.map(|outage| outage.count), Some(holding));
    assert!(markdown(&model).contains("summed over the trials at the highest holding level."));
}

/// What was down stands in the table of trials; there is nothing to say of what came of it.
#[test]
fn kills_in_trials_that_failed_have_no_section() {
    let model = seeded_model(&Seeded {
        wrong: vec![(2, Wrong::DiesWhenKilled)],
        ..Seeded::with_kill()
    });
    assert_eq!(model.cells[1].verdict, Some(Verdict::Failed));
    assert_eq!(
        model
            .trials_of(2)
            .filter(|trial| trial.faults.is_some())
            .count(),
        3
    );
    let page = html(&model);
    assert!(!page.contains("#faults\"") && !page.contains("id=\"faults\""));
    assert!(
        page.contains("gateway-0 1.00 s to –"),
        "the table of trials"
    );
    assert!(!markdown(&model).contains("## Fault injection"));
}

#[test]
fn effects_of_three_factors() {
    let model = seeded_model(&Seeded::writers());
    check(&markdown(&model), "writers.md");
    let effects = model.effects.as_ref().expect("the grid is complete");
    check(&effects_csv(effects), "writers.effects.csv");
    let page = html(&model);
    for there in [
        "href=\"#effects\"",
        "id=\"effects-levels\"",
        "id=\"table-effects-shares\"",
    ] {
        assert!(page.contains(there), "{there}");
    }
    let other = html(&seeded_model(&Seeded::plain(&[], 1)));
    assert!(!other.contains("id=\"effects") && !other.contains("table-effects"));
}

#[test]
fn two_transports_over_users() {
    let model = seeded_model(&Seeded::transports());
    check(&markdown(&model), "transports.md");
    let page = html(&model);
    for there in [
        "href=\"#curves\"",
        "href=\"#comparison\"",
        "id=\"curve-0\"",
        "id=\"curve-kinds\"",
        "id=\"compare-0-3\"",
        "id=\"table-curves\"",
        "id=\"table-comparison\"",
        "Dashed lines with crosses",
    ] {
        assert!(page.contains(there), "{there}");
    }
    assert!(
        !page.contains("id=\"lines\""),
        "the curves take their place"
    );
    let other = html(&seeded_model(&Seeded::ingest()));
    assert!(!other.contains("id=\"curve") && !other.contains("id=\"compar"));
    assert!(other.contains("id=\"lines\""));
}

#[test]
fn a_search() {
    let model = seeded_model(&Seeded::search());
    assert!(model.curves.is_none() && model.comparisons.is_empty());
    check(&csv(&model), "search.csv");
    check(&markdown(&model), "search.md");
    check(
        &format!("{}\n", terminal(&model, None)),
        "search.terminal.txt",
    );
    let ends: Vec<_> = model
        .search
        .iter()
        .flat_map(|find| &find.cells)
        .map(|search| search.answer.end.name())
        .collect();
    assert_eq!(ends, ["found", "found", "instrument-limited", "never-met"]);
}

#[test]
fn cells_at_shares_of_their_capacities() {
    let model = seeded_model(&Seeded::operating_points());
    check(&markdown(&model), "operating-points.md");
    check(
        &format!("{}\n", terminal(&model, None)),
        "operating-points.terminal.txt",
    );
    let page = html(&model);
    for there in ["href=\"#operating-points\"", "id=\"operating-point-1\""] {
        assert!(page.contains(there), "{there}");
    }
    let table = csv(&model);
    let mut lines = table.lines();
    let heads: Vec<&str> = lines.next().unwrap().split(',').collect();
    let column = heads.iter().position(|head| *head == "operating_share");
    let of_go = lines.filter(|line| line.starts_with("2,"));
    let at_half = of_go.filter(|line| line.split(',').nth(column.unwrap()) == Some("0.5"));
    assert_eq!(at_half.count(), 3);
    let json: serde_json::Value = serde_json::from_str(&report_json(&model)).unwrap();
    let [half, _] = json["operating_points"].as_array().unwrap().as_slice() else {
        panic!("{json}");
    };
    assert_eq!(half["share"], 0.5);
    let cells = half["cells"].as_array().unwrap();
    assert_eq!(cells[4]["search_ended"], "silent");
    assert!(cells[4]["result"].is_null() && cells[4]["level"].is_null());
    let capacity = cells[1]["capacity"].as_f64().unwrap();
    assert_eq!(
        cells[1]["level"].as_f64().unwrap(),
        (capacity / 2.0).round()
    );
    assert_eq!(cells[1]["result"]["trials"]["counted"], 3);
    let other = html(&seeded_model(&Seeded::search()));
    assert!(!other.contains("#operating-points") && !other.contains("\"operating_points\":"));
}

#[test]
fn a_load_that_drops() {
    let model = seeded_model(&Seeded::overload());
    check(&csv(&model), "overload.csv");
    check(&markdown(&model), "overload.md");
    let page = html(&model);
    for there in [
        "href=\"#recovery\"",
        "id=\"table-recovery\"",
        "recovery 4.50 to 7.50",
    ] {
        assert!(page.contains(there), "{there}");
    }
    let other = html(&seeded_model(&Seeded::plain(&[], 1)));
    assert!(!other.contains("#recovery") && !other.contains("table-recovery"));
}

#[test]
fn pods_on_the_nodes_of_a_cluster() {
    let text = markdown(&seeded_model(&Seeded::in_cluster(Cluster::Agents)));
    assert_eq!(
        text.matches("## Nodes of the system\n").count(),
        1,
        "{text}"
    );
    let agents = text.lines().find(|line| line.starts_with("- **Agents**"));
    let pinning = text
        .lines()
        .find(|line| line.starts_with("- **CPU pinning**"));
    let shown = [
        part(&text, "\n## Resource use\n"),
        part(&text, "\n## Nodes of the system\n"),
        agents.unwrap_or_default(),
        pinning.unwrap_or_default(),
        "",
    ];
    check(&shown.join("\n\n"), "cluster.md");
}

/// Each trial says what its agents had beside them.
#[test]
fn a_node_that_agent_and_system_share_is_a_remark_of_the_trial() {
    let model = seeded_model(&Seeded::in_cluster(Cluster::Agents));
    for trial in &model.trials {
        let remarks = trial.remarks.iter().map(|remark| format!("{remark:?}"));
        let shared: Vec<String> = remarks.filter(|text| text.contains("NodeShared")).collect();
        let [shared] = &shared[..] else {
            panic!("{shared:?}");
        };
        assert!(
            shared.contains("number: 1,") && shared.contains("load/gateway-0"),
            "{shared}"
        );
    }
    assert!(html(&model).contains("shared its node with the system (load/gateway-0)"));
}

/// Kubelets look less often than waggle.
#[test]
fn numbers_of_kubelets_have_their_resolution_beside_them() {
    let model = seeded_model(&Seeded::in_cluster(Cluster::Agents));
    let json: serde_json::Value = serde_json::from_str(&report_json(&model)).unwrap();
    assert_eq!(json["kubelet_readings"]["shortest_s"], 1.0);
    assert_eq!(json["kubelet_readings"]["longest_s"], 1.0);
    let validator = jsonschema::validator_for(&waggle_report::report_schema().to_value()).unwrap();
    assert!(validator.is_valid(&json));
    let other = report_json(&seeded_model(&Seeded::plain(&[], 1)));
    assert!(!other.contains("kubelet_readings"));
}

#[test]
fn the_runner_that_makes_the_load_is_on_a_node() {
    let nodes = |cluster| {
        let text = markdown(&seeded_model(&Seeded::in_cluster(cluster)));
        part(&text, "\n## Nodes of the system\n").to_owned()
    };
    let here = nodes(Cluster::Runner);
    assert!(
        here.contains("| node-3 | kafka-1 (5 of 6 trials) | made the load |"),
        "{here}"
    );
    let elsewhere = nodes(Cluster::Outside);
    assert!(
        elsewhere.contains("The runner, which made the load, was on bench-1"),
        "{elsewhere}"
    );
    assert!(!elsewhere.contains("made the load |"), "{elsewhere}");
}

/// The part of a page below a heading.
fn part<'a>(page: &'a str, heading: &str) -> &'a str {
    let (_, from) = page.split_once(heading).expect("there is the heading");
    from.split("\n## ").next().unwrap_or_default().trim()
}

#[test]
fn a_load_that_drops_with_a_control() {
    let model = seeded_model(&Seeded::overload_with_control());
    let page = markdown(&model);
    let schedule = page.lines().find(|line| line.starts_with("- **Schedule**"));
    let shown = [
        part(&page, "\n## Recovery\n"),
        part(&page, "\n## Thresholds\n"),
        schedule.unwrap_or_default(),
        "",
    ];
    check(&shown.join("\n\n"), "overload-control.md");
    let table = csv(&model);
    let mut rows = table.lines().map(fields);
    let heads = rows.next().unwrap();
    let columns = [
        "recovered",
        "recovery_control_bad",
        "recovery_control_intervals",
    ];
    let columns = columns.map(|name| heads.iter().position(|head| *head == name).unwrap());
    let rows: Vec<_> = rows
        .filter(|row| row[1] == "1")
        .map(|row| columns.map(|column| row[column].clone()))
        .collect();
    let expected = [
        ["true", "1", "5"],
        ["", "4", "5"],
        ["", "4", "5"],
        ["false", "0", "5"],
    ];
    assert_eq!(rows, expected);
}

#[test]
fn the_best_and_the_worst_trials() {
    let model = seeded_model(&Seeded::few_technologies());
    let text = markdown(&model);
    let shown = [
        "Failures: least and most",
        "Successes of the best and of the worst trial",
        "Best and worst trials",
    ];
    let shown: Vec<&str> = shown.iter().map(|heading| part(&text, heading)).collect();
    let sentences = part(&text, "\n## Best and worst\n");
    check(
        &format!("{sentences}\n\n{}\n", shown.join("\n\n")),
        "best-and-worst.md",
    );
    check(
        &format!("{}\n", terminal(&model, None)),
        "best-and-worst.terminal.txt",
    );
    let table = csv(&model);
    let rows: Vec<Vec<String>> = table.lines().map(fields).collect();
    let column = rows[0].iter().position(|head| *head == "best_and_worst");
    let cell_rows = rows.iter().filter(|row| row[0] == "1");
    let ends: Vec<&str> = cell_rows.map(|row| row[column.unwrap()].as_str()).collect();
    assert_eq!(
        ends.iter().filter(|end| **end == "best").count(),
        1,
        "{ends:?}"
    );
    assert_eq!(
        ends.iter().filter(|end| **end == "worst").count(),
        1,
        "{ends:?}"
    );
    let page = html(&model);
    for there in ["href=\"#best-and-worst\"", "table-least-and-most-failures"] {
        assert!(page.contains(there), "{there}");
    }
    let other = html(&seeded_model(&Seeded::plain(&[], 1)));
    assert!(!other.contains("best-and-worst\""));
}

#[test]
fn levels_that_are_words_are_ranked() {
    let model = seeded_model(&Seeded::few_technologies());
    let text = markdown(&model);
    let shown = [
        part(&text, "\n## Ranking\n"),
        part(&text, "## Ranked levels\n"),
        "",
    ];
    check(&shown.join("\n\n"), "ranking.md");
    let [ranking] = &model.rankings[..] else {
        panic!("{:?}", model.rankings);
    };
    let levels: Vec<&str> = ranking.outcomes[0]
        .levels
        .iter()
        .map(|level| level.level.as_str())
        .collect();
    assert_eq!(levels, ["ktor", "micronaut", "flask-uwsgi", "tornado"]);
    // Numbers have curves.
    assert!(seeded_model(&Seeded::ingest()).rankings.is_empty());
}

#[test]
fn nine_levels_have_small_multiples() {
    let check = |levels: &[&str], expected: bool| {
        let factors: [(&str, &[&str]); 2] =
            [("pipelining", levels), ("connections", &["10", "50"])];
        let page = html(&seeded_model(&Seeded::plain(&factors, 1)));
        assert_eq!(page.contains("id=\"multiples\""), expected, "{levels:?}");
        assert_eq!(page.contains("\"multiples\":true"), expected, "{levels:?}");
    };
    check(&["1", "2", "3", "4", "5", "6", "7", "8"], false);
    check(&["1", "2", "3", "4", "5", "6", "7", "8", "9"], true);
}

#[test]
fn a_single_run() {
    let model = seeded_model(&Seeded::plain(&[], 1));
    check(&markdown(&model), "single.md");
    check(
        &format!("{}\n", terminal(&model, None)),
        "single.terminal.txt",
    );
}

#[test]
fn a_run_that_was_cut_short() {
    let model = seeded_model(&Seeded {
        ran: Some(17),
        ..Seeded::ingest()
    });
    check(&format!("{}\n", terminal(&model, None)), "cut.terminal.txt");
}

#[test]
fn hostile_texts() {
    let model = seeded_model(&Seeded::hostile());
    check(&csv(&model), "hostile.csv");
    check(&markdown(&model), "hostile.md");
    let page = waggle_report::html(&model);
    // Ours and the charts' are all there are: no text of the study opened or closed a script.
    let scripts = page.matches("<script").count();
    assert_eq!(scripts, page.matches("</script>").count());
    assert_eq!(
        scripts,
        waggle_report::html(&seeded_model(&Seeded::plain(&[], 1)))
            .matches("<script")
            .count()
    );
    let (_, body) = page.split_once("<body>").unwrap();
    let ours = body.split("<script").next().unwrap_or_default();
    assert!(!ours.contains("<img") && !ours.contains("<b>"));
}

#[test]
fn methodology_has_the_range_of_repetitions() {
    let mut model = seeded_model(&Seeded::plain(&[("size", &["1", "2"])], 3));
    assert!(markdown(&model).contains("3 repetitions on"));
    model.info.schedule.repeat_max = Some(8);
    let text = markdown(&model);
    assert!(text.contains("3 to 8 repetitions on"), "{text}");
    assert!(text.contains("trials added: 0"), "{text}");
}

/// The page of each trial: where links lead, what the trial said, and the ends of its logs within what all of them may take.
#[test]
fn each_trial_has_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    Seeded {
        has_broker: true,
        ..Seeded::plain(&[("connections", &["10", "50"])], 2)
    }
    .write(&run);
    let trials = fs::read_dir(run.join("trials")).unwrap();
    for trial in trials {
        let logs = trial.unwrap().path().join("logs");
        let long = format!("<b>started</b>\n{}\nlast line\n", "x".repeat(500));
        fs::write(logs.join("gateway-0.log"), long).unwrap();
        fs::write(logs.join("quiet.log"), "\n").unwrap();
    }
    let page = html(&waggle_analysis::model(
        &waggle_results::Run::read(&run).unwrap(),
    ));
    let ids = ["c01-r1", "c01-r2", "c02-r1", "c02-r2"].map(|place| format!("trial-{place}"));
    for id in &ids {
        assert!(page.contains(&format!("<article class=\"page\" id=\"{id}\"")));
        assert!(page.contains(&format!("href=\"#{id}\"")), "{id}");
    }
    let (_, first) = page.split_once(&format!("id=\"{}\"", ids[0])).unwrap();
    let (first, _) = first.split_once("</article>").unwrap();
    assert!(first.contains("End of gateway-0.log") && !first.contains("quiet.log"));
    assert!(first.contains("&lt;b&gt;started") && first.contains("last line"));
    assert!(!first.contains(&"x".repeat(201)), "a line is cut");
    assert!(first.contains("Time series as a table") && first.contains("what the system said"));
    assert!(!first.contains("previous:") && first.contains(&format!("#{}", ids[1])));
}

/// With room for trials that are twenty times as long.
#[test]
fn a_page_of_a_hundred_trials_is_below_two_megabytes() {
    let levels: Vec<String> = (1..=25).map(|level| level.to_string()).collect();
    let levels: Vec<&str> = levels.iter().map(String::as_str).collect();
    let model = seeded_model(&Seeded::plain(&[("connections", &levels)], 4));
    let page = waggle_report::html(&model);
    assert!(page.len() < 1_200_000, "{} bytes", page.len());
}
