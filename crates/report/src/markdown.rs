//! `report.md`: the answer and every table, for a wiki, a pull request or a terminal.

use crate::{
    facts,
    tables::{self, Align, Field, FieldKind, Table},
    wording, words,
};
use waggle_analysis::{Model, comparison_caution};

/// The report as Markdown.
#[must_use]
pub fn markdown(model: &Model) -> String {
    let mut out = format!(
        "# {}\n\n**{}**\n\n{}\n\n",
        escaped(&model.info.study),
        escaped(&model.info.question),
        answer(model)
    );
    for warning in &wording::warnings::sentences(model) {
        out.push_str(&format!("> {}\n", escaped(warning)));
        out.push_str(">\n");
    }
    if !model.warnings.is_empty() {
        out.truncate(out.len() - 2);
        out.push('\n');
    }
    section(&mut out, "Search", tables::answers(model));
    section(&mut out, "Levels tried", tables::tried(model));
    section(&mut out, "Cells", Some(tables::cells(model)));
    section(
        &mut out,
        "Beside published figures",
        tables::published(model),
    );
    section(&mut out, "Failed requests", tables::failures(model));
    section(&mut out, "Recovery", tables::recovery(model));
    section(
        &mut out,
        "Curves",
        model.curves.as_ref().map(tables::curves),
    );
    comparisons(&mut out, model);
    effects(&mut out, model);
    section(&mut out, "Steps", tables::steps(model));
    section(&mut out, "Sessions", tables::sessions(model));
    section(
        &mut out,
        "Failed requests by step",
        tables::step_failures(model),
    );
    section(&mut out, "Disturbances", tables::disturbances(model));
    records(&mut out, model);
    section(&mut out, "Delivery delay", tables::delay(model));
    section(&mut out, "Busiest component", tables::busiest(model));
    section(&mut out, "Cost", Some(tables::cost(model)));
    section(&mut out, "Watches", tables::watches(model));
    section(&mut out, "Thresholds", tables::thresholds(model));
    section(&mut out, "Verdicts", Some(tables::verdicts(model)));
    section(&mut out, "Trials", Some(tables::trials(model)));
    failed_trials(&mut out, model);
    out.push_str("## How it was measured\n\n");
    for (term, text) in facts::facts(model) {
        out.push_str(&format!("- **{term}**: {}\n", escaped(&text)));
    }
    out.push_str("\n## The study\n\n");
    fenced(&mut out, "yaml", &model.study_text);
    if let Some(file) = model
        .info
        .scenario
        .as_ref()
        .and_then(|told| told.file.as_ref())
    {
        out.push_str(&format!("{}:\n\n", escaped(&file.name)));
        fenced(&mut out, "yaml", &file.text);
    }
    out
}

fn effects(out: &mut String, model: &Model) {
    let Some(effects) = &model.effects else {
        return;
    };
    out.push_str(&format!("## Effects\n\n{}\n\n", escaped(&effects.headline)));
    for sentence in &effects.sentences {
        out.push_str(&format!("- {}\n", escaped(sentence)));
    }
    out.push('\n');
    if let Some(caution) = &effects.caution {
        out.push_str(&format!("> {}\n\n", escaped(caution)));
    }
    for note in &effects.notes {
        out.push_str(&format!("{}\n\n", escaped(note)));
    }
    section(
        out,
        "Effects: shares of the variation",
        tables::shares(effects),
    );
    section(out, "Effects: levels", tables::ratios(effects));
    section(
        out,
        "Effects: comparisons",
        tables::dependences(effects, &model.comparisons),
    );
}

fn comparisons(out: &mut String, model: &Model) {
    let Some(table) = tables::comparisons(&model.comparisons) else {
        return;
    };
    out.push_str("## Compared\n\n");
    for one in &model.comparisons {
        let title = format!(
            "{} against {} over {}",
            one.levels[1], one.levels[0], one.over.factor
        );
        out.push_str(&format!("### {}\n\n", escaped(&title)));
        for sentence in one.sentences() {
            out.push_str(&format!("- {}\n", escaped(sentence)));
        }
        out.push('\n');
        if let Some(caution) = comparison_caution(one) {
            out.push_str(&format!("> {}\n\n", escaped(&caution)));
        }
    }
    section(out, "Compared, level by level", Some(table));
}

fn records(out: &mut String, model: &Model) {
    let Some(ledger) = tables::ledger(model) else {
        return;
    };
    out.push_str("## Records\n\n");
    for sentence in &wording::account::sentences(model) {
        out.push_str(&format!("- {}\n", escaped(sentence)));
    }
    out.push('\n');
    table(out, &ledger);
    for (head, name, meaning) in tables::meanings() {
        out.push_str(&format!("- **{head}** (`{name}`): {}\n", escaped(meaning)));
    }
    out.push('\n');
}

fn answer(model: &Model) -> String {
    let verdict = model
        .answer
        .verdict
        .map(|verdict| format!("**{}** · ", words::verdict(verdict)))
        .unwrap_or_default();
    format!(
        "{verdict}{}",
        escaped(&wording::answer::sentences(model).join(" "))
    )
}

fn section(out: &mut String, title: &str, of: Option<Table>) {
    let Some(of) = of else { return };
    out.push_str(&format!("## {title}\n\n"));
    table(out, &of);
}

/// The caption, then the table, then what its marks mean.
fn table(out: &mut String, table: &Table) {
    out.push_str(&format!("{}.\n\n", escaped(&table.caption)));
    let heads: Vec<String> = table.heads.iter().map(|head| escaped(&head.text)).collect();
    let rules: Vec<&str> = table
        .heads
        .iter()
        .map(|head| match head.align {
            Align::Left => ":--",
            Align::Right => "--:",
        })
        .collect();
    out.push_str(&format!(
        "| {} |\n| {} |\n",
        heads.join(" | "),
        rules.join(" | ")
    ));
    let mut notes: Vec<&str> = Vec::new();
    for row in &table.rows {
        let fields: Vec<String> = row.iter().map(|field| shown(field, &mut notes)).collect();
        out.push_str(&format!("| {} |\n", fields.join(" | ")));
    }
    out.push('\n');
    for note in notes {
        out.push_str(&format!("\\* {note}.\n\n"));
    }
}

const THIN: &str = "few samples beyond it; the page says how many";
const EVEN: &str = "the interval holds that there is no difference";
const CHANCE: &str = "may be chance; the page says how likely";

fn shown(field: &Field, notes: &mut Vec<&str>) -> String {
    let text = match &field.range {
        Some(range) => format!("{} ({range})", field.text),
        None => field.text.clone(),
    };
    let note = match &field.kind {
        FieldKind::Thin(_) => Some(THIN),
        FieldKind::Chance(_) => Some(CHANCE),
        FieldKind::Even => Some(EVEN),
        _ => None,
    };
    if let Some(note) = note.filter(|note| !notes.contains(note)) {
        notes.push(note);
    }
    match &field.kind {
        FieldKind::Thin(_) | FieldKind::Chance(_) | FieldKind::Even => {
            format!("{}\\*", escaped(&text))
        }
        FieldKind::Bad => format!("**{}**", escaped(&text)),
        FieldKind::Plain | FieldKind::Verdict => escaped(&text),
    }
}

fn failed_trials(out: &mut String, model: &Model) {
    for trial in &model.trials {
        let Some(failure) = &trial.failure else {
            continue;
        };
        out.push_str(&format!(
            "### {} failed in {}\n\n{}\n\n",
            escaped(&trial.key.to_string()),
            words::phase(failure.phase),
            escaped(&failure.reason)
        ));
        if !failure.log_tail.is_empty() {
            fenced(out, "text", &failure.log_tail.join("\n"));
        }
    }
}

/// A fence longer than any run of backticks inside it.
fn fenced(out: &mut String, language: &str, text: &str) {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    out.push_str(&format!(
        "{fence}{language}\n{}\n{fence}\n\n",
        text.trim_end()
    ));
}

/// Nothing a study says may become markup, or break out of a table's square.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' => {
                out.push('\\');
                out.push(c);
            }
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\n' => out.push_str("<br>"),
            '\r' => {}
            _ => out.push(c),
        }
    }
    out
}
