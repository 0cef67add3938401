//! What a process that waggle starts has of waggle's own environment: a few variables by name, so that no key of the user's shell comes
//! into a component, and from there into a log.

use std::process::Command;

/// What every process has: where programs and the user's files are, the language, the folder of temporary files, the proxies.
const INHERITED: [&str; 12] = [
    "PATH",
    "HOME",
    "LANG",
    "TMPDIR",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
];

/// Gives a command the variables that every process has, those of `more`, and no others.
pub fn limit_environment(command: &mut Command, more: &[String]) {
    let more = more.iter().map(String::as_str);
    keep_variables(command, INHERITED.into_iter().chain(more));
}

/// Gives a command these variables, as far as they are set, and no others.
pub fn keep_variables<'n>(command: &mut Command, names: impl Iterator<Item = &'n str>) {
    let kept = names.filter_map(|name| Some((name, std::env::var_os(name)?)));
    command.env_clear().envs(kept);
}
