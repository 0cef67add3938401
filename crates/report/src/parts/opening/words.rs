//! The answer to the study's question, in sentences that claim no more than the results show.
// long: the sentences of one paragraph

use waggle_analysis::{
    Account, AnswerOf, AnswerRole, CellModel, CellValue, KnownBy, Limit, LimitedBy, MetricAnswer,
    Model, Number, SearchModel, Spread, ThresholdOutcome, TiedCell,
};
use waggle_metrics::{Metric, Wish};
use waggle_spec::TimeKind;
use waggle_stats::{MetricVerdict, TrialsNeeded, Verdict};

use crate::{
    parts::{
        capacity::{operating_points, search},
        cells::percentiles,
        factors::effects,
        over_time::stalls,
        reliability::verdicts::causes,
    },
    words::{
        conditions,
        format::{self, Unit},
        labels,
        names::{cell_name, name_of},
        sentence::uncapitalise,
        trials_needed,
    },
};

/// Maximum number of cells of a search with a sentence each; of more, only the best cell has one.
const SEARCHES_TOLD: usize = 6;
/// Maximum number of reasons why no trial was completed.
const REASONS_TOLD: usize = 3;

/// The answer, a sentence each, the most important first.
#[must_use]
pub fn sentences(model: &Model) -> Vec<String> {
    match &model.answer.of {
        AnswerOf::Nothing => reasons_for_none(model),
        AnswerOf::Metrics(metrics) => match best_cell(model) {
            Some(cell) => of_metrics(model, metrics, cell),
            None => Vec::new(),
        },
        AnswerOf::Searches(ranking) => of_searches(model, ranking),
    }
}

/// A reason without the values of answers in it (`found "…"`, `got "…"`), which differ from trial to trial.
fn without_values(reason: &str) -> String {
    let mut text = String::with_capacity(reason.len());
    let mut rest = reason;
    while let Some(position) = ["found \"", "got \""]
        .iter()
        .filter_map(|words| Some(rest.find(words)? + words.len()))
        .min()
    {
        text.push_str(&rest[..position]);
        rest = &rest[position..];
        let mut is_escaped = false;
        let end = rest.find(|letter: char| {
            let ends = letter == '"' && !is_escaped;
            is_escaped = letter == '\\' && !is_escaped;
            ends
        });
        rest = &rest[end.unwrap_or(rest.len())..];
    }
    text + rest
}

/// Why there is no answer. Of reasons that differ in values the first one is told.
fn reasons_for_none(model: &Model) -> Vec<String> {
    let mut reasons: Vec<(&str, usize)> = Vec::new();
    for failure in model
        .trials
        .iter()
        .filter_map(|trial| trial.failure.as_ref())
    {
        let kind = without_values(&failure.reason);
        match reasons
            .iter_mut()
            .find(|(known, _)| without_values(known) == kind)
        {
            Some((_, count)) => *count += 1,
            None => reasons.push((&failure.reason, 1)),
        }
    }
    reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let mut sentences = vec!["No trial was completed, so the study has no answer.".to_owned()];
    let trials = model.trials.len();
    for (reason, count) in reasons.iter().take(REASONS_TOLD) {
        let end = match reason.ends_with(['.', '?', '!']) {
            true => "",
            false => ".",
        };
        sentences.push(match trials {
            1 => format!("The trial failed: {reason}{end}"),
            _ => format!("{count} of {trials} trials failed: {reason}{end}"),
        });
    }
    if reasons.len() > REASONS_TOLD {
        let others = reasons.len() - REASONS_TOLD;
        sentences.push(format!("{others} other reasons are in the list of trials."));
    }
    sentences
}

fn best_cell(model: &Model) -> Option<&CellModel> {
    model.cell(model.answer.cell?)
}

fn of_metrics(model: &Model, metrics: &[MetricAnswer], shown: &CellModel) -> Vec<String> {
    let mut sentences = Vec::new();
    let cells = model.cells.len();
    let asked = || {
        metrics
            .iter()
            .filter(|answer| answer.role == AnswerRole::Asked)
    };
    for metric in asked() {
        let of_effects = model.effects.as_ref();
        let of_effects = of_effects.map_or_else(Vec::new, |effects| {
            effects::words::in_answer(effects, &metric.name)
        });
        let of_cells = best_and_worst(model, metric);
        // Of one factor the best cell is one of its levels; of several it is no level of any.
        sentences.extend(match model.telling.len() {
            1 => [of_effects, of_cells].concat(),
            _ => [of_cells, of_effects].concat(),
        });
    }
    sentences.extend(causes::throughout(model));
    let is_said = |metric: Metric| metrics.iter().any(|answer| answer.metric == metric);
    let of_cell = [
        response(shown).filter(|_| {
            asked().all(|answer| answer.metric != Metric::Time(TimeKind::Response)) || cells > 1
        }),
        delay(shown).filter(|_| !is_said(Metric::Delay)),
        model.answer.limit.as_ref().map(limit),
        cpu_capacity(model),
    ];
    // All of them are about this cell: one prefix is enough.
    let prefix = match cells {
        0 | 1 => String::new(),
        _ => format!("At {}, ", cell_name(model, shown)),
    };
    sentences.extend(add_prefix(&prefix, of_cell));
    sentences.extend(stalls::words::sentences(model, shown));
    for metric in asked() {
        sentences.extend(ties(model, metric));
    }
    let of_thresholds = metrics.iter().filter_map(|metric| threshold(model, metric));
    sentences.extend(of_thresholds);
    sentences.extend(model.account.as_ref().map(|all| completeness(all, cells)));
    sentences
}

pub(crate) fn best_and_worst(model: &Model, answer: &MetricAnswer) -> Vec<String> {
    let mut sentences = Vec::new();
    let name = uncapitalise(&answer.name);
    let (best_word, worst_word) = match answer.wish {
        Wish::Less => ("lowest", "highest"),
        Wish::More | Wish::Neither => ("highest", "lowest"),
    };
    if answer.known == 0 {
        sentences.push(format!(
            "Nothing is known of the {name} in any cell; what was measured is shown with its verdict."
        ));
    }
    let part = match answer.known {
        known if known == answer.of || known == 0 => String::new(),
        known => format!(
            "Of the {known} of {} cells whose {name} is known, the ",
            answer.of
        ),
    };
    let is_wish_less = answer.wish == Wish::Less;
    let best = cell_value(model, answer, &answer.best);
    let Some(worst) = &answer.worst else {
        sentences.push(format!("{} is {best}.", answer.name));
        return sentences;
    };
    let start = match part.as_str() {
        "" => "The ",
        part => part,
    };
    sentences.push(format!(
        "{start}{best_word} {}{name} is {best}; the {worst_word} {}is {}.",
        measured_word(&answer.best, !is_wish_less),
        measured_word(worst, is_wish_less),
        cell_value(model, answer, worst)
    ));
    sentences
}

/// `measured ` where the system's own value may be beyond the measured one, away from the end at which it stands.
fn measured_word(value: &CellValue, is_high_end: bool) -> &'static str {
    let is_against = match is_high_end {
        true => value.is_open_below(),
        false => value.is_open_above(),
    };
    if is_against { "measured " } else { "" }
}

/// More cells than this are counted and not named.
const TIED_SHOWN: usize = 3;

/// That cells may be as good as the best one, since a doubt leaves it open.
fn reach_sentence(model: &Model, answer: &MetricAnswer, open: &[&TiedCell]) -> String {
    let (how, bound) = match answer.wish {
        Wish::Less => ("low", "an upper bound"),
        Wish::More | Wish::Neither => ("high", "a lower bound"),
    };
    format!(
        "{} {} may be as {how} as at {}: the trials give only {bound} of {}.",
        answer.name,
        cell_names(model, answer, open),
        name_of(model, answer.best.cell),
        if open.len() == 1 { "it" } else { "each" }
    )
}

/// Cells whose value may be as good as the best one: because a doubt leaves that open, or because the trials do not show that they differ.
pub(crate) fn ties(model: &Model, answer: &MetricAnswer) -> Vec<String> {
    let is_open = |tied: &&TiedCell| match answer.wish {
        Wish::Less => tied.value.is_open_below(),
        Wish::More | Wish::Neither => tied.value.is_open_above(),
    };
    let (open, rest): (Vec<&TiedCell>, Vec<&TiedCell>) = answer.tied.iter().partition(is_open);
    let (alone, alike): (Vec<&TiedCell>, Vec<&TiedCell>) =
        rest.into_iter().partition(|tied| tied.is_alone);
    let best = name_of(model, answer.best.cell);
    let has_interval = |value: &CellValue| match value.number {
        Number::Estimate(estimate) => estimate.interval.is_some(),
        Number::Exact(_) | Number::Within(_) => false,
    };
    let may_reach = (!open.is_empty()).then(|| reach_sentence(model, answer, &open));
    let by_itself = (!alone.is_empty()).then(|| {
        format!(
            "{} at {best} differs from that {} if two cells are compared by themselves, which is not shown together for all {} pairs of cells \
             (Holm){}.",
            answer.name,
            cell_names(model, answer, &alone),
            answer.comparisons,
            enough_trials(&alone)
        )
    });
    let differ = (!alike.is_empty() && has_interval(&answer.best)).then(|| {
        format!(
            "{} at {best} is not shown to differ from that {}{}.",
            answer.name,
            cell_names(model, answer, &alike),
            enough_trials(&alike)
        )
    });
    [may_reach, by_itself, differ]
        .into_iter()
        .flatten()
        .collect()
}

/// `; if the ratios are those observed, 5 to 12 trials of each cell would show it`, as far as trials can.
fn enough_trials(tied: &[&TiedCell]) -> String {
    let needed: Option<Vec<TrialsNeeded>> = tied.iter().map(|tied| tied.trials_needed).collect();
    let needed = needed.and_then(|all| all.into_iter().reduce(TrialsNeeded::combine));
    needed.map_or_else(String::new, |needed| {
        format!(
            "; if the ratios are those observed, {} of each cell would show it",
            trials_needed::count(needed, "trial")
        )
    })
}

/// `at connections=1 (2.10k)`, or how many.
fn cell_names(model: &Model, answer: &MetricAnswer, tied: &[&TiedCell]) -> String {
    match tied.len() {
        some if some + 1 == answer.known => "of any other cell".to_owned(),
        some if some > TIED_SHOWN => format!("of {some} other cells"),
        _ => {
            let names = tied.iter().map(|TiedCell { value, .. }| {
                let point = bound_sign(value, in_unit(value.number.point(), answer.unit));
                format!("{} ({point})", name_of(model, value.cell))
            });
            format!("at {}", names.collect::<Vec<_>>().join("; "))
        }
    }
}

/// A metric that only thresholds name: where it is lowest and highest, and whether they hold.
fn threshold(model: &Model, answer: &MetricAnswer) -> Option<String> {
    let AnswerRole::Threshold(places) = &answer.role else {
        return None;
    };
    // The account of records says what became of them.
    if model.account.is_some() && is_of_records(answer.metric) {
        return None;
    }
    let said = places
        .iter()
        .filter_map(|place| model.thresholds.get(*place));
    let said: Vec<String> = said.map(threshold_text).collect();
    let what = match &answer.worst {
        None => format!(
            "{} is {}",
            answer.name,
            cell_value(model, answer, &answer.best)
        ),
        Some(worst) => format!(
            "{} is {} to {}",
            answer.name,
            cell_value(model, answer, &answer.best),
            cell_value(model, answer, worst)
        ),
    };
    Some(format!("{what}: {}.", said.join("; ")))
}

fn is_of_records(metric: Metric) -> bool {
    matches!(
        metric,
        Metric::Missing | Metric::LossRate | Metric::Delivered
    )
}

/// `p99 < 500ms holds in all 6 cells`.
fn threshold_text(outcome: &ThresholdOutcome) -> String {
    let total = outcome.cells.len();
    let matches = outcome
        .cells
        .iter()
        .filter(|cell| cell.held == outcome.held);
    let label = conditions::decision_label(outcome.held);
    match matches.count() {
        _ if total == 1 => format!("{} {}", outcome.text, verb(label)),
        all if all == total => format!("{} {} in all {total} cells", outcome.text, verb(label)),
        some => format!(
            "{} {} in {some} of {total} cells",
            outcome.text,
            verb(label)
        ),
    }
}

fn verb(label: &str) -> String {
    match label {
        "undecided" => "is undecided".to_owned(),
        other => other.to_owned(),
    }
}

/// `12.4 ms at rate=50/s (95 % interval 11.9 – 13.0 ms, 5 trials)`, or `at least 538k records per second at … (…)`.
fn cell_value(model: &Model, answer: &MetricAnswer, cell_value: &CellValue) -> String {
    let place = match (model.cells.len(), name_of(model, cell_value.cell)) {
        (0 | 1, _) => String::new(),
        (_, levels) if levels.is_empty() => String::new(),
        (_, levels) => format!(" at {levels}"),
    };
    let verdict = model.cell(cell_value.cell).and_then(|cell| cell.verdict);
    let doubt = verdict
        .filter(|verdict| *verdict != Verdict::Valid)
        .map(|verdict| format!("; verdict: {}", labels::verdict(verdict)))
        .unwrap_or_default();
    let value = value(model, answer, cell_value.number.point());
    let least = cell_value.number.shown_least();
    let value = match (cell_value.verdict, least) {
        (MetricVerdict::Bound, None) => bound_words(cell_value, value),
        (_, Some(_)) => format!("at most {value}"),
        (_, None) => value,
    };
    format!("{value}{place} ({}{doubt})", certainty(answer, cell_value))
}

fn certainty(answer: &MetricAnswer, cell_value: &CellValue) -> String {
    let least = cell_value.number.shown_least();
    let lowest = least.map(|least| format!("≥ {}, ", in_unit(least, answer.unit)));
    let lowest = lowest.unwrap_or_default();
    let Number::Estimate(estimate) = cell_value.number else {
        return format!("{lowest}over all trials");
    };
    match estimate.interval {
        None => format!("{lowest}single trial, no interval"),
        Some(interval) => {
            // Trials without a doubt bound what the others leave open.
            let ends = match (
                cell_value.range.low.is_finite(),
                cell_value.range.high.is_finite(),
            ) {
                (true, true) => (cell_value.range.low, cell_value.range.high),
                _ => interval,
            };
            let measured = match cell_value.verdict {
                MetricVerdict::Estimate => "",
                MetricVerdict::Bound | MetricVerdict::Unknown => " of what was measured",
            };
            format!(
                "95 % interval{measured} {}, {} trials",
                format::ends_in_answer(ends, |value| in_unit(value, answer.unit)),
                estimate.count
            )
        }
    }
}

/// `at least 538k records per second`.
fn bound_words(cell_value: &CellValue, value: String) -> String {
    match (cell_value.is_open_below(), cell_value.is_open_above()) {
        (false, true) => format!("at least {value}"),
        (true, false) => format!("at most {value}"),
        _ => value,
    }
}

/// `≥ 538k`, where there is no room for words.
pub(crate) fn bound_sign(cell_value: &CellValue, value: String) -> String {
    match (cell_value.is_open_below(), cell_value.is_open_above()) {
        (false, true) => format!("≥ {value}"),
        (true, false) => format!("≤ {value}"),
        _ => format::value_with_bound(value, cell_value.number.shown_least()),
    }
}

fn value(model: &Model, answer: &MetricAnswer, number: f64) -> String {
    match answer.metric {
        Metric::Goodput => format!(
            "{} {} per second",
            Unit::Plain.show(number),
            labels::counted_word(model.counted)
        ),
        _ => format::in_unit(number, answer.unit),
    }
}

fn in_unit(number: f64, unit: waggle_metrics::Unit) -> String {
    match unit {
        waggle_metrics::Unit::Rate => Unit::Plain.show(number),
        unit => format::in_unit(number, unit),
    }
}

/// The highest level of all cells first, then those of the others.
fn of_searches(model: &Model, ranking: &[u32]) -> Vec<String> {
    let Some(searches) = &model.search else {
        return Vec::new();
    };
    let told = match ranking.len() {
        cells if cells > SEARCHES_TOLD => 1,
        cells => cells,
    };
    let best = ranking[..told].iter().copied();
    let mut sentences: Vec<String> = best
        .filter_map(|cell| search_sentence(searches, model.cell(cell)?))
        .collect();
    sentences.extend(causes::throughout(model));
    if let Some(best) = best_cell(model) {
        let place = match model.cells.len() {
            0 | 1 => "At that level, ".to_owned(),
            _ => format!(
                "At the highest of these levels, with {}, ",
                cell_name(model, best)
            ),
        };
        let of_cell = [response(best), model.answer.limit.as_ref().map(limit)];
        sentences.extend(add_prefix(&place, of_cell));
        sentences.extend(stalls::words::sentences(model, best));
    }
    sentences.extend(operating_points::words::in_short(model));
    sentences
}

/// `None` if nothing was searched for in the cell.
fn search_sentence(searches: &SearchModel, cell: &CellModel) -> Option<String> {
    let search = searches.of_cell(cell.cell)?;
    let place = match cell.levels.as_slice() {
        [] => String::new(),
        levels => format::levels(levels),
    };
    let why = search.shortfalls().first().map(search::words::shortfall);
    Some(search::words::sentence(
        searches.info.maximize,
        &search.answer,
        why.as_deref(),
        &place,
    ))
}

/// The sentences that exist; the first of them with a prefix.
fn add_prefix<const N: usize>(
    prefix: &str,
    sentences: [Option<String>; N],
) -> impl Iterator<Item = String> {
    let sentences = sentences.into_iter().flatten().enumerate();
    sentences.map(move |(place, sentence)| match (place, prefix) {
        (0, prefix) if !prefix.is_empty() => format!("{prefix}{}", uncapitalise(&sentence)),
        _ => sentence,
    })
}

fn response(cell: &CellModel) -> Option<String> {
    let p50 = cell.response.p50.estimate?;
    let p99 = cell.response.p99.estimate?;
    let max = cell.response.max.estimate?;
    let thin = if cell.response.p99.thin.is_some() {
        ", from few samples"
    } else {
        ""
    };
    let typical =
        percentiles::words::beside_typical(cell, "requests", percentiles::words::RESPONSE);
    // "Within" says that it is at most so long.
    let within = format::long(Some(&p99), Unit::Time);
    Some(format!(
        "Half of the requests were answered within {} and 99 % within {}{thin}{typical}; the slowest took {}.",
        Unit::Time.show(p50.point),
        within.trim_start_matches("≤ "),
        Unit::Time.show(max.point)
    ))
}

/// Over all cells, because a missing record in any of them matters.
fn completeness(account: &Account, cells: usize) -> String {
    let accepted = format::count(account.accepted);
    let missing = match account.missing.sum {
        0 => format!("In the whole study all {accepted} accepted records were delivered"),
        missing => format!(
            "In the whole study {} of {accepted} accepted records are missing, in {} of {cells} cells",
            format::count(missing),
            account.missing.cells.len(),
        ),
    };
    format!("{missing}{}.", beside_the_accepted(account))
}

/// The other counts of the delivery accounting, each after a semicolon; empty if all are zero.
fn beside_the_accepted(account: &Account) -> String {
    let part = |spread: &Spread, what: &str| match spread.sum {
        0 => String::new(),
        count => format!("; {} {what}", format::count(count)),
    };
    let unclear = format!(
        "records without a clear answer, of which {} were delivered",
        format::count(account.unknown_delivered)
    );
    [
        part(&account.duplicates, "duplicates"),
        part(&account.unknown, &unclear),
        part(
            &account.rejected_delivered,
            "rejected records were delivered",
        ),
        part(&account.stray, "unexpected records"),
    ]
    .concat()
}

fn delay(cell: &CellModel) -> Option<String> {
    let delay = cell.delay.p99.estimate?;
    let most = Unit::Time.show(delay.point);
    let source = cell.delay_source?;
    let thin = cell.delay.p99.thin;
    if thin.is_some_and(|thin| thin.is_of_windows()) {
        return Some(format!(
            "Of the records that the probe could follow ({} in all), 99 % were visible within {most}{}; what that is for all records, \
             windows of a sample do not show.",
            format::count(source.known),
            match delay.count {
                0 | 1 => "",
                _ => " in a typical trial",
            }
        ));
    }
    let typical = percentiles::words::beside_typical(cell, "records", percentiles::words::DELAY);
    let visible = match source.by {
        KnownBy::Instants => "in the store",
        KnownBy::Reads | KnownBy::Windows(_) => "visible",
    };
    Some(match delay.shown_least() {
        None => {
            let within = format::long(Some(&delay), Unit::Time);
            format!("99 % of the records were {visible} within {within}{typical}.")
        }
        Some(least) => format!(
            "The p99 of the delivery delay was at most {most} (≥ {}){typical}.",
            Unit::Time.show(least)
        ),
    })
}

fn cpu_capacity(model: &Model) -> Option<String> {
    let capacity = model.answer.limit.as_ref()?.cpu_capacity.as_ref()?;
    Some(causes::cpu_capacity(capacity))
}

fn limit(limit: &Limit) -> String {
    let most = match &limit.most {
        Some((busiest, cores)) => {
            format!(", of which {busiest} used {}", format::three_digits(*cores))
        }
        None => String::new(),
    };
    let cores = format::three_digits(limit.system_cores);
    let used = match limit.system_cpus {
        Some(1) => format!("the system used {cores} of 1 CPU{most}"),
        Some(cpus) => format!("the system used {cores} of {cpus} CPUs{most}"),
        None => format!("the system used {cores} CPUs of its nodes{most}"),
    };
    let busy = format::share(limit.generator_utilization);
    let likelier = match &limit.by {
        LimitedBy::SystemCpu => return format!("The bottleneck is the CPU of the system: {used}."),
        LimitedBy::ComponentLimit {
            component,
            cores,
            cpus,
        } => {
            let (cores, cpus) = (format::three_digits(*cores), format::three_digits(*cpus));
            return format!(
                "The bottleneck is the CPU limit of {component}: it used {cores} of the {cpus} CPUs that it may use."
            );
        }
        LimitedBy::Generator => {
            return format!(
                "The bottleneck may be the load generator (utilization {busy}), while {used}."
            );
        }
        LimitedBy::OtherPrograms { cores } => {
            let cores = format::three_digits(*cores);
            return format!(
                "The bottleneck may be other programs on the machine: they used {cores} cores, while {used}."
            );
        }
        LimitedBy::Asked => "the offered load",
        LimitedBy::UsersOrWaiting => {
            "the load that the users offer, or waiting for disks, locks or answers"
        }
        LimitedBy::Waiting => "waiting for disks, locks or answers",
        LimitedBy::Connecting => {
            "the time to open connections (a full queue of the listener makes a client wait for a second and more), or waiting for disks, \
             locks or answers"
        }
    };
    match limit.system_cpus {
        Some(_) => format!(
            "No CPU was saturated ({used}; load generator utilization {busy}), so the likely limit is {likelier}."
        ),
        // What else ran on the nodes of a cluster is not known.
        None => format!(
            "Unless a node's CPUs were saturated ({used}; load generator utilization {busy}), the likely limit is {likelier}."
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::without_values;

    #[test]
    fn reasons_are_alike_if_only_values_of_answers_differ() {
        let check = |reason: &str, other: &str, is_alike: bool| {
            let same = without_values(reason) == without_values(other);
            assert_eq!(same, is_alike, "{reason} {other}");
        };
        check(
            r#"step a: json $.t: expected "x", found "{\"t\":\"abc\"}""#,
            r#"step a: json $.t: expected "x", found "{\"t\":\"\"}""#,
            true,
        );
        check(
            r#"expected "x", got "a", at 1"#,
            r#"expected "x", got "b", at 1"#,
            true,
        );
        check(
            r#"probe "database" cannot begin"#,
            r#"probe "broker" cannot begin"#,
            false,
        );
        check(
            r#"expected "x", found "a""#,
            r#"expected "y", found "a""#,
            false,
        );
        check("found \"a", "found \"b", true);
    }
}
