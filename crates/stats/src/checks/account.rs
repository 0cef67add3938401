//! The books: every request and every record has one fate.

use super::Findings;
use crate::{
    Verdict,
    facts::{Ledger, LoadModel, TrialFacts},
    words::count,
};

/// `sent = succeeded + failed + change of in flight`, for both stretches; `due = sent + skipped` for the whole run,
/// at whose end nothing waits any more.
pub(super) fn requests(facts: &TrialFacts<'_>, found: &mut Findings) {
    for (stretch, counts) in [
        ("measured phase", &facts.measured),
        ("whole run", &facts.totals),
    ] {
        let fates = i128::from(counts.succeeded)
            + i128::from(counts.failed)
            + i128::from(counts.in_flight_change);
        if i128::from(counts.sent) != fates {
            let text = format!(
                "{stretch}: {} requests sent, but {} succeeded + {} failed + {} in flight = {}",
                count(counts.sent),
                count(counts.succeeded),
                count(counts.failed),
                signed(counts.in_flight_change.into()),
                signed(fates),
            );
            found.reason(Verdict::Inconsistent, text);
        }
    }
    let totals = &facts.totals;
    let planned = u128::from(totals.sent) + u128::from(totals.skipped);
    if facts.model == LoadModel::Open && u128::from(totals.due) != planned {
        let text = format!(
            "whole run: {} requests fell due, but {} sent + {} skipped = {}",
            count(totals.due),
            count(totals.sent),
            count(totals.skipped),
            count(planned),
        );
        found.reason(Verdict::Inconsistent, text);
    }
}

/// `sent = accepted + rejected + unknown`, `accepted = delivered + missing`, nothing missing, and nothing that was never sent.
/// What the system kept and denied is a fault of the system, not of the account.
pub(super) fn records(facts: &TrialFacts<'_>, found: &mut Findings) {
    let Some(ledger) = &facts.ledger else { return };
    let add = |parts: &[u64]| parts.iter().map(|part| u128::from(*part)).sum::<u128>();
    let mut equation = |whole: u64, name: &str, parts: [(u64, &str); 3]| {
        let sum = add(&parts.map(|part| part.0));
        if u128::from(whole) != sum {
            let named: Vec<String> = parts
                .iter()
                .filter(|part| !part.1.is_empty())
                .map(|(part, name)| format!("{} {name}", count(*part)))
                .collect();
            let text = format!(
                "records: {} {name}, but {} = {}",
                count(whole),
                named.join(" + "),
                count(sum)
            );
            found.reason(Verdict::Inconsistent, text);
        }
    };
    let (accepted, rejected) = ((ledger.accepted, "accepted"), (ledger.rejected, "rejected"));
    equation(
        ledger.sent,
        "sent",
        [accepted, rejected, (ledger.unknown, "unknown")],
    );
    equation(
        ledger.accepted,
        "accepted",
        [
            (ledger.delivered, "delivered"),
            (ledger.missing, "missing"),
            (0, ""),
        ],
    );
    equation(
        facts.totals.records_succeeded,
        "in requests that succeeded",
        [
            (ledger.accepted, "accepted by the ledger"),
            (0, ""),
            (0, ""),
        ],
    );
    what_should_not_be_there(ledger, found);
    what_is_missing(facts, ledger, found);
}

fn what_should_not_be_there(ledger: &Ledger, found: &mut Findings) {
    // A run of before they were told apart has both in the one.
    let never_sent = ledger.unexpected.saturating_sub(ledger.rejected_delivered);
    if never_sent > 0 {
        let text = format!(
            "records: {} found in the store that should not be there",
            count(never_sent)
        );
        found.reason(Verdict::Inconsistent, text);
    }
    if ledger.rejected_delivered > 0 {
        found.remarks.push(format!(
            "{} of {} rejected records are in the store all the same",
            count(ledger.rejected_delivered),
            count(ledger.rejected)
        ));
    }
}

fn what_is_missing(facts: &TrialFacts<'_>, ledger: &Ledger, found: &mut Findings) {
    if ledger.missing > 0 {
        let keys: Vec<String> = ledger
            .missing_keys
            .iter()
            .map(ToString::to_string)
            .collect();
        let first = if keys.is_empty() {
            String::new()
        } else {
            format!("; first keys: {}", keys.join(", "))
        };
        let of_all = format!(
            "{} of {} accepted records",
            count(ledger.missing),
            count(ledger.accepted)
        );
        if facts.store_unread {
            let text = format!(
                "{of_all} were not seen, but the probe had not read all that was in the store when the drain's time was up: they may be there{first}"
            );
            found.reason(Verdict::InstrumentLimited, text);
        } else {
            let text = format!("{of_all} are not in the store{first}");
            found.reason(Verdict::Incomplete, text);
        }
    }
}

fn signed(value: i128) -> String {
    let sign = if value < 0 { "−" } else { "" };
    format!("{sign}{}", count(value.unsigned_abs()))
}
