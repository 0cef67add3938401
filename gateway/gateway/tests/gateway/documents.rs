//! Completions and man pages of the program.

use std::process::{Command, Output};

fn output(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_waggle-gateway"));
    command.args(arguments).output().unwrap()
}

fn text(arguments: &[&str]) -> String {
    let output = output(arguments);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn shells_complete_flags() {
    for shell in ["bash", "zsh", "fish"] {
        let script = text(&["completions", shell]);
        assert!(script.contains("body-max-bytes"), "{shell}: {script}");
    }
}

#[test]
fn each_subcommand_has_a_man_page() {
    let folder = tempfile::tempdir().unwrap();
    text(&["man", "--folder", folder.path().to_str().unwrap()]);
    for name in ["", "-serve", "-sink", "-openapi"] {
        let file = folder.path().join(format!("waggle-gateway{name}.1"));
        let page = std::fs::read_to_string(&file).unwrap();
        let title = format!(".TH waggle-gateway{name} 1");
        assert!(page.contains(&title), "{page}");
    }
    assert!(text(&["man", "serve"]).contains(".TH waggle-gateway-serve 1"));
    let refused = output(&["man", "sevre"]);
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
}
