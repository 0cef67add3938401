//! The list, a run, its report, comparisons, histories and notes, of runs that `waggle import` made.

use std::{fs, os::unix::fs::symlink, path::Path};

use super::{Served, attribute, list_names};
use crate::{
    comparisons::history::{change_info, run_folders, workspace},
    workspace::Workspace,
};

fn name(folder: &Path) -> String {
    folder.file_name().unwrap().to_str().unwrap().to_owned()
}

fn names(workspace: &Workspace) -> Vec<String> {
    run_folders(workspace).iter().map(|run| name(run)).collect()
}

#[test]
fn the_list_has_every_run_with_its_answer_and_the_address_has_filter_and_order() {
    let workspace = workspace(3, &[]);
    change_info(&run_folders(&workspace)[1], |info| {
        info["host"]["name"] = "elsewhere".into();
    });
    let names = names(&workspace);
    let served = Served::start(&workspace, &["runs"]);
    let page = served.page("/");
    let newest_first: Vec<String> = names.iter().rev().cloned().collect();
    assert_eq!(list_names(&page), newest_first);
    for part in [
        "nightly",
        "1 cell",
        "fast",
        "elsewhere",
        "2026-01-01 00:00",
        "imported from",
        "waggle 0.1.0",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let report = fs::read_to_string(run_folders(&workspace)[0].join("report.json")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let answer = report["answer"][0].as_str().unwrap();
    assert!(page.contains(&answer.replace('&', "&amp;")), "{answer}");
    let verdict = report["cells"][0]["verdict"].as_str().unwrap();
    assert!(page.contains(&format!("badge {verdict}\"")) || page.contains("badge doubtful"));

    assert_eq!(list_names(&served.page("/?order=reversed")), names);
    assert_eq!(list_names(&served.page("/?host=elsewhere")), names[1..2]);
    assert_eq!(
        list_names(&served.page("/?q=elsewhere+nightly")),
        names[1..2]
    );
    assert_eq!(list_names(&served.page("/?study=other")), [""; 0]);
    let kept = served.page(&format!("/?first={}&second={}", names[0], names[1]));
    assert_eq!(kept.matches(" checked").count(), 2);
    assert!(served.end().success());
}

#[test]
fn what_is_no_run_is_a_row_with_its_reason_and_texts_of_runs_stay_texts() {
    let workspace = workspace(1, &[]);
    let runs = workspace.path().join("runs");
    let run = &run_folders(&workspace)[0];
    change_info(run, |info| {
        info["question"] = "<script>alert(1)</script>".into();
        info["host"]["name"] = "\"><img src=x onerror=alert(1)>".into();
    });
    let outside = workspace.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::copy(run.join("run.json"), outside.join("run.json")).unwrap();
    symlink(&outside, runs.join("a-link")).unwrap();
    for folder in ["<b>half", "damaged", "foreign", "old"] {
        fs::create_dir(runs.join(folder)).unwrap();
    }
    fs::write(runs.join("<b>half/study.yaml"), "").unwrap();
    fs::write(runs.join("damaged/run.json"), "{\"format\":1,").unwrap();
    fs::write(runs.join("old/run.json"), "{\"format\":0}").unwrap();
    let served = Served::start(&workspace, &["runs"]);
    let page = served.page("/");
    for reason in [
        "&lt;b&gt;half",
        "half written: it has no run.json",
        "run.json: line 1, column 12",
        "no run: it has no run.json",
        "written in format 0; this waggle reads format 1",
        "it is a link, and links are not followed",
    ] {
        assert!(page.contains(reason), "{reason}: {page}");
    }
    let name = name(run);
    for path in [
        "/".to_owned(),
        format!("/runs/{name}"),
        format!("/runs/{name}/report"),
    ] {
        let page = served.page(&path);
        assert!(
            !page.contains("<script>alert") && !page.contains("<img src=x"),
            "{path}"
        );
    }
    for path in [
        "/runs/a-link",
        "/runs/a-link/report",
        "/runs/damaged/report",
        "/runs/foreign/live",
    ] {
        assert_eq!(served.get(path).status, 422, "{path}");
    }
    for path in [
        "/runs/..%2Foutside",
        "/runs/%2E%2E",
        "/runs/missing",
        "/nothing",
    ] {
        assert_eq!(served.get(path).status, 404, "{path}");
    }
}

#[test]
fn the_report_is_as_it_is_and_two_runs_are_compared_in_the_order_picked() {
    let workspace = workspace(2, &[(1, 1.5)]);
    let names = names(&workspace);
    let served = Served::start(&workspace, &["runs"]);
    let report = served.page(&format!("/runs/{}/report", names[0]));
    let file = fs::read_to_string(run_folders(&workspace)[0].join("report.html")).unwrap();
    let main = |page: &str| page.split("<main").nth(1).unwrap().to_owned();
    assert_eq!(main(&report), main(&file), "only the bar differs");
    assert!(report.contains(&format!(
        "<a class=\"brand\" href=\"/runs/{}\">",
        names[0].replace('-', "%2D")
    )));
    let compare =
        |first: &str, second: &str| served.get(&format!("/compare?first={first}&second={second}"));
    let [first, second] = [&names[0], &names[1]];
    for (first, second, expected) in [(first, second, "worse"), (second, first, "better")] {
        let page = compare(first, second);
        assert_eq!(page.status, 200, "{}", page.body);
        let verdict = format!("class=\"badge {expected}\"");
        assert!(page.body.contains(&verdict), "{expected}: {}", page.body);
    }
    assert_eq!(compare(first, first).status, 400);
    assert_eq!(compare(first, "").status, 400);
    assert_eq!(compare(first, "missing").status, 404);
    let page = served.page(&format!("/runs/{second}"));
    let link = attribute(&page, "href=\"/compare?")
        .replace("&amp;", "&")
        .replace("%2D", "-");
    assert_eq!(link, format!("first={first}&second={second}"));
}

#[test]
fn a_history_links_its_changes_and_a_note_that_accepts_sets_the_new_level() {
    // On one host, so that no run is left out.
    let workspace = workspace(24, &[(14, 1.3)]);
    for folder in run_folders(&workspace) {
        change_info(&folder, |info| info["host"]["name"] = "fast".into());
    }
    let folders = run_folders(&workspace);
    for slow in [6, 11, 22] {
        fs::remove_dir_all(&folders[slow]).unwrap();
    }
    let names = names(&workspace);
    let served = Served::start(&workspace, &["runs", "--allow-notes"]);
    let page = served.page("/history?study=nightly");
    assert!(
        page.contains("Something became worse, and has not come back."),
        "{page}"
    );
    let after = attribute(&page, "href=\"/compare?")
        .split("second=")
        .nth(1)
        .unwrap();
    let after = after.replace("%2D", "-");
    assert!(names.contains(&after), "{after}");
    let link = format!(
        "<a href=\"/runs/{}\">{after}</a>",
        after.replace('-', "%2D")
    );
    assert!(page.contains(&link), "{link}");
    assert_eq!(served.get("/history?study=other").status, 404);

    let run = served.page(&format!("/runs/{after}"));
    let path = format!("/runs/{after}/notes");
    let answer = served.post(&path, &run, "text=new+%3Cdisk%3E&accept=yes");
    assert_eq!(answer.status, 303, "{}", answer.body);
    let page = served.page("/history?study=nightly");
    assert!(page.contains("Nothing is worse than before"), "{page}");
    assert!(page.contains("accepted as the new level"));
    assert!(page.contains("new &lt;disk&gt;"));
    for path in [
        "/".to_owned(),
        format!("/runs/{after}"),
        format!("/runs/{after}/report"),
    ] {
        let page = served.page(&path);
        assert!(
            page.contains("new &lt;disk&gt;") || page.contains("1 note"),
            "{path}"
        );
    }
    // The same files are read by the commands.
    let output = workspace.output(&["history", "runs"]);
    assert_eq!(output.status.code(), Some(0));
    let run = format!("runs/{after}");
    assert_eq!(workspace.output(&["report", &run]).status.code(), Some(0));
    let text = fs::read_to_string(workspace.path().join(&run).join("report.md")).unwrap();
    let note = "new &lt;disk&gt; (accepted as the new level)";
    assert!(text.contains(note), "{text}");

    // About one metric, from its change.
    let link = format!("/runs/{}?metric=", after.replace('-', "%2D"));
    let page = served.page("/history?study=nightly");
    assert!(page.contains(&link), "{link}: {page}");
    let run = served.page(&format!("/runs/{after}?metric=goodput_per_s"));
    let chosen = "<option value=\"goodput_per_s\" selected>";
    assert!(run.contains(chosen), "{run}");
    let path = format!("/runs/{after}/notes");
    let answer = served.post(&path, &run, "text=less+is+fine&metric=goodput_per_s");
    assert_eq!(answer.status, 303, "{}", answer.body);
    let run = served.page(&format!("/runs/{after}"));
    assert!(run.contains("about goodput_per_s"), "{run}");
}

#[test]
fn notes_have_limits_and_are_not_written_without_leave() {
    let workspace = workspace(1, &[]);
    let name = &names(&workspace)[0];
    let path = format!("/runs/{name}/notes");
    let reading = Served::start(&workspace, &["runs"]);
    let page = reading.page(&format!("/runs/{name}"));
    assert!(!page.contains("<form"), "{page}");
    let form = "<input type=\"hidden\" name=\"token\" value=\"x\">";
    let refused = reading.post(&path, form, "text=a");
    assert_eq!(refused.status, 403);
    assert!(refused.body.contains("this server only reads"));
    drop(reading);
    let served = Served::start(&workspace, &["runs", "--allow-notes"]);
    let page = served.page(&format!("/runs/{name}"));
    let long = format!("text={}", "a".repeat(2_001));
    let length = "expected a note of 1 to 2000 letters";
    for (body, expected) in [
        ("text=", length),
        ("text=+%0A", length),
        (&long, length),
        ("text=a%07b", "expected letters that can be seen"),
        ("text=a&metric=colour", "has no metric &quot;colour&quot;"),
    ] {
        let answer = served.post(&path, &page, body);
        assert_eq!(answer.status, 400, "{body}");
        assert!(answer.body.contains(expected), "{body}: {}", answer.body);
    }
    assert!(
        !workspace
            .path()
            .join("runs")
            .join(name)
            .join("notes")
            .exists()
    );
}
