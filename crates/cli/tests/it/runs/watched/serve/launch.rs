//! Runs that are started from a page: the form, the plan, the queue, the stop, and the comparison with the run before.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use waggle_testkit::{wait_for, wait_until};

use super::{Served, attribute, live::write_study};
use crate::{
    comparisons::history,
    workspace::{Parts, Workspace},
};

/// `studies/small.yaml`, a study that takes some seconds.
fn studies(repeat: u32) -> (Workspace, waggle_load::NullServer) {
    let workspace = Workspace::new();
    let server = write_study(&workspace, "studies/small.yaml", repeat);
    fs::write(
        workspace.path().join("studies/broken.yaml"),
        "study: broken\n",
    )
    .unwrap();
    fs::write(workspace.path().join("studies/notes.txt"), "no study").unwrap();
    (workspace, server)
}

const ALLOWED: [&str; 3] = ["runs", "--allow-run", "studies"];

#[test]
fn without_leave_nothing_can_be_started() {
    let (workspace, _server) = studies(1);
    fs::create_dir(workspace.path().join("runs")).unwrap();
    let served = Served::start(&workspace, &["runs"]);
    assert!(!served.page("/").contains("/studies"));
    let form = "<input type=\"hidden\" name=\"token\" value=\"x\">";
    for path in [
        "/studies/start",
        "/studies/plan",
        "/queue/stop",
        "/queue/drop",
    ] {
        let answer = served.post(path, form, "study=small.yaml");
        assert_eq!(answer.status, 403, "{path}");
        assert!(
            answer.body.contains("it needs --allow-run"),
            "{}",
            answer.body
        );
    }
    for path in ["/studies", "/studies/form?study=small.yaml", "/queue"] {
        assert_eq!(served.get(path).status, 403, "{path}");
    }
}

/// Orders that name what the study does not have.
fn check_mistakes(served: &Served, form: &str) {
    for (body, expected) in [
        (
            "study=small.yaml&factor.connections=9",
            "expected one of its levels 1, 2",
        ),
        (
            "study=small.yaml&factor.nothing=1",
            "small has no factor &quot;nothing&quot;",
        ),
        ("study=small.yaml&parameter.workers=2", "has no parameter"),
        ("study=small.yaml&runs=/tmp", "there is no field"),
    ] {
        let refused = served.post("/studies/plan", form, body);
        assert_eq!(refused.status, 400, "{}", refused.body);
        assert!(refused.body.contains(expected), "{}", refused.body);
    }
}

#[test]
fn a_study_is_chosen_planned_run_and_run_again_for_a_comparison() {
    let (workspace, _server) = studies(1);
    let served = Served::start(&workspace, &ALLOWED);
    let page = served.page("/studies");
    assert!(page.contains("/studies/form?study=small%2Eyaml"), "{page}");
    assert!(
        page.contains("broken.yaml") && !page.contains("notes.txt"),
        "{page}"
    );
    let form = served.page("/studies/form?study=small.yaml");
    assert!(
        form.contains("name=\"factor.connections\"") && form.contains("all 2 levels"),
        "{form}"
    );
    assert_eq!(
        served.get("/studies/form?study=..%2Fsmall.yaml").status,
        404
    );
    check_mistakes(&served, &form);
    let chosen = "study=small.yaml&factor.connections=2&extent=quick";
    let plan = served.post("/studies/plan", &form, chosen);
    assert_eq!(plan.status, 200, "{}", plan.body);
    assert!(
        plan.body.contains("connections=2") && !plan.body.contains("connections=1"),
        "{}",
        plan.body
    );
    assert!(
        !workspace
            .path()
            .join("runs")
            .read_dir()
            .unwrap()
            .any(|_| true),
        "a plan runs nothing"
    );

    let run = |body: &str, ended: usize| {
        let started = served.post("/studies/start", &form, body);
        assert_eq!(
            (started.status, started.header("location")),
            (303, Some("/queue"))
        );
        wait_for("the run has ended", || {
            let page = served.page("/queue");
            (page.matches("exit code").count() >= ended).then_some(page)
        })
    };
    let page = run(chosen, 1);
    let first = attribute(&page, "href=\"/runs/").replace("%2D", "-");
    assert!(first.starts_with("small-"), "{page}");
    let info =
        fs::read_to_string(workspace.path().join("runs").join(&first).join("run.json")).unwrap();
    assert!(info.contains("connections=2"), "{info}");
    let again = attribute(
        &served.page(&format!("/runs/{first}")),
        "href=\"/studies/form?",
    )
    .replace("&amp;", "&");
    let form = served.page(&format!("/studies/form?{again}"));
    assert!(
        form.contains("value=\"2\" selected") && form.contains("value=\"quick\" selected"),
        "{form}"
    );
    let page = run(&format!("{chosen}&compare_with={first}"), 2);
    let link = attribute(&page, "href=\"/compare?").replace("&amp;", "&");
    assert!(
        link.starts_with(&format!("first={}", first.replace('-', "%2D"))),
        "{link}"
    );
    assert_eq!(served.get(&format!("/compare?{link}")).status, 200);
}

#[test]
fn one_runs_one_waits_and_stop_is_as_ctrl_c() {
    let (workspace, _server) = studies(50);
    let served = Served::start(&workspace, &ALLOWED);
    let form = served.page("/studies/form?study=small.yaml");
    let start = || served.post("/studies/start", &form, "study=small.yaml");
    assert_eq!(start().status, 303);
    let pid = wait_for("it runs", || {
        let page = served.page("/queue");
        let is_running = page.contains("name=\"pid\"");
        is_running.then(|| attribute(&page, "name=\"pid\" value=\"").to_owned())
    });
    assert_eq!(
        priority(&pid),
        priority(&std::process::id().to_string()),
        "as this test"
    );
    assert_eq!(start().status, 303);
    let third = start();
    assert_eq!(third.status, 409, "{}", third.body);
    assert_eq!(served.post("/queue/drop", &form, "").status, 303);
    assert_eq!(served.post("/queue/stop", &form, "pid=1").status, 409);
    wait_until("a trial has a result", || has_trial(&workspace));
    assert_eq!(
        served
            .post("/queue/stop", &form, &format!("pid={pid}"))
            .status,
        303
    );
    let page = wait_for("it has ended", || {
        let page = served.page("/queue");
        page.contains("exit code 130").then_some(page)
    });
    assert!(page.contains("interrupted; resume with"), "{page}");
    assert!(!page.contains("badge running"), "what waited was removed");
}

#[test]
fn what_stops_the_server_stops_its_run() {
    let (workspace, _server) = studies(50);
    let served = Served::start(&workspace, &ALLOWED);
    let form = served.page("/studies/form?study=small.yaml");
    assert_eq!(
        served
            .post("/studies/start", &form, "study=small.yaml")
            .status,
        303
    );
    wait_until("it is offered", || workspace.stream_socket().is_some());
    assert!(served.end().success());
    assert!(
        workspace.stream_socket().is_none(),
        "the run has ended before the server"
    );
}

#[test]
fn a_form_says_which_levels_hold_if_none_is_given() {
    let workspace = Workspace::new();
    let fault = "dies";
    workspace.study(&Parts {
        fault,
        ..Parts::default()
    });
    let file = workspace.path().join("study.yaml");
    let text = fs::read_to_string(&file).unwrap();
    let both =
        text.replace("fault: dies", "fault: \"${fault}\"") + "factors: { fault: [dies, none] }\n";
    fs::write(workspace.path().join("both.yaml"), both).unwrap();
    let served = Served::start(&workspace, &["runs", "--allow-run", "."]);
    let option = |study: &str| {
        let form = served.page(&format!("/studies/form?study={study}"));
        let parameter = form.split("name=\"parameter.fault\"").nth(1).unwrap();
        let option = parameter.split("<option value=\"\">").nth(1).unwrap();
        option.split('<').next().unwrap().to_owned()
    };
    // The default of the system is none.
    assert_eq!(option("study.yaml"), "unchanged: dies");
    assert_eq!(option("both.yaml"), "unchanged: dies or none");
}

#[test]
fn a_run_of_two_versions_is_run_again_as_it_was() {
    let workspace = history::workspace(1, &[]);
    workspace.study(&Parts::default());
    let run = history::run_folders(&workspace).remove(0);
    let name = run.file_name().unwrap().to_str().unwrap();
    let again = format!("/studies/form?study=study.yaml&again={name}");
    let ask = |design: &str, change: &str| {
        let versions = json!({ "design": design, "changes": [change] });
        history::change_info(&run, |info| info["versions"] = versions);
        // What the server has read of the folder is kept for a second.
        Served::start(&workspace, &["runs", "--allow-run", "."]).get(&again)
    };
    let form = ask("blocks", "fault=dies");
    assert!(
        form.body.contains("value=\"dies\" selected"),
        "{}",
        form.body
    );
    let duet = ask("duet", "fault=dies");
    assert_eq!(duet.status, 422);
    assert!(duet.body.contains("--design"), "{}", duet.body);
    let other = ask("blocks", "program.store=/bin/true");
    assert_eq!(other.status, 400);
    assert!(
        other.body.contains("has no parameter &quot;program.store"),
        "{}",
        other.body
    );
}

#[test]
fn a_problem_has_the_bar_of_other_pages() {
    let (workspace, _server) = studies(1);
    let has_bar =
        |body: &str| body.contains("href=\"/studies\"") && body.contains("href=\"/queue\"");
    let served = Served::start(&workspace, &ALLOWED);
    let host = format!("Host: {}\r\n", served.address);
    for (method, path, status) in [
        ("GET", "/nothing", 404),
        ("GET", "/runs/nothing", 404),
        ("GET", "/runs/%FF", 400),
        ("GET", "/live/x", 400),
        ("GET", "/compare", 400),
        ("GET", "/studies/form?study=broken.yaml", 422),
        ("GET", "/studies/plan", 405),
        ("POST", "/studies/start", 403),
        ("DELETE", "/", 403),
    ] {
        let answer = served.ask(method, path, &host, "");
        assert_eq!(answer.status, status, "{method} {path}: {}", answer.body);
        assert!(has_bar(&answer.body), "{method} {path}: {}", answer.body);
    }
    let answer = served.get("/studies/plan");
    assert_eq!(answer.header("allow"), Some("POST"));
    assert!(!has_bar(
        &Served::start(&workspace, &["runs"]).get("/nothing").body
    ));
    // Who has not shown the token is not told what can be started.
    let token = [("WAGGLE_SERVE_TOKEN", "a token that nobody guesses")];
    let mut served = Served::start_with(&workspace, &ALLOWED, &token);
    let refused = |served: &Served| served.ask("GET", "/nothing", "Host: evil.example\r\n", "");
    assert_eq!(refused(&served).status, 403);
    assert!(!has_bar(&refused(&served).body));
    let bearer = format!("Authorization: Bearer {}\r\n", token[0].1);
    served.fields.push(bearer);
    assert!(has_bar(&refused(&served).body));
}

/// A server with a run that has a trial, and the process of that run.
fn serve_with_run(workspace: &Workspace) -> (Served, String) {
    workspace.study(&Parts {
        load: "model: closed, connections: 2",
        measure: "1s",
        repeat: 50,
        ..Parts::default()
    });
    let served = Served::start(workspace, &["runs", "--allow-run", "."]);
    let form = served.page("/studies/form?study=study.yaml");
    let started = served.post("/studies/start", &form, "study=study.yaml");
    assert_eq!(started.status, 303, "{}", started.body);
    wait_until("a trial has a result", || has_trial(workspace));
    let pid = attribute(&served.page("/queue"), "name=\"pid\" value=\"").to_owned();
    (served, pid)
}

#[test]
fn a_run_whose_server_is_killed_ends_as_by_ctrl_c() {
    let workspace = Workspace::new();
    let (mut served, _) = serve_with_run(&workspace);
    served.child.kill().unwrap();
    served.child.wait().unwrap();
    workspace.wait_for_orderly_end();
    let run = workspace.run_folder();
    assert!(run.join("report.html").is_file(), "it wrote what it had");
}

#[test]
fn a_run_whose_supervisor_is_killed_ends_as_by_ctrl_c() {
    let workspace = Workspace::new();
    let (served, pid) = serve_with_run(&workspace);
    // As all processes of a service that is stopped.
    let supervisor = stat_field(&pid, 1).parse().unwrap();
    kill_process(Pid::from_raw(supervisor).unwrap(), Signal::TERM).unwrap();
    wait_until("it has ended", || {
        served
            .page("/queue")
            .contains("ended after its supervisor was killed")
    });
    let run = workspace.run_folder();
    assert!(run.join("report.html").is_file(), "it wrote what it had");
    assert!(served.end().success());
    workspace.wait_for_orderly_end();
}

fn has_trial(workspace: &Workspace) -> bool {
    let runs = workspace.path().join("runs").read_dir().unwrap().flatten();
    let trials = runs.filter_map(|run| run.path().join("trials").read_dir().ok());
    let mut names = trials.flatten().map(|trial| trial.unwrap().file_name());
    // Until it is whole, a trial has another name.
    names.any(|name| !name.to_string_lossy().starts_with('.'))
}

/// The nice value of a process.
fn priority(pid: &str) -> String {
    stat_field(pid, 16)
}

/// A field of what the kernel says of a process; 0 is its state.
fn stat_field(pid: &str, index: usize) -> String {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields = stat.rsplit(')').next().unwrap().split_whitespace();
    fields.into_iter().nth(index).unwrap().to_owned()
}
