//! The report's tables as plain values; Markdown and the page lay out the same ones.

use waggle_stats::Estimate;

use crate::{
    model::{
        CellModel, Counted, Model, Percentile, SPECTRUM_TICKS, TrialModel, TrialNumbers,
        TrialPercentile, TrialPercentiles,
    },
    rows,
    text::{self, NONE, Unit},
    words,
};

/// A table: heads, then rows of as many fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Table {
    /// Short and unique; an anchor in the page.
    pub(crate) id: &'static str,
    pub(crate) caption: String,
    pub(crate) heads: Vec<Head>,
    pub(crate) rows: Vec<Vec<Field>>,
}

/// A column's head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) text: String,
    pub(crate) align: Align,
}

/// Numbers stand right, words left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// What stands in one square of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) text: String,
    /// The interval, in smaller letters.
    pub(crate) range: Option<String>,
    pub(crate) kind: FieldKind,
}

/// How a field is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FieldKind {
    Plain,
    /// Greyed, with the reason.
    Thin(String),
    Verdict,
    /// Something is wrong here.
    Bad,
}

impl Field {
    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            range: None,
            kind: FieldKind::Plain,
        }
    }

    /// A count that should be nothing.
    fn nothing_expected(value: u64) -> Self {
        let kind = if value > 0 {
            FieldKind::Bad
        } else {
            FieldKind::Plain
        };
        Self {
            text: text::count(value),
            range: None,
            kind,
        }
    }

    fn estimate(estimate: Option<&Estimate>, unit: Unit) -> Self {
        let Some(estimate) = estimate else {
            return Self::plain(NONE);
        };
        let range = estimate.interval.map(|_| text::interval(estimate, unit));
        Self {
            text: unit.show(estimate.point),
            range,
            kind: FieldKind::Plain,
        }
    }

    fn percentile(percentile: &Percentile) -> Self {
        let field = Self::estimate(percentile.estimate.as_ref(), Unit::Time);
        match &percentile.thin {
            Some(reason) if percentile.estimate.is_some() => Self {
                kind: FieldKind::Thin(reason.clone()),
                ..field
            },
            _ => field,
        }
    }

    fn verdict(text: String) -> Self {
        Self {
            text,
            range: None,
            kind: FieldKind::Verdict,
        }
    }
}

fn heads(model: &Model, numbers: &[&str]) -> Vec<Head> {
    // A level is a word to its reader, but a column of numbers is read by its digits.
    let factors = model.factors.iter().map(|factor| Head {
        text: factor.name.clone(),
        align: if factor
            .levels
            .iter()
            .all(|level| level.parse::<f64>().is_ok())
        {
            Align::Right
        } else {
            Align::Left
        },
    });
    // Levels name a cell; its number is needed only where there are none.
    let cell = model.factors.is_empty().then(|| Head {
        text: "cell".to_owned(),
        align: Align::Right,
    });
    let numbers = numbers.iter().map(|head| Head {
        text: (*head).to_owned(),
        align: if ["verdict", "reasons", "why", "kind", "holds", "seen"].contains(head) {
            Align::Left
        } else {
            Align::Right
        },
    });
    cell.into_iter().chain(factors).chain(numbers).collect()
}

fn place(model: &Model, cell: &CellModel) -> Vec<Field> {
    let number = model.factors.is_empty().then(|| cell.cell.to_string());
    number
        .into_iter()
        .chain(rows::levels(model, cell))
        .map(Field::plain)
        .collect()
}

fn by_cell(model: &Model, fields: impl Fn(&CellModel) -> Vec<Field>) -> Vec<Vec<Field>> {
    model
        .cells
        .iter()
        .map(|cell| {
            let mut row = place(model, cell);
            row.extend(fields(cell));
            row
        })
        .collect()
}

/// Goodput, response time, errors, verdict.
pub(crate) fn cells(model: &Model) -> Table {
    let goodput = match model.counted {
        Counted::Records => "records/s",
        Counted::Requests => "requests/s",
    };
    let certainty = if model.info.schedule.repeat == 1 {
        "single run, no uncertainty known"
    } else {
        "with 95 % intervals over trials"
    };
    Table {
        id: "cells",
        caption: format!("Goodput and response time of each cell, {certainty}"),
        heads: heads(
            model,
            &[
                "verdict", goodput, "p50", "p90", "p99", "p99.9", "max", "errors",
            ],
        ),
        rows: by_cell(model, |cell| {
            vec![
                Field::verdict(rows::verdict(cell)),
                Field::estimate(cell.goodput.as_ref(), Unit::Plain),
                Field::percentile(&cell.response.p50),
                Field::percentile(&cell.response.p90),
                Field::percentile(&cell.response.p99),
                Field::percentile(&cell.response.p999),
                Field::percentile(&cell.response.max),
                Field {
                    kind: if cell.failed > 0 {
                        FieldKind::Bad
                    } else {
                        FieldKind::Plain
                    },
                    ..Field::plain(rows::errors(cell))
                },
            ]
        }),
    }
}

/// The account of records; `None` where none was kept.
pub(crate) fn ledger(model: &Model) -> Option<Table> {
    model
        .cells
        .iter()
        .any(|cell| cell.ledger.is_some())
        .then(|| Table {
            id: "ledger",
            caption:
                "The account of records, summed over trials: sent = accepted + rejected + unknown; \
                  accepted = delivered + missing"
                    .to_owned(),
            heads: heads(
                model,
                &[
                    "sent",
                    "accepted",
                    "rejected",
                    "unknown",
                    "of those found",
                    "delivered",
                    "missing",
                    "duplicates",
                    "late",
                    "out of order",
                    "unexpected",
                ],
            ),
            rows: by_cell(model, |cell| {
                let Some(ledger) = &cell.ledger else {
                    return vec![Field::plain(NONE); 11];
                };
                vec![
                    Field::plain(text::count(ledger.sent)),
                    Field::plain(text::count(ledger.accepted)),
                    Field::nothing_expected(ledger.rejected),
                    Field::nothing_expected(ledger.unknown),
                    Field::plain(text::count(ledger.unknown_delivered)),
                    Field::plain(text::count(ledger.delivered)),
                    Field::nothing_expected(ledger.missing),
                    Field::nothing_expected(ledger.duplicates),
                    Field::nothing_expected(ledger.late),
                    Field::plain(text::count(ledger.out_of_order)),
                    Field::nothing_expected(ledger.unexpected),
                ]
            }),
        })
}

/// From sent until visible; `None` where delivery was not followed.
pub(crate) fn delay(model: &Model) -> Option<Table> {
    model
        .cells
        .iter()
        .any(|cell| cell.delay.p50.estimate.is_some())
        .then(|| Table {
            id: "delay",
            caption: "Delivery delay, from sent until visible at the store".to_owned(),
            heads: heads(model, &["p50", "p90", "p99", "max", "known to within"]),
            rows: by_cell(model, |cell| {
                vec![
                    Field::percentile(&cell.delay.p50),
                    Field::percentile(&cell.delay.p90),
                    Field::percentile(&cell.delay.p99),
                    Field::percentile(&cell.delay.max),
                    Field::plain(
                        cell.delay_resolution_ms
                            .map_or_else(|| NONE.to_owned(), |ms| Unit::Time.show(ms * 1000.0)),
                    ),
                ]
            }),
        })
}

/// What a request cost, and how busy everything was.
pub(crate) fn cost(model: &Model) -> Table {
    let mut components: Vec<&str> = Vec::new();
    for (component, _) in model.cells.iter().flat_map(|cell| &cell.component_cores) {
        if !components.contains(&component.as_str()) {
            components.push(component);
        }
    }
    let cores: Vec<String> = components
        .iter()
        .map(|component| format!("{component}, cores"))
        .collect();
    let mut columns = vec![
        "system CPU per request",
        "load CPU per request",
        "system memory, highest",
        "busiest load worker",
    ];
    columns.extend(cores.iter().map(String::as_str));
    Table {
        id: "cost",
        caption:
            "Cost: CPU time per request, memory, and CPU used by each component while measured"
                .to_owned(),
        heads: heads(model, &columns),
        rows: by_cell(model, |cell| {
            let mut row = vec![
                Field::estimate(cell.system_cpu_us_per_request.as_ref(), Unit::Time),
                Field::estimate(cell.engine_cpu_us_per_request.as_ref(), Unit::Time),
                Field::estimate(cell.system_rss_max_bytes.as_ref(), Unit::Bytes),
                Field::plain(
                    cell.engine_busy_share
                        .map_or_else(|| NONE.to_owned(), text::share),
                ),
            ];
            row.extend(components.iter().map(|component| {
                let used = cell
                    .component_cores
                    .iter()
                    .find(|(name, _)| name == component);
                Field::estimate(used.map(|(_, cores)| cores), Unit::Plain)
            }));
            row
        }),
    }
}

/// Failures by kind; `None` where there are none.
pub(crate) fn failures(model: &Model) -> Option<Table> {
    let rows: Vec<Vec<Field>> = model
        .cells
        .iter()
        .flat_map(|cell| cell.failures.iter().map(move |failure| (cell, failure)))
        .map(|(cell, (kind, count))| {
            let mut row = place(model, cell);
            row.extend([
                Field::plain(words::failure(kind)),
                Field::nothing_expected(*count),
            ]);
            row
        })
        .collect();
    (!rows.is_empty()).then(|| Table {
        id: "failures",
        caption: "Failed requests by kind, summed over trials".to_owned(),
        heads: heads(model, &["kind", "requests"]),
        rows,
    })
}

/// Each cell's verdict with its reasons.
pub(crate) fn verdicts(model: &Model) -> Table {
    Table {
        id: "verdicts",
        caption: "Whether each cell may be believed, and why not".to_owned(),
        heads: heads(model, &["verdict", "reasons"]),
        rows: by_cell(model, |cell| {
            let reasons: Vec<&str> = cell
                .reasons
                .iter()
                .map(|reason| reason.text.as_str())
                .collect();
            let reasons = if reasons.is_empty() {
                "every check passed".to_owned()
            } else {
                reasons.join("\n")
            };
            let reasons = if cell.verdict.is_none() {
                "no trial of it has run".to_owned()
            } else {
                reasons
            };
            vec![Field::verdict(rows::verdict(cell)), Field::plain(reasons)]
        }),
    }
}

/// Every condition in every cell where it does not hold, and how many where it does.
pub(crate) fn thresholds(model: &Model) -> Option<Table> {
    let left = |text: &str| Head {
        text: text.to_owned(),
        align: Align::Left,
    };
    (!model.thresholds.is_empty()).then(|| Table {
        id: "thresholds",
        caption: "The study's thresholds; they count on valid and noisy cells only".to_owned(),
        heads: vec![left("threshold"), left("holds"), left("where it does not")],
        rows: model
            .thresholds
            .iter()
            .map(|threshold| {
                let failing: Vec<String> = threshold
                    .cells
                    .iter()
                    .filter(|cell| !cell.holds)
                    .map(|cell| failing(model, cell))
                    .collect();
                let holding = threshold.cells.len() - failing.len();
                let holds = if threshold.holds {
                    "holds in every cell".to_owned()
                } else {
                    format!(
                        "fails: holds in {holding} of {} cells",
                        threshold.cells.len()
                    )
                };
                let kind = if threshold.holds {
                    FieldKind::Plain
                } else {
                    FieldKind::Bad
                };
                vec![
                    Field::plain(&threshold.text),
                    Field {
                        kind,
                        ..Field::plain(holds)
                    },
                    Field::plain(if failing.is_empty() {
                        NONE.to_owned()
                    } else {
                        failing.join("\n")
                    }),
                ]
            })
            .collect(),
    })
}

fn failing(model: &Model, outcome: &crate::model::ThresholdCell) -> String {
    let levels = model
        .cells
        .iter()
        .find(|cell| cell.cell == outcome.cell)
        .map(|cell| text::levels(&cell.levels));
    let place = levels.unwrap_or_else(|| format!("cell {}", outcome.cell));
    let seen = outcome
        .observed
        .as_deref()
        .map(|seen| format!(" is {seen}"))
        .unwrap_or_default();
    let reason = outcome
        .reason
        .as_deref()
        .map(|reason| format!(" ({reason})"))
        .unwrap_or_default();
    format!("{place}{seen}{reason}")
}

/// One row a trial, the numbers one looks for first.
pub(crate) fn trials(model: &Model) -> Table {
    let columns = [
        "repetition",
        "ran as",
        "verdict",
        model.counted.word(),
        "p50",
        "p99",
        "max",
        "errors",
        "delivered",
        "missing",
        "why",
    ];
    let mut heads = heads(model, &columns);
    for head in &mut heads {
        if head.text == model.counted.word() {
            head.text.push_str("/s");
        }
    }
    Table {
        id: "trials",
        caption: "Every trial over its measured phase".to_owned(),
        heads,
        rows: model
            .trials
            .iter()
            .filter_map(|trial| {
                let cell = model
                    .cells
                    .iter()
                    .find(|cell| cell.cell == trial.key.cell)?;
                let mut row = place(model, cell);
                row.extend(trial_fields(trial));
                Some(row)
            })
            .collect(),
    }
}

fn trial_fields(trial: &TrialModel) -> Vec<Field> {
    let time = |pick: fn(&TrialPercentiles) -> &TrialPercentile| {
        let times = trial
            .numbers
            .as_ref()
            .and_then(|numbers| numbers.response.as_ref());
        times.map_or_else(
            || Field::plain(NONE),
            |times| {
                let one = pick(times);
                let field = Field::plain(Unit::Time.show(one.us));
                match &one.thin {
                    Some(reason) => Field {
                        kind: FieldKind::Thin(reason.clone()),
                        ..field
                    },
                    None => field,
                }
            },
        )
    };
    let number = |pick: fn(&TrialNumbers) -> Field| {
        trial
            .numbers
            .as_ref()
            .map_or_else(|| Field::plain(NONE), pick)
    };
    let ledger = |pick: fn(&waggle_results::LedgerInfo) -> Field| {
        trial
            .ledger
            .as_ref()
            .map_or_else(|| Field::plain(NONE), pick)
    };
    let reasons: Vec<&str> = trial
        .reasons
        .iter()
        .map(|reason| reason.text.as_str())
        .collect();
    vec![
        Field::plain(trial.key.repetition.to_string()),
        Field::plain(format!("{}.", trial.position)),
        Field::verdict(words::verdict(trial.verdict).to_owned()),
        number(|numbers| Field::plain(text::plain(numbers.goodput_per_s))),
        time(|times| &times.p50),
        time(|times| &times.p99),
        time(|times| &times.max),
        number(|numbers| Field::nothing_expected(numbers.failed)),
        ledger(|ledger| Field::plain(text::count(ledger.delivered))),
        ledger(|ledger| Field::nothing_expected(ledger.missing)),
        Field::plain(reasons.join("\n")),
    ]
}

/// Percentiles of all trials of a cell together, at the chart's ticks.
pub(crate) fn spectrum(model: &Model) -> Table {
    let mut columns: Vec<&str> = SPECTRUM_TICKS.iter().map(|(head, _)| *head).collect();
    columns.push("slowest");
    Table {
        id: "spectrum",
        caption:
            "Response time within which this share of a cell's answers came, all trials together"
                .to_owned(),
        heads: heads(model, &columns),
        rows: by_cell(model, |cell| {
            let last = cell.spectrum.last();
            let at = |quantile: f64| {
                // The line ends at the slowest sample; beyond it there is nothing to say.
                let point = cell
                    .spectrum
                    .iter()
                    .rev()
                    .skip(1)
                    .find(|point| (point.quantile - quantile).abs() < 1e-9);
                Field::plain(
                    point.map_or_else(|| NONE.to_owned(), |point| Unit::Time.show(point.us)),
                )
            };
            let mut row: Vec<Field> = SPECTRUM_TICKS
                .iter()
                .map(|(_, quantile)| at(*quantile))
                .collect();
            row.push(Field::plain(last.map_or_else(
                || NONE.to_owned(),
                |last| Unit::Time.show(last.us),
            )));
            row
        }),
    }
}
