//! How the best and the worst trial of each cell were chosen.

use waggle_analysis::{BestAndWorst, BestAndWorstModel};

/// What orders trials, what is done with equal ones, and which are not ordered.
pub(crate) fn sentences(ranking: &BestAndWorstModel) -> Vec<String> {
    let order: Vec<String> = ranking
        .order
        .iter()
        .map(|metric| match metric.is_lowest_best {
            true => format!("{} (the lowest is best)", metric.name),
            false => format!("{} (the highest is best)", metric.name),
        })
        .collect();
    let mut sentences = vec![format!(
        "Trials are ordered by {}. Each further metric decides between trials that are equal in those before it; a trial without a value \
         is behind all that have one.",
        order.join(", then by ")
    )];
    let has_ties = |cell: &&BestAndWorst| {
        let mut ends = [&cell.best, &cell.worst].into_iter().flatten();
        ends.any(|trial| !trial.ties.is_empty())
    };
    let cells = ranking.cells.len();
    let tied = ranking.cells.iter().filter(has_ties).count();
    if tied > 0 {
        sentences.push(format!(
            "In {tied} of {cells} cells several trials are equal in all of these: the one with the lower repetition counts as the better."
        ));
    }
    let missing = ranking
        .cells
        .iter()
        .filter(|cell| cell.ordered < cell.ran)
        .count();
    if missing > 0 {
        sentences.push(format!(
            "In {missing} of {cells} cells a trial did not come to its end: it has no result and is not compared."
        ));
    }
    sentences
}
