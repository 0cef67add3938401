//! The ledger of records: what was sent, what was answered, what arrived. Pure.
//!
//! `sent = accepted + rejected + unknown` and `accepted = delivered + missing` hold because each record is visited once and
//! counted in exactly one of each.

use waggle_load::{RequestOutcome, RequestOutcomes, key_of};
use waggle_results::LedgerInfo;

use crate::probe::SeenSet;

/// Missing keys that are kept as examples.
const MISSING_KEYS_MAX: usize = 100;

/// Compares what the workers sent with what was seen.
pub(crate) fn ledger(
    accounts: &[RequestOutcomes],
    records_per_request: u32,
    seen: &SeenSet,
    late: u64,
) -> LedgerInfo {
    let mut info = LedgerInfo {
        duplicates: seen.duplicates,
        late,
        out_of_order: seen.out_of_order,
        ..LedgerInfo::default()
    };
    let mut seen_and_sent = 0;
    for (worker, account) in accounts.iter().enumerate() {
        for (request, state) in states(account) {
            let first = request * u64::from(records_per_request);
            for sequence in first..first + u64::from(records_per_request) {
                let arrived = seen.contains(worker, sequence);
                seen_and_sent += u64::from(arrived);
                count(&mut info, state, arrived, || key_of(worker, sequence));
            }
        }
    }
    info.unexpected += seen.foreign + seen.distinct - seen_and_sent;
    info
}

/// Whether every accepted record was seen.
pub(crate) fn is_complete(
    accounts: &[RequestOutcomes],
    records_per_request: u32,
    seen: &SeenSet,
) -> bool {
    let accepted = |state| state == RequestOutcome::Accepted;
    all_seen(accounts, records_per_request, seen, accepted)
}

/// Whether a record that was not accepted has not arrived: it may still come.
pub(crate) fn has_open(
    accounts: &[RequestOutcomes],
    records_per_request: u32,
    seen: &SeenSet,
) -> bool {
    let others = |state| state != RequestOutcome::Accepted;
    !all_seen(accounts, records_per_request, seen, others)
}

/// Whether every record of the requests whose outcome counts was seen.
fn all_seen(
    accounts: &[RequestOutcomes],
    records_per_request: u32,
    seen: &SeenSet,
    counts: impl Fn(RequestOutcome) -> bool,
) -> bool {
    let records = u64::from(records_per_request);
    for (worker, account) in accounts.iter().enumerate() {
        for (request, _) in states(account).filter(|(_, state)| counts(*state)) {
            let first = request * records;
            let mut sequences = first..first + records;
            if !sequences.all(|sequence| seen.contains(worker, sequence)) {
                return false;
            }
        }
    }
    true
}

/// Records in accepted requests.
pub(crate) fn count_accepted(accounts: &[RequestOutcomes], records_per_request: u32) -> u64 {
    let requests = |account| {
        states(account)
            .filter(|(_, state)| *state == RequestOutcome::Accepted)
            .count() as u64
    };
    accounts.iter().map(requests).sum::<u64>() * u64::from(records_per_request)
}

fn states(account: &RequestOutcomes) -> impl Iterator<Item = (u64, RequestOutcome)> {
    (0..account.sent_count()).filter_map(|request| Some((request, account.state(request)?)))
}

fn count(info: &mut LedgerInfo, state: RequestOutcome, arrived: bool, key: impl FnOnce() -> u64) {
    info.sent += 1;
    match (state, arrived) {
        (RequestOutcome::Accepted, true) => {
            info.accepted += 1;
            info.delivered += 1;
        }
        (RequestOutcome::Accepted, false) => {
            info.accepted += 1;
            info.missing += 1;
            if info.missing_keys.len() < MISSING_KEYS_MAX {
                info.missing_keys.push(key());
            }
        }
        (RequestOutcome::Rejected, arrived) => {
            info.rejected += 1;
            info.rejected_delivered += u64::from(arrived);
            info.unexpected += u64::from(arrived);
        }
        (RequestOutcome::Unknown, arrived) => {
            info.unknown += 1;
            info.unknown_delivered += u64::from(arrived);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use waggle_load::{RequestOutcome, RequestOutcomes, key_of};
    use waggle_results::LedgerInfo;

    use super::{count_accepted, has_open, is_complete, ledger};
    use crate::probe::SeenSet;

    const WORKERS: usize = 2;
    const SEQUENCE_MAX: u64 = 1000;

    /// The same ledger, from a map of every key to its outcome and its copies.
    fn model(
        sent: &[Vec<RequestOutcome>],
        per_request: u32,
        arrivals: &[(usize, u64)],
    ) -> LedgerInfo {
        let mut copies: BTreeMap<(usize, u64), u64> = BTreeMap::new();
        let mut info = LedgerInfo::default();
        for (index, (worker, sequence)) in arrivals.iter().enumerate() {
            if *worker >= WORKERS || *sequence >= SEQUENCE_MAX {
                info.unexpected += 1;
                continue;
            }
            let before = arrivals[..index]
                .iter()
                .filter(|(other, _)| other == worker);
            let latest = before
                .filter(|(_, sequence)| *sequence < SEQUENCE_MAX)
                .map(|(_, sequence)| *sequence)
                .max();
            let known = copies.entry((*worker, *sequence)).or_default();
            *known += 1;
            info.duplicates += u64::from(*known > 1);
            info.out_of_order +=
                u64::from(*known == 1 && latest.is_some_and(|latest| *sequence < latest));
        }
        for (worker, requests) in sent.iter().enumerate() {
            for sequence in 0..requests.len() as u64 * u64::from(per_request) {
                let arrived = copies.remove(&(worker, sequence)).is_some();
                info.sent += 1;
                match requests[usize::try_from(sequence / u64::from(per_request)).unwrap()] {
                    RequestOutcome::Accepted => {
                        info.accepted += 1;
                        info.delivered += u64::from(arrived);
                        info.missing += u64::from(!arrived);
                        if !arrived && info.missing_keys.len() < super::MISSING_KEYS_MAX {
                            info.missing_keys.push(key_of(worker, sequence));
                        }
                    }
                    RequestOutcome::Rejected => {
                        info.rejected += 1;
                        info.rejected_delivered += u64::from(arrived);
                        info.unexpected += u64::from(arrived);
                    }
                    RequestOutcome::Unknown => {
                        info.unknown += 1;
                        info.unknown_delivered += u64::from(arrived);
                    }
                }
            }
        }
        info.unexpected += copies.len() as u64;
        info
    }

    fn account(states: &[RequestOutcome]) -> RequestOutcomes {
        let mut account = RequestOutcomes::default();
        for state in states {
            let request = account.send();
            account.note(request, *state);
        }
        account
    }

    /// The same among requests that carry no record: they are answered too, but appear in no store.
    fn account_among_others(requests: &[Option<RequestOutcome>]) -> RequestOutcomes {
        let mut account = RequestOutcomes::default();
        for request in requests {
            match request {
                Some(state) => {
                    let index = account.send();
                    account.note(index, *state);
                }
                None => account.note(u64::MAX, RequestOutcome::Accepted),
            }
        }
        account
    }

    fn state() -> impl Strategy<Value = RequestOutcome> {
        prop_oneof![5 => Just(RequestOutcome::Accepted), 1 => Just(RequestOutcome::Rejected), 1 => Just(RequestOutcome::Unknown)]
    }

    proptest! {
        #[test]
        fn the_ledger_is_that_of_the_model(
            sent in prop::collection::vec(prop::collection::vec(state(), 0..12), WORKERS),
            per_request in 1u32..4,
            arrivals in prop::collection::vec((0usize..3, prop_oneof![9 => 0u64..40, 1 => 990u64..1010]), 0..80),
        ) {
            let accounts: Vec<RequestOutcomes> = sent.iter().map(|states| account(states)).collect();
            let mut seen = SeenSet::new(WORKERS, SEQUENCE_MAX);
            for (worker, sequence) in &arrivals {
                seen.note(key_of(*worker, *sequence));
            }
            let info = ledger(&accounts, per_request, &seen, 0);
            prop_assert_eq!(&info, &model(&sent, per_request, &arrivals));
            prop_assert_eq!(info.sent, info.accepted + info.rejected + info.unknown);
            prop_assert_eq!(info.accepted, info.delivered + info.missing);
            prop_assert_eq!(info.accepted, count_accepted(&accounts, per_request));
            prop_assert_eq!(info.missing == 0, is_complete(&accounts, per_request, &seen));
            let delivered = info.rejected_delivered + info.unknown_delivered;
            let open = info.rejected + info.unknown - delivered;
            prop_assert_eq!(open > 0, has_open(&accounts, per_request, &seen));
        }

        #[test]
        fn requests_without_a_record_are_not_in_the_ledger(
            requests in prop::collection::vec(
                prop::collection::vec(prop::option::of(state()), 0..24),
                WORKERS,
            ),
            arrivals in prop::collection::vec((0usize..WORKERS, 0u64..24), 0..40),
        ) {
            let accounts: Vec<RequestOutcomes> =
                requests.iter().map(|requests| account_among_others(requests)).collect();
            let mut seen = SeenSet::new(WORKERS, SEQUENCE_MAX);
            for (worker, sequence) in &arrivals {
                seen.note(key_of(*worker, *sequence));
            }
            let sent: Vec<Vec<RequestOutcome>> =
                requests.iter().map(|requests| requests.iter().flatten().copied().collect()).collect();
            prop_assert_eq!(ledger(&accounts, 1, &seen, 0), model(&sent, 1, &arrivals));
        }
    }

    #[test]
    fn one_missing_of_many_is_found_by_its_key() {
        let accounts = [account(&[RequestOutcome::Accepted; 100_000])];
        let mut seen = SeenSet::new(1, 1_000_000);
        (0..100_000)
            .filter(|sequence| *sequence != 54_321)
            .for_each(|sequence| {
                seen.note(key_of(0, sequence));
            });
        let info = ledger(&accounts, 1, &seen, 0);
        assert_eq!(
            (info.delivered, info.missing, info.missing_keys),
            (99_999, 1, vec![key_of(0, 54_321)])
        );
    }
}
