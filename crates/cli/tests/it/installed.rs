//! What an installation needs of the program: systems in the folder of its prefix, completions, man pages.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use crate::workspace::{Parts, Workspace, output_text};

/// The program below a prefix, as a package installs it, with the system of the tests.
fn install(prefix: &Path, workspace: &Workspace) -> PathBuf {
    let program = prefix.join("bin/waggle");
    fs::create_dir_all(prefix.join("bin")).unwrap();
    let built = env!("CARGO_BIN_EXE_waggle");
    fs::hard_link(built, &program)
        .or_else(|_| fs::copy(built, &program).map(|_| ()))
        .unwrap();
    let share = prefix.join("share/waggle");
    fs::create_dir_all(&share).unwrap();
    fs::rename(workspace.path().join("systems"), share.join("systems")).unwrap();
    program
}

fn text(output: Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", output_text(&output));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn systems_of_the_prefix_are_found_from_anywhere() {
    let workspace = Workspace::new();
    workspace.study(&Parts::default());
    let plan = |program: &Path| {
        let mut command = Command::new(program);
        command.args(["plan", "study.yaml"]);
        command.current_dir(workspace.path()).output().unwrap()
    };
    let prefix = tempfile::tempdir().unwrap();
    let program = install(prefix.path(), &workspace);
    assert!(text(plan(&program)).contains("faulty"));
    fs::rename(
        prefix.path().join("share/waggle/systems"),
        prefix.path().join("share/elsewhere"),
    )
    .unwrap();
    assert_eq!(plan(&program).status.code(), Some(2));
}

#[test]
fn bash_completes_subcommands_and_flags_but_not_hidden_ones() {
    let workspace = Workspace::new();
    let script = text(workspace.output(&["completions", "bash"]));
    fs::write(workspace.path().join("waggle.bash"), &script).unwrap();
    let complete = |words: &str, last: &str| {
        let call = format!(
            "source waggle.bash; COMP_WORDS=({words} {last}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _waggle waggle '{last}' x; echo \"${{COMPREPLY[@]}}\""
        );
        let mut bash = Command::new("bash");
        bash.args(["-c", &call]).current_dir(workspace.path());
        text(bash.output().unwrap()).trim().to_owned()
    };
    assert_eq!(complete("waggle", "ru"), "run");
    assert_eq!(
        complete("waggle run study.yaml", "--qui"),
        "--quick --quiet"
    );
    assert_eq!(complete("waggle system", "fe"), "fetch");
    assert_eq!(complete("waggle", "__"), "");
}

#[test]
fn every_shell_has_a_script() {
    let workspace = Workspace::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = text(workspace.output(&["completions", shell]));
        assert!(script.contains("compare"), "{shell}: {script}");
        assert!(!script.contains("__supervise"), "{shell}: {script}");
    }
}

#[test]
fn each_subcommand_has_a_man_page() {
    let workspace = Workspace::new();
    text(workspace.output(&["man", "--folder", "man/man1"]));
    let mut pages: Vec<String> = fs::read_dir(workspace.path().join("man/man1"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    pages.sort();
    for name in ["waggle.1", "waggle-load.1", "waggle-system-fetch.1"] {
        assert!(pages.iter().any(|page| page == name), "{pages:?}");
    }
    assert!(pages.iter().all(|page| !page.contains("__")), "{pages:?}");
    let page = fs::read_to_string(workspace.path().join("man/man1/waggle-run.1")).unwrap();
    assert!(page.contains(".TH waggle-run 1"), "{page}");
    assert_eq!(text(workspace.output(&["man", "run"])), page);
}

#[test]
fn man_page_of_an_unknown_subcommand_is_refused() {
    let workspace = Workspace::new();
    let check = |names: &[&str], expected: &str| {
        let output = workspace.output(&[&["man"], names].concat());
        assert_eq!(output.status.code(), Some(2), "{}", output_text(&output));
        let said = output_text(&output);
        assert!(said.contains(expected), "{said}");
    };
    check(
        &["system", "fetsh"],
        "waggle system has no subcommand \"fetsh\"; expected fetch, up, down, status",
    );
    check(
        &["plan", "x"],
        "waggle plan has no subcommand \"x\"; expected none",
    );
}
