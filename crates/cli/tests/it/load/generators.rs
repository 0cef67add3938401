//! `waggle load --generators`: several processes make one load.

use crate::{
    load::{ANSWER, adds_up, count, load, refuses, server},
    workspace::Workspace,
};

#[test]
fn what_generators_send_is_one_load() {
    let (result, served) = load(&["-c", "5", "-n", "1000", "--generators", "3"]);
    adds_up(&result, served);
    assert_eq!((count(&result, "/succeeded"), served), (1000, 1000));
    assert_eq!(count(&result, "/generator/workers"), 3);
    let parts = result["generator"]["generators"].as_array().unwrap();
    let sent: u64 = parts.iter().map(|part| count(part, "/sent")).sum();
    assert_eq!((parts.len(), sent), (3, 1000));
    // One is this process.
    let (result, served) = load(&["-c", "5", "-n", "100", "--generators", "1"]);
    adds_up(&result, served);
    assert_eq!(result.pointer("/generator/generators"), None);
}

#[test]
fn mistakes_are_explained_with_code_2() {
    let workspace = Workspace::new();
    let server = server(ANSWER);
    let up = server.address().to_string();
    let check = |flags: &[&str], expected: &str| refuses(&workspace, flags, expected);
    check(
        &[&up, "--generators", "3", "-c", "2"],
        "expected at most as many generators as connections",
    );
    check(
        &[&up, "--generators", "3", "--users", "2"],
        "expected at most as many generators as users",
    );
    check(
        &[&up, "--generators", "3", "-t", "2"],
        "--workers: 2 are fewer than 3 generators",
    );
    check(&[&up, "--generators", "11"], "11 is not in 1..=10");
}
