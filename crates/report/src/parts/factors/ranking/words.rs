//! Which level of a factor is ahead, and of which others that is shown.

use waggle_analysis::{Better, RankedOutcome, RankingModel};

use crate::words::trials_needed;

pub(crate) const METHOD: &str = "Two levels differ if that can be stated together with all else that the report states about what the study asks (Holm); cells that \
     are not reliable are in the means.";

/// One of each metric of each factor.
pub(crate) fn sentences(rankings: &[RankingModel]) -> Vec<String> {
    let of_ranking = |ranking: &RankingModel| -> Vec<String> {
        let outcomes = ranking.outcomes.iter();
        outcomes.map(|outcome| sentence(ranking, outcome)).collect()
    };
    rankings.iter().flat_map(of_ranking).collect()
}

/// How many trials would tell those that are not shown to differ from the best, if that is known of one of them.
fn needed_text(outcome: &RankedOutcome) -> String {
    let best = outcome.levels.first().map(|first| first.level.as_str());
    let alike = outcome.levels.iter();
    let alike = alike.filter(|level| level.alike.iter().any(|name| Some(name.as_str()) == best));
    let needed = alike.filter_map(|level| Some((level, level.trials_needed?)));
    let Some((level, needed)) = needed.min_by_key(|(_, needed)| needed.least) else {
        return String::new();
    };
    format!(
        " ({} of each cell would show it of {}, if the ratio is the observed one)",
        trials_needed::count(needed, "trial"),
        level.level
    )
}

fn sentence(ranking: &RankingModel, outcome: &RankedOutcome) -> String {
    let Some(first) = outcome.levels.first() else {
        return String::new();
    };
    let end = match outcome.better {
        Better::Higher => "highest",
        Better::Quicker | Better::Cheaper | Better::FewerErrors => "lowest",
    };
    let (name, factor) = (&outcome.name, &ranking.factor);
    let count = outcome.levels.len();
    let shown = match first.alike.len() {
        0 => format!("it differs from each of the {} others", count - 1),
        _ if first.alike.len() == count - 1 => {
            format!(
                "no other level is shown to differ from it{}",
                needed_text(outcome)
            )
        }
        _ => format!(
            "it is not shown to differ from {}{}",
            first.alike.join(", "),
            needed_text(outcome)
        ),
    };
    let part = match outcome.combinations == outcome.of_combinations {
        true => String::new(),
        false => format!(
            " At {} of {} combinations of the other factors' levels each level has a result; the ranking rests on these.",
            outcome.combinations, outcome.of_combinations
        ),
    };
    format!(
        "{name} over {factor}: {} has the {end} mean of {count} levels; {shown}.{part}",
        first.level
    )
}
