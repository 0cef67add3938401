//! The command that runs the rest of a run.

use std::path::Path;

use crate::{arguments::Run, inputs::runs};

/// The command that runs the rest of a run: with the flags on which its plan depends.
pub(super) fn resume_command(arguments: &Run, folder: &Path) -> String {
    let mut words = run_command(arguments);
    words.push(format!("--resume={}", folder.display()));
    let words: Vec<String> = words.iter().map(|word| runs::shell_word(word)).collect();
    words.join(" ")
}

/// The words of the command that runs the same plan.
pub(super) fn run_command(arguments: &Run) -> Vec<String> {
    let choice = &arguments.choice;
    let mut words = vec![
        "waggle".to_owned(),
        "run".to_owned(),
        choice.study.display().to_string(),
    ];
    let mut add = |flag: &str, value: &dyn std::fmt::Display| {
        words.extend([flag.to_owned(), value.to_string()]);
    };
    for level in &choice.filter {
        add("--filter", level);
    }
    if let Some(seed) = choice.seed {
        add("--seed", &seed);
    }
    for change in &choice.against {
        add("--against", change);
    }
    if let Some(design) = choice.design {
        add("--design", &design.name());
    }
    words.extend(choice.quick.then(|| "--quick".to_owned()));
    words.extend(choice.pilot.then(|| "--pilot".to_owned()));
    words.extend(arguments.idle_poll.then(|| "--idle-poll".to_owned()));
    words
}

#[cfg(test)]
pub(super) mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Flags {
        #[command(flatten)]
        run: Run,
    }

    pub(in crate::commands::run) fn flags(given: &[&str]) -> Run {
        Flags::parse_from([&["run", "a.yaml"], given].concat()).run
    }

    #[test]
    fn a_run_is_resumed_with_the_flags_of_its_plan() {
        let check = |given: &[&str], expected: &str| {
            assert_eq!(
                resume_command(&flags(given), Path::new("runs/a-1")),
                format!("waggle run a.yaml{expected} --resume=runs/a-1")
            );
        };
        check(&["--no-live", "--strict", "--runs", "there"], "");
        let plan = "--filter workers=2 --filter size=1 --seed 7 --against workers=3 --design blocks --quick --idle-poll";
        let words: Vec<&str> = plan.split(' ').collect();
        check(&words, &format!(" {plan}"));
        check(
            &["--filter", "query=it's $a"],
            " --filter 'query=it'\\''s $a'",
        );
    }
}
