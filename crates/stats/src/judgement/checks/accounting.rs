//! The books: every request and every record has one fate.

use crate::{
    judgement::{
        checks::findings::Findings,
        finding::{AccountingFinding, RecordEquation, Stretch},
        verdict::Verdict,
    },
    over_time::trial_facts::{Ledger, LoadModel, TrialFacts},
};

/// `sent = succeeded + failed + change of in flight`, for both stretches; `due = sent + skipped` for the whole run, at whose end
/// nothing waits any more.
pub(super) fn requests(facts: &TrialFacts<'_>, findings: &mut Findings) {
    for (stretch, counts) in [
        (Stretch::Measured, &facts.measured),
        (Stretch::WholeRun, &facts.totals),
    ] {
        let fates = i128::from(counts.succeeded)
            + i128::from(counts.failed)
            + i128::from(counts.in_flight_change);
        if i128::from(counts.sent) != fates {
            findings.reason(
                Verdict::Inconsistent,
                AccountingFinding::RequestFates {
                    stretch,
                    sent: counts.sent,
                    succeeded: counts.succeeded,
                    failed: counts.failed,
                    in_flight: counts.in_flight_change,
                },
            );
        }
    }
    let totals = &facts.totals;
    let planned = u128::from(totals.sent) + u128::from(totals.skipped);
    if facts.model == LoadModel::Open && u128::from(totals.due) != planned {
        findings.reason(
            Verdict::Inconsistent,
            AccountingFinding::RequestsDue {
                due: totals.due,
                sent: totals.sent,
                skipped: totals.skipped,
            },
        );
    }
}

/// `sent = accepted + rejected + unknown`, `accepted = delivered + missing`, nothing missing, nothing unexpected. A record that
/// was rejected but delivered is a fault of the system, not of the accounting.
pub(super) fn records(facts: &TrialFacts<'_>, findings: &mut Findings) {
    let Some(ledger) = &facts.ledger else { return };
    let mut equation = |whole: u64, parts: &[u64], kind: RecordEquation| {
        if u128::from(whole) != parts.iter().copied().map(u128::from).sum() {
            findings.reason(Verdict::Inconsistent, AccountingFinding::Records(kind));
        }
    };
    let Ledger {
        sent,
        accepted,
        rejected,
        unknown,
        delivered,
        missing,
        ..
    } = *ledger;
    equation(
        sent,
        &[accepted, rejected, unknown],
        RecordEquation::Sent {
            sent,
            accepted,
            rejected,
            unknown,
        },
    );
    equation(
        accepted,
        &[delivered, missing],
        RecordEquation::Accepted {
            accepted,
            delivered,
            missing,
        },
    );
    let succeeded = facts.totals.records_succeeded;
    equation(
        succeeded,
        &[accepted],
        RecordEquation::Requests {
            succeeded,
            accepted,
        },
    );
    check_unexpected(ledger, findings);
    check_missing(facts, ledger, findings);
}

fn check_unexpected(ledger: &Ledger, findings: &mut Findings) {
    let never_sent = ledger.unexpected.saturating_sub(ledger.rejected_delivered);
    if never_sent > 0 {
        let records = never_sent;
        findings.reason(
            Verdict::Inconsistent,
            AccountingFinding::NeverSent { records },
        );
    }
    if ledger.rejected_delivered > 0 {
        findings.remark(AccountingFinding::RejectedDelivered {
            kept: ledger.rejected_delivered,
            rejected: ledger.rejected,
        });
    }
}

fn check_missing(facts: &TrialFacts<'_>, ledger: &Ledger, findings: &mut Findings) {
    if ledger.missing > 0 {
        let verdict = match facts.store_unread {
            true => Verdict::InstrumentLimited,
            false => Verdict::Incomplete,
        };
        findings.reason(
            verdict,
            AccountingFinding::Missing {
                missing: ledger.missing,
                accepted: ledger.accepted,
                first_keys: ledger.missing_keys.clone(),
                unread: facts.store_unread,
            },
        );
    }
}
