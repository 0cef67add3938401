//! The options of curl by their meaning for a study, and splitting of combined short options.

/// Options with a value that do not change the request, or that a load does not need.
pub(super) const WITHOUT_MEANING: [&str; 30] = [
    "-o",
    "--output",
    "-w",
    "--write-out",
    "-m",
    "--max-time",
    "--connect-timeout",
    "--retry",
    "--retry-delay",
    "--max-redirs",
    "-D",
    "--dump-header",
    "-c",
    "--cookie-jar",
    "--trace",
    "--trace-ascii",
    "--stderr",
    "--limit-rate",
    "-Y",
    "--speed-limit",
    "-y",
    "--speed-time",
    "--retry-max-time",
    "--keepalive-time",
    "--output-dir",
    "--expect100-timeout",
    "--cacert",
    "--capath",
    "--parallel-max",
    "--max-filesize",
];
/// Options without a value that do not change the request.
pub(super) const FLAGS: [&str; 43] = [
    "-s",
    "--silent",
    "-S",
    "--show-error",
    "-v",
    "--verbose",
    "-i",
    "--include",
    "-f",
    "--fail",
    "-#",
    "--progress-bar",
    "-N",
    "--no-buffer",
    "--http1.1",
    "-4",
    "--ipv4",
    "-6",
    "--ipv6",
    "--fail-with-body",
    "-O",
    "--remote-name",
    "--remote-name-all",
    "-J",
    "--remote-header-name",
    "-R",
    "--remote-time",
    "-j",
    "--junk-session-cookies",
    "-q",
    "--disable",
    "-Z",
    "--parallel",
    "--no-progress-meter",
    "--create-dirs",
    "--tcp-nodelay",
    "--no-keepalive",
    "--trace-time",
    "--styled-output",
    "--basic",
    "--retry-connrefused",
    "--retry-all-errors",
    "--tlsv1.2",
];
/// Options that become headers; their values may contain environment variables.
pub(super) const IN_HEADERS: [&str; 13] = [
    "-H",
    "--header",
    "-u",
    "--user",
    "--oauth2-bearer",
    "-A",
    "--user-agent",
    "-e",
    "--referer",
    "-b",
    "--cookie",
    "-r",
    "--range",
];
/// Options without an equivalent in a study.
pub(super) const REFUSED: [&str; 24] = [
    "-x",
    "--proxy",
    "--unix-socket",
    "--socks5",
    "-K",
    "--config",
    "-E",
    "--cert",
    "--key",
    "--resolve",
    "--connect-to",
    "-z",
    "--time-cond",
    "-C",
    "--continue-at",
    "-n",
    "--netrc",
    "--digest",
    "--ntlm",
    "--negotiate",
    "--anyauth",
    "--aws-sigv4",
    "--path-as-is",
    "--request-target",
];

/// Splits combined short options: `-sSXPUT` is `-s -S -X PUT`. Any other word is one option or a URL.
pub(super) fn options(word: &str) -> Vec<(String, Option<String>)> {
    let is_combined = word.len() > 2 && word.starts_with('-') && !word.starts_with("--");
    if !is_combined {
        return match word.split_once('=') {
            Some((option, value)) if word.starts_with("--") => {
                vec![(option.to_owned(), Some(value.to_owned()))]
            }
            _ => vec![(word.to_owned(), None)],
        };
    }
    let mut options = Vec::new();
    let mut rest = word[1..].chars();
    while let Some(letter) = rest.next() {
        let option = format!("-{letter}");
        let takes_none = FLAGS.contains(&&*option)
            || ["-k", "-G", "-I", "-L", "-0", "-g", "-n"].contains(&&*option);
        if takes_none {
            options.push((option, None));
        } else {
            let value = rest.as_str();
            options.push((option, (!value.is_empty()).then(|| value.to_owned())));
            break;
        }
    }
    options
}
