//! Operating points of a search: the shares of the capacity, and the trials at each.

use waggle_spec::OperatingPoints;

use super::Checker;
use crate::{mistake::Finding, raw};

const REPEAT: u32 = 3;

const PATH: [&str; 2] = ["search", "operating_points"];

/// `None`: the search has none, or a mistake was reported.
pub(super) fn operating_points(
    checker: &mut Checker<'_>,
    raw: &raw::Search,
) -> Option<OperatingPoints> {
    let points = raw.operating_points.as_ref()?;
    refuse_connections(checker, raw);
    let mut shares: Vec<f64> = Vec::new();
    for (place, raw::Share(share)) in points.shares.iter().flatten().enumerate() {
        let index = place.to_string();
        let path = [PATH[0], PATH[1], "shares", &index];
        let position = checker.position_of(&path);
        let what = format!("{} is {share}", super::path_text(&path));
        if !(0.0 < *share && *share <= 1.0) {
            let expected = "a share of the capacity above 0 % and at most 100 %, such as 50%";
            checker.report(Finding::new(position, what).with_expected(expected));
        } else if shares.contains(share) {
            checker.report(Finding::new(position, what).with_expected("each share once"));
        }
        shares.push(*share);
    }
    Some(OperatingPoints {
        shares,
        repeat: checker.value_or_default(points.repeat, &[PATH[0], PATH[1], "repeat"], REPEAT)?,
    })
}

/// A closed load keeps its system busy with any number of connections: a share of them is no share of the load.
fn refuse_connections(checker: &mut Checker<'_>, raw: &raw::Search) {
    if matches!(raw.maximize, Some(raw::Maximize::Connections)) {
        let what = "search.operating_points belongs to a search for a rate or for users: with half of its connections a closed load does \
                    not ask for half as much";
        let expected =
            "maximize: rate with load.model open, or maximize: users with load.model users";
        checker.report(Finding::new(checker.key(&PATH), what).with_expected(expected));
    }
}
