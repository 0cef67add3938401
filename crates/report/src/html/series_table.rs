//! A trial over time as a table: what the charts draw, for those without scripts.

use super::escape;
use crate::{
    text::{self, NONE, Unit},
    words,
};
use waggle_analysis::{Counted, TrialModel};

/// Writes one trial's table in a box of its own; nothing where nothing was seen.
pub(super) fn write(out: &mut String, trial: &TrialModel, counted: Counted) {
    let series = &trial.series;
    if series.points.is_empty() && series.cpu.is_empty() {
        return;
    }
    let title = escape::text(&format!(
        "{}, repetition {} ({})",
        text::levels(&trial.levels),
        trial.key.repetition,
        words::verdict(trial.verdict)
    ));
    out.push_str(&format!(
        "<details><summary>{title}</summary>\n<p>{}</p>\n<div class=\"scroll\" role=\"region\" aria-label=\"{title}\" tabindex=\"0\">\
         <table class=\"dense\"><caption>{title}, over time</caption><thead><tr>",
        escape::text(&phases(trial))
    ));
    let heads = [
        "until, s".to_owned(),
        format!("{}/s", words::counted(counted)),
        "failed/s".to_owned(),
        "p50".to_owned(),
        "p99".to_owned(),
        "in flight".to_owned(),
    ];
    let cpu = series
        .cpu
        .iter()
        .map(|one| format!("{}, cores", one.component));
    let backlog = (!series.backlog.is_empty()).then(|| "backlog".to_owned());
    let before = series
        .on_the_way
        .iter()
        .map(|one| format!("backlog at {}", one.name));
    let watches = series.watches.iter().map(|one| one.name.clone());
    let all = heads.into_iter().chain(cpu).chain(backlog);
    for head in all.chain(before).chain(watches) {
        out.push_str(&format!(
            "<th scope=\"col\" class=\"n\">{}</th>",
            escape::text(&head)
        ));
    }
    out.push_str("</tr></thead><tbody>\n");
    for row in rows(trial) {
        out.push_str("<tr>");
        for field in row {
            out.push_str(&format!("<td class=\"n\">{field}</td>"));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div></details>\n");
}

fn phases(trial: &TrialModel) -> String {
    let spans = trial.phases.iter().map(|phase| {
        format!(
            "{} {} to {} s",
            words::phase(phase.phase),
            text::three(phase.start_s),
            text::three(phase.end_s)
        )
    });
    spans.collect::<Vec<_>>().join(" · ")
}

/// A row for each stretch of load, then one for each later look at the system while it drained.
fn rows(trial: &TrialModel) -> Vec<Vec<String>> {
    let series = &trial.series;
    let load_end = series
        .points
        .last()
        .map_or(f64::NEG_INFINITY, |point| point.end_s);
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut from = f64::NEG_INFINITY;
    for point in &series.points {
        let time = |us: Option<f64>| us.map_or_else(|| NONE.to_owned(), |us| Unit::Time.show(us));
        let mut row = vec![
            format!("{:.2}", point.end_s),
            text::plain(point.succeeded_per_s),
            text::plain(point.failed_per_s),
            time(point.p50_us),
            time(point.p99_us),
            text::plain(point.in_flight),
        ];
        row.extend(samples(trial, from, point.end_s));
        rows.push(row);
        from = point.end_s;
    }
    let named = series.on_the_way.iter().chain(&series.watches);
    let mut later: Vec<f64> = series
        .cpu
        .iter()
        .flat_map(|one| &one.points)
        .chain(named.flat_map(|one| &one.points))
        .chain(&series.backlog)
        .map(|(at, _)| *at)
        .filter(|at| *at > load_end)
        .collect();
    later.sort_by(f64::total_cmp);
    later.dedup();
    for at in later {
        let mut row = vec![format!("{at:.2}")];
        row.extend(vec![NONE.to_owned(); 5]);
        row.extend(samples(trial, from, at));
        rows.push(row);
        from = at;
    }
    rows
}

/// The last sample of each component, of the backlogs and of the watches, in `(from, to]`.
fn samples(trial: &TrialModel, from: f64, to: f64) -> Vec<String> {
    let series = &trial.series;
    let last = |points: &[(f64, f64)]| {
        let found = points.iter().rev().find(|(at, _)| *at > from && *at <= to);
        found.map_or_else(|| NONE.to_owned(), |(_, value)| text::plain(*value))
    };
    let cpu = series.cpu.iter().map(|one| last(&one.points));
    let backlog = (!series.backlog.is_empty()).then(|| last(&series.backlog));
    let named = series.on_the_way.iter().chain(&series.watches);
    cpu.chain(backlog)
        .chain(named.map(|one| last(&one.points)))
        .collect()
}
