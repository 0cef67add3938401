//! The page's sections in reading order: the answer first, how it was measured last.

use waggle_stats::{Estimate, Verdict};

use super::{
    cells, comparisons, curves, disturbed, effects, escape, published, recovery, search,
    series_table, steps, table,
};
use crate::{
    facts, tables,
    text::{self, NONE, Unit},
    wording, words,
};
use waggle_analysis::{CellModel, Model};

/// Everything between `<body>` and the scripts.
pub(super) fn body(out: &mut String, model: &Model) {
    out.push_str("<a class=\"skip\" href=\"#main\">Skip to the report</a>\n");
    bar(out, model);
    out.push_str("<main id=\"main\">\n");
    summary(out, model);
    search::section(out, model);
    cells::section(out, model);
    curves::section(out, model);
    comparisons::section(out, model);
    effects::section(out, model);
    published::section(out, model);
    spectrum(out, model);
    steps::section(out, model);
    recovery::section(out, model);
    time(out, model);
    disturbed::section(out, model);
    records(out, model);
    cost(out, model);
    verdicts(out, model);
    trials(out, model);
    method(out, model);
    study(out, model);
    out.push_str("</main>\n");
    out.push_str(&format!(
        "<footer>Written by waggle {} from the results in this file's folder. Charts: Apache ECharts 6.1.0, Apache Licence 2.0.</footer>\n",
        escape::text(&model.info.waggle_version)
    ));
}

fn bar(out: &mut String, model: &Model) {
    out.push_str(&format!(
        "<header class=\"bar\"><div class=\"inner\"><span class=\"brand\"><span class=\"comb\" aria-hidden=\"true\">⬡</span> waggle</span>\
         <span class=\"study\">{}</span><nav aria-label=\"Sections\">",
        escape::text(&model.info.study)
    ));
    let mut links = Vec::new();
    if model.find.is_some() {
        links.push(("searches", "Search"));
    }
    links.push(("factors", "Cells"));
    if model.curves.is_some() {
        links.push(("curves", "Curves"));
    }
    if !model.comparisons.is_empty() {
        links.push(("comparisons", "Compared"));
    }
    if model.effects.is_some() {
        links.push(("effects", "Effects"));
    }
    if model.published.is_some() {
        links.push(("published", "Published"));
    }
    links.push(("percentiles", "Percentiles"));
    if tables::steps(model).is_some() {
        links.push(("steps", "Steps"));
    }
    if model.info.schedule.recovery.is_some() {
        links.push(("recovery", "Recovery"));
    }
    links.push(("time", "Time"));
    if tables::disturbances(model).is_some() {
        links.push(("disturbances", "Disturbances"));
    }
    if tables::ledger(model).is_some() {
        links.push(("records", "Records"));
    }
    links.extend([
        ("cost", "Cost"),
        ("verdicts", "Verdicts"),
        ("method", "Method"),
    ]);
    for (id, name) in links {
        out.push_str(&format!("<a href=\"#{id}\">{name}</a>"));
    }
    out.push_str(
        "</nav><button type=\"button\" id=\"theme\" class=\"js-only\" aria-label=\"Switch between light and dark\">◐</button></div></header>\n",
    );
}

fn summary(out: &mut String, model: &Model) {
    let info = &model.info;
    let question = if info.question.is_empty() {
        &info.study
    } else {
        &info.question
    };
    out.push_str(&format!(
        "<section class=\"summary\" aria-labelledby=\"question\">\n<p class=\"eyebrow\">Study {} · {}</p>\n<h1 id=\"question\">{}</h1>\n",
        escape::text(&info.study),
        escape::text(&info.started_utc),
        escape::text(question)
    ));
    let badge = model
        .answer
        .verdict
        .map(|verdict| table::badge(words::verdict(verdict)))
        .unwrap_or_default();
    if let Some((first, rest)) = wording::answer::sentences(model).split_first() {
        out.push_str(&format!(
            "<p class=\"answer\">{} {badge}</p>\n",
            escape::sentence(first)
        ));
        out.push_str(&list(rest));
    }
    for warning in &wording::warnings::sentences(model) {
        out.push_str(&format!(
            "<p class=\"warning\"><strong>Note.</strong> {}</p>\n",
            escape::text(warning)
        ));
    }
    figures(out, model);
    out.push_str("</section>\n");
}

/// Sentences below each other; nothing for none.
fn list(sentences: &[String]) -> String {
    let items: Vec<String> = sentences
        .iter()
        .map(|sentence| format!("<li>{}</li>", escape::sentence(sentence)))
        .collect();
    if items.is_empty() {
        return String::new();
    }
    format!("<ul class=\"more\">{}</ul>\n", items.concat())
}

/// One figure: what, how much, the small print.
type Figure = (String, String, String);

fn figures(out: &mut String, model: &Model) {
    let best = model
        .answer
        .cell
        .and_then(|number| model.cells.iter().find(|cell| cell.cell == number));
    let mut figures: Vec<Figure> = best.map(|cell| of_best(model, cell)).unwrap_or_default();
    figures.extend(of_all(model));
    out.push_str("<dl class=\"figures\">\n");
    for (what, value, small) in figures {
        out.push_str(&format!(
            "<div><dt>{}</dt><dd>{}<small>{}</small></dd></div>\n",
            escape::text(&what),
            escape::text(&value),
            escape::text(&small)
        ));
    }
    out.push_str("</dl>\n");
}

fn of_best(model: &Model, cell: &CellModel) -> Vec<Figure> {
    let lone = model.cells.len() == 1;
    let (most, there) = if lone {
        ("Goodput", "")
    } else {
        ("Highest goodput", ", there")
    };
    let figure = |what: String, estimate: Option<&Estimate>, unit: Unit| {
        let estimate = estimate?;
        let range = match estimate.interval {
            Some(_) => text::interval(estimate, unit),
            None => "single run".to_owned(),
        };
        Some((what, unit.show(estimate.point), range))
    };
    let word = words::counted(model.counted);
    let goodput = figure(
        format!("{most}, {word}"),
        cell.goodput.as_ref(),
        Unit::Plain,
    )
    .map(|(what, value, range)| {
        let place = if lone {
            String::new()
        } else {
            format!(" · {}", text::levels(&cell.levels))
        };
        (what, format!("{value}/s"), format!("{range}{place}"))
    });
    let time = |what: &str, estimate: Option<&Estimate>| {
        figure(format!("{what}{there}"), estimate, Unit::Time)
    };
    [
        goodput,
        time("Response time p99", cell.response.p99.estimate.as_ref()),
        time("Delivery delay p99", cell.delay.p99.estimate.as_ref()),
        time(
            "System CPU per request",
            cell.system_cpu_us_per_request.as_ref(),
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn of_all(model: &Model) -> Vec<Figure> {
    let mut figures = Vec::new();
    let ledgers: Vec<_> = model
        .cells
        .iter()
        .filter_map(|cell| cell.ledger.as_ref())
        .collect();
    if !ledgers.is_empty() {
        let delivered: u64 = ledgers.iter().map(|ledger| ledger.delivered).sum();
        let missing: u64 = ledgers.iter().map(|ledger| ledger.missing).sum();
        figures.push((
            "Records missing".to_owned(),
            text::count(missing),
            match model.find {
                Some(_) => format!("{} delivered, at those levels", text::count(delivered)),
                None => format!("{} delivered, all trials", text::count(delivered)),
            },
        ));
    }
    let believed = model
        .cells
        .iter()
        .filter(|cell| cell.verdict.is_some_and(words::may_be_believed))
        .count();
    let counts: Vec<String> = model
        .verdict_counts()
        .iter()
        .map(|(verdict, count)| format!("{count} {}", words::verdict(*verdict)))
        .collect();
    figures.push((
        "Cells to be believed".to_owned(),
        format!("{believed} of {}", model.cells.len()),
        counts.join(", "),
    ));
    figures
}

pub(super) fn open(out: &mut String, id: &str, title: &str, lead: &str) {
    out.push_str(&format!(
        "<section aria-labelledby=\"{id}\">\n<h2 id=\"{id}\">{title}</h2>\n"
    ));
    if !lead.is_empty() {
        out.push_str(&format!("<p class=\"lead\">{}</p>\n", escape::text(lead)));
    }
}

pub(super) const CLOSE: &str = "</section>\n";

/// An empty place that a script fills; without scripts it does not show.
pub(super) fn chart(out: &mut String, id: &str, label: &str, class: &str) {
    out.push_str(&format!(
        "<figure class=\"chart js-only {class}\"><figcaption id=\"{id}-label\">{}</figcaption>\
         <div id=\"{id}\" class=\"plot\" role=\"img\" aria-labelledby=\"{id}-label\"></div></figure>\n",
        escape::text(label)
    ));
}

fn spectrum(out: &mut String, model: &Model) {
    open(
        out,
        "percentiles",
        "Percentiles of the response time",
        "All trials of a cell together. Each step to the right leaves a tenth of the requests; a line ends where one sample is left.",
    );
    out.push_str("<fieldset class=\"chips js-only\" id=\"spectrum-cells\"><legend>Cells shown</legend></fieldset>\n");
    chart(
        out,
        "spectrum",
        "Response time by percentile, both axes logarithmic",
        "wide",
    );
    table::write(out, &tables::spectrum(model));
    out.push_str(CLOSE);
}

fn time(out: &mut String, model: &Model) {
    open(
        out,
        "time",
        "Over time",
        "Seconds count from the start of the load. Warm-up is left out of every number; it is shown so that one can see why.",
    );
    out.push_str("<div class=\"choose js-only\" id=\"time-choice\"></div>\n");
    let goodput = format!("Goodput and failures, {}/s", words::counted(model.counted));
    chart(out, "time-rate", &goodput, "wide");
    chart(
        out,
        "time-latency",
        "Response time, p50 and p99 of each interval",
        "wide",
    );
    chart(
        out,
        "time-cpu",
        "CPU of each component and of waggle, cores",
        "wide",
    );
    chart(
        out,
        "time-backlog",
        "Backlog: accepted and not yet visible, records",
        "wide",
    );
    for (place, watch) in model.info.watches.iter().enumerate() {
        let label = format!("{}: {}", watch.name, watch.summary);
        chart(out, &format!("time-watch-{place}"), &label, "wide");
    }
    out.push_str(
        "<details class=\"series\"><summary>The same as tables, trial by trial</summary>\n",
    );
    for trial in &model.trials {
        series_table::write(out, trial, model.counted);
    }
    out.push_str("</details>\n");
    out.push_str(CLOSE);
}

fn records(out: &mut String, model: &Model) {
    let (ledger, delay) = (tables::ledger(model), tables::delay(model));
    if ledger.is_none() && delay.is_none() {
        return;
    }
    open(out, "records", "Every record accounted for", "");
    if let Some(ledger) = ledger {
        out.push_str(&list(&wording::account::sentences(model)));
        table::write(out, &ledger);
        out.push_str("<details class=\"legend\"><summary>What the words mean, and how thresholds name them</summary>\n<dl class=\"facts\">\n");
        for (head, name, meaning) in tables::meanings() {
            out.push_str(&format!(
                "<dt>{head}</dt><dd>{meaning} (<code>{name}</code>)</dd>\n"
            ));
        }
        out.push_str("</dl></details>\n");
    }
    if let Some(delay) = delay {
        table::write(out, &delay);
    }
    out.push_str(CLOSE);
}

fn cost(out: &mut String, model: &Model) {
    open(out, "cost", "What it cost, and who was busy", "");
    let busiest = tables::busiest(model).into_iter();
    for table in busiest
        .chain([tables::cost(model)])
        .chain(tables::watches(model))
    {
        table::write(out, &table);
    }
    out.push_str(CLOSE);
}

fn verdicts(out: &mut String, model: &Model) {
    open(out, "verdicts", "Verdicts and thresholds", "");
    if let Some(thresholds) = tables::thresholds(model) {
        table::write(out, &thresholds);
    }
    table::write(out, &tables::verdicts(model));
    failed_trials(out, model);
    out.push_str("<details class=\"legend\"><summary>What the verdicts mean</summary>\n<dl class=\"facts\">\n");
    for verdict in [
        Verdict::Valid,
        Verdict::Noisy,
        Verdict::Unsteady,
        Verdict::Overloaded,
        Verdict::InstrumentLimited,
        Verdict::Incomplete,
        Verdict::Inconsistent,
        Verdict::Failed,
    ] {
        out.push_str(&format!(
            "<dt>{}</dt><dd>{}</dd>\n",
            table::badge(words::verdict(verdict)),
            escape::text(words::meaning(verdict))
        ));
    }
    out.push_str("</dl></details>\n");
    out.push_str(CLOSE);
}

fn failed_trials(out: &mut String, model: &Model) {
    for trial in &model.trials {
        let Some(failure) = &trial.failure else {
            continue;
        };
        out.push_str(&format!(
            "<article class=\"failure\"><h3>{}, repetition {}: failed in {}</h3>\n<p>{}</p>\n",
            escape::text(&text::levels(&trial.levels)),
            trial.key.repetition,
            words::phase(failure.phase),
            escape::text(&failure.reason)
        ));
        if !failure.log_tail.is_empty() {
            out.push_str(&format!(
                "<pre tabindex=\"0\" aria-label=\"Last lines of the log\">{}</pre>\n",
                escape::text(&failure.log_tail.join("\n"))
            ));
        }
        out.push_str("</article>\n");
    }
}

fn trials(out: &mut String, model: &Model) {
    open(out, "trials", "Every trial", "");
    table::write(out, &tables::trials(model));
    let remarked = || {
        model
            .trials
            .iter()
            .filter(|trial| !trial.remarks.is_empty())
    };
    if remarked().next().is_some() {
        out.push_str("<ul class=\"remarks\">\n");
        for trial in remarked() {
            out.push_str(&format!(
                "<li>{}, repetition {}: {}</li>\n",
                escape::text(&text::levels(&trial.levels)),
                trial.key.repetition,
                escape::text(&trial.remarks.join("; "))
            ));
        }
        out.push_str("</ul>\n");
    }
    out.push_str("<details class=\"every\"><summary>Every number of every trial, in full (as in tables.csv)</summary>\n");
    table::write(out, &crate::csv::table(model));
    out.push_str("</details>\n");
    out.push_str(CLOSE);
}

fn method(out: &mut String, model: &Model) {
    open(out, "method", "How it was measured", "");
    out.push_str("<dl class=\"facts\">\n");
    for (term, text) in facts::facts(model) {
        let text = if text.is_empty() {
            NONE.to_owned()
        } else {
            text
        };
        out.push_str(&format!(
            "<dt>{term}</dt><dd>{}</dd>\n",
            escape::text(&text)
        ));
    }
    out.push_str("</dl>\n");
    out.push_str(CLOSE);
}

fn study(out: &mut String, model: &Model) {
    open(out, "study", "The study", "");
    out.push_str(&format!(
        "<pre tabindex=\"0\" aria-label=\"Text of the study\">{}</pre>\n",
        escape::text(model.study_text.trim_end())
    ));
    if let Some(file) = model
        .info
        .scenario
        .as_ref()
        .and_then(|told| told.file.as_ref())
    {
        out.push_str(&format!(
            "<h3>{}</h3>\n<pre tabindex=\"0\" aria-label=\"Text of the scenario\">{}</pre>\n",
            escape::text(&file.name),
            escape::text(file.text.trim_end())
        ));
    }
    out.push_str(CLOSE);
}
