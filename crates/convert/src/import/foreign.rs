//! Results without single requests, by their first line: what they are, and what to export instead.

use std::{io::Read, path::Path};

use anyhow::{Result, bail};

use super::text;

/// So much of a file is looked at.
const HEAD_BYTES: u64 = 1 << 16;

const K6: &str = "import a file of k6 run --out json=FILE";
const LOCUST: &str = "Locust writes no single requests by itself: write a row for each in a listener of events.request, and import that file with waggle import csv";

/// Refuses a file that has sums, quantiles or samples in place of requests.
pub(crate) fn refuse(path: &Path) -> Result<()> {
    let mut head = Vec::new();
    let read = text::open_file(path)?
        .take(HEAD_BYTES)
        .read_to_end(&mut head);
    if read.is_err() {
        // Whoever reads the file says what is wrong with it.
        return Ok(());
    }
    let head = String::from_utf8_lossy(&head);
    match recognize(head.trim_start_matches('\u{feff}').trim_start()) {
        Some((what, instead)) => bail!("{} is {what}: {instead}", path.display()),
        None => Ok(()),
    }
}

/// What the text is, and what to do instead.
fn recognize(head: &str) -> Option<(&'static str, &'static str)> {
    let first = head.lines().next().unwrap_or_default();
    let first = first.replace('"', "");
    let begins = |start: &str| first.starts_with(start);
    if head.starts_with('{') {
        return recognize_object(head);
    }
    if head.starts_with('[')
        && head.contains("\"num_requests\"")
        && head.contains("\"response_times\"")
    {
        return Some((
            "Locust's statistics as JSON (--json), which has sums by name",
            LOCUST,
        ));
    }
    if begins("metric_name,timestamp,metric_value") {
        return Some((
            "k6's CSV (--out csv), which has a row for each metric and whole seconds by default",
            K6,
        ));
    }
    if begins("Timestamp,User Count,Type,Name") {
        return Some((
            "Locust's history of statistics (_stats_history.csv), which has sums and quantiles",
            LOCUST,
        ));
    }
    if begins("Type,Name,Request Count")
        || begins("Type,Name,# requests")
        || begins("Method,Name,# requests")
    {
        return Some((
            "Locust's table of statistics (_stats.csv), which has sums by name",
            LOCUST,
        ));
    }
    if begins("Method,Name,Error,Occurrences") {
        return Some((
            "Locust's table of failures (_failures.csv), which has failures alone",
            LOCUST,
        ));
    }
    if begins("Count,Message,Traceback,Nodes") {
        return Some(("Locust's table of exceptions (_exceptions.csv)", LOCUST));
    }
    None
}

/// k6's summary at the end of a test: of `--summary-export`, of `handleSummary`, or of the format that followed them.
fn recognize_object(head: &str) -> Option<(&'static str, &'static str)> {
    let has = |key: &str| head.contains(&format!("\"{key}\""));
    // A line of --out json has a type at its start.
    let is_line = head.lines().next().is_some_and(|line| {
        let is_entry = line.contains("\"type\":\"Metric\"") || line.contains("\"type\":\"Point\"");
        is_entry && serde_json::from_str::<serde::de::IgnoredAny>(line).is_ok()
    });
    let is_summary = has("root_group")
        || (has("metrics")
            && (has("iterations") || has("http_reqs") || has("vus") || has("iteration_duration")))
        || (has("results")
            && has("metrics")
            && (has("checks") || has("thresholds") || has("scenarios")));
    (!is_line && is_summary).then_some((
        "k6's summary at the end of a test, which has sums and quantiles",
        K6,
    ))
}

#[cfg(test)]
mod tests {
    use super::recognize;

    #[test]
    fn results_without_requests_are_named() {
        let check = |head: &str, expected: Option<&str>| {
            let name = recognize(head).map(|(what, _)| what);
            let is_right = match (name, expected) {
                (Some(name), Some(expected)) => name.starts_with(expected),
                (name, expected) => name == expected,
            };
            assert!(is_right, "{head}: {name:?}");
        };
        let k6 = "k6's summary";
        // --summary-export, with values at the top of each metric.
        check(
            "{\n    \"root_group\": {\"name\": \"\"},\n    \"metrics\": {\"http_reqs\": {\"count\": 5, \"rate\": 1.5}}\n}",
            Some(k6),
        );
        check("{\"metrics\":{\"http_reqs\":{\"count\":5}}}", Some(k6));
        // handleSummary, with values of their own.
        check(
            "{\"options\":{},\"state\":{},\"metrics\":{\"iterations\":{\"type\":\"counter\",\"contains\":\"default\",\"values\":{\"count\":5}}}}",
            Some(k6),
        );
        check(
            "{\"type\":\"Metric\",\"data\":{\"name\":\"http_reqs\",\"submetrics\":null},\"metric\":\"http_reqs\"}\n{\"type\":\"Point\",\"metric\":\"vus\",\"root_group\":1}",
            None,
        );
        // The format that followed both.
        check(
            "{\"metadata\":{},\"config\":{},\"results\":{\"checks\":{},\"metrics\":[{\"name\":\"http_req_duration\"}]}}",
            Some(k6),
        );
        check(
            "metric_name,timestamp,metric_value,check,error,error_code,expected_response\nhttp_reqs,1641298536,1.000000",
            Some("k6's CSV"),
        );
        check(
            "Timestamp,User Count,Type,Name,Requests/s,Failures/s,50%,66%\n1,2",
            Some("Locust's history"),
        );
        check(
            "Type,Name,Request Count,Failure Count,Median Response Time\r\nGET,/,1",
            Some("Locust's table of statistics"),
        );
        check(
            "\"Type\",\"Name\",\"# requests\",\"# failures\"\n",
            Some("Locust's table of statistics"),
        );
        check(
            "Method,Name,Error,Occurrences\n",
            Some("Locust's table of failures"),
        );
        check(
            "Count,Message,Traceback,Nodes,First Seen",
            Some("Locust's table of exceptions"),
        );
        check(
            "[{\"name\": \"/\", \"method\": \"GET\", \"num_requests\": 5, \"response_times\": {\"10\": 5}}]",
            Some("Locust's statistics"),
        );
        for head in [
            "",
            "timeStamp,elapsed,success\n",
            "t,d,s\n1,2,3",
            "<testResults>",
            "{\"a\":1}",
        ] {
            check(head, None);
        }
    }
}
