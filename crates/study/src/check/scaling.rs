//! What a study asks of its scaling curves: bounds that they may cross, and pairs of levels.

use waggle_metrics::{OverTrials, resolve};
use waggle_spec::{Comparison, Pair, Scaling, Threshold};

use super::Checker;
use crate::{
    cells::Levels,
    mistake::{Finding, Position},
    nearest::{list, nearest_word},
    raw,
    tree::quote,
};

const KEY: &str = "scaling";

/// `None`: the study asks nothing, or a mistake was reported. `bounds` were read as conditions.
pub(super) fn scaling(
    checker: &mut Checker<'_>,
    study: &raw::Study,
    cells: &[Levels],
    factors: &[String],
    bounds: Vec<Threshold>,
) -> Option<Scaling> {
    let raw = study.scaling.as_ref()?;
    if study.search.is_some() {
        let what = "scaling belongs to studies without search, whose report has no scaling curves";
        let finding = Finding::new(checker.key(&[KEY]), what);
        checker.report(finding.with_expected("a study without it"));
    }
    for bound in &bounds {
        check_bound(checker, raw, bound);
    }
    let mut pairs: Vec<Pair> = Vec::new();
    for (place, given) in raw.pairs.iter().flatten().enumerate() {
        let path = [KEY, "pairs", &place.to_string()];
        match pair(checker, given, &path, cells, factors) {
            Ok(pair) if pairs.contains(&pair) => {
                let what = format!("scaling.pairs has {} twice", pair.factor);
                let finding = Finding::new(checker.position_of(&path), what);
                checker.report(finding.with_expected("each pair once"));
            }
            Ok(pair) => pairs.push(pair),
            Err(finding) => checker.report(finding),
        }
    }
    Some(Scaling { bounds, pairs })
}

/// A curve is a mean over trials, and crosses what has two sides.
fn check_bound(checker: &mut Checker<'_>, raw: &raw::Scaling, bound: &Threshold) {
    let mut texts = raw.bounds.iter().flatten();
    let place = texts.position(|text| *text == bound.text);
    let index = place.unwrap_or_default().to_string();
    let position = checker.position_of(&[KEY, "bounds", &index]);
    let path: Vec<&str> = bound.metric.iter().map(String::as_str).collect();
    let is_mean = |over: OverTrials| matches!(over, OverTrials::Mean | OverTrials::MeanOfAll);
    if bound.op == Comparison::Equal {
        let what = format!(
            "{} has no other side that a curve crosses to",
            quote(&bound.text)
        );
        checker.report(Finding::new(position, what).with_expected("<, <=, > or >="));
    } else if !resolve(&path).is_some_and(|named| is_mean(named.over_trials())) {
        let what = format!("{} is no mean over trials", path.join("."));
        let expected = "a metric with an interval over trials";
        checker.report(Finding::new(position, what).with_expected(expected));
    }
}

/// One factor with two of its levels.
fn pair(
    checker: &Checker<'_>,
    given: &raw::PairLevels,
    path: &[&str],
    cells: &[Levels],
    factors: &[String],
) -> Result<Pair, Finding> {
    let expected = "one factor with two of its levels, such as api: [kubernetes, steve]";
    let shape =
        |position: Position, what: String| Finding::new(position, what).with_expected(expected);
    let here = super::path_text(path);
    let mut entries = given.iter();
    let (Some((factor, levels)), None) = (entries.next(), entries.next()) else {
        let what = format!("{here} has {} factors", given.len());
        return Err(shape(checker.position_of(path), what));
    };
    let key = [path, &[factor.as_str()]].concat();
    let names = || factors.iter().map(String::as_str);
    if !factors.contains(factor) {
        let what = format!("{here} has {}, which is no factor", quote(factor));
        let known = match factors {
            [] => "a study with factors or cells".to_owned(),
            _ => list(names()),
        };
        let finding = Finding::new(checker.key(&key), what).with_expected(known);
        return Err(finding.with_suggestion(nearest_word(factor, names())));
    }
    let [first, second] = &levels[..] else {
        let what = format!("{here} has {} levels of {factor}", levels.len());
        return Err(shape(checker.position_of(&key), what));
    };
    let levels = [first, second].map(ToString::to_string);
    let known = levels_of(factor, cells);
    for (place, level) in levels.iter().enumerate() {
        let position = checker.position_of(&[&key[..], &[place.to_string().as_str()]].concat());
        if levels[..place].contains(level) {
            let what = format!("{here} has {level} twice");
            return Err(Finding::new(position, what).with_expected("two different levels"));
        }
        if !known.contains(level) {
            let names = || known.iter().map(String::as_str);
            let what = format!("{here} has {}, which is no level of {factor}", quote(level));
            let finding = Finding::new(position, what).with_expected(list(names()));
            return Err(finding.with_suggestion(nearest_word(level, names())));
        }
    }
    Ok(Pair {
        factor: factor.clone(),
        levels,
    })
}

/// The levels that cells have of a factor, each once.
fn levels_of(factor: &str, cells: &[Levels]) -> Vec<String> {
    let mut known: Vec<String> = Vec::new();
    for (name, level, _) in cells.iter().flatten() {
        let level = level.to_string();
        if name == factor && !known.contains(&level) {
            known.push(level);
        }
    }
    known
}
