//! The part `scaling` of a study: what it asks of its scaling curves, which are bounds that they may cross, and pairs of levels.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;
use waggle_metrics::{OverTrials, resolve};
use waggle_spec::{Comparison, Pair, Threshold};

use crate::{
    Level,
    at::{At, Key},
    check::Checker,
    levels::Levels,
    mistake::Finding,
    nearest::{list, nearest_word},
    tree::quote,
};

/// What is asked of the curves over a factor whose levels are numbers.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Scaling {
    /// Conditions as in `thresholds`, e.g. `list.response_time.mean < 1s`. They judge nothing: the report says at which level a curve
    /// crosses them. Thresholds are such bounds, too.
    #[schemars(length(min = 1))]
    pub bounds: Key<Vec<At<String>>>,
    /// Two levels of another factor, e.g. `{ api: [kubernetes, steve] }`: how far the second is from the first in each metric that the
    /// study asks about, for each unit of the factor and as a ratio, and from which level on which one is ahead.
    #[schemars(length(min = 1))]
    pub pairs: Key<Vec<At<PairLevels>>>,
}

/// One factor with two of its levels.
type PairLevels = IndexMap<String, At<Vec<At<Level>>>>;

/// `None`: the study asks nothing, or a mistake was reported. `bounds` were read from `scaling.bounds`.
pub(crate) fn scaling(
    checker: &mut Checker<'_>,
    given: &Key<Scaling>,
    cells: &[Levels],
    factors: &[String],
    bounds: Vec<At<Threshold>>,
) -> Option<waggle_spec::Scaling> {
    let keys = given.value()?;
    for bound in &bounds {
        check_bound(checker, bound);
    }
    let mut pairs: Vec<Pair> = Vec::new();
    for given in keys.pairs.value().into_iter().flatten() {
        match pair(given, cells, factors) {
            Ok(pair) if pairs.contains(&pair) => {
                let what = format!("scaling.pairs has {} twice", pair.factor);
                let finding = Finding::new(given.place.value, what);
                checker.report(finding.with_expected("each pair once"));
            }
            Ok(pair) => pairs.push(pair),
            Err(finding) => checker.report(finding),
        }
    }
    Some(waggle_spec::Scaling {
        bounds: bounds.into_iter().map(|bound| bound.value).collect(),
        pairs,
    })
}

/// Reports the part in a study with a search.
pub(crate) fn refuse_search(checker: &mut Checker<'_>, given: &Key<Scaling>) {
    if let Some(At { place, .. }) = given.content() {
        let why = "belongs to studies without search, whose report has no scaling curves";
        checker.report(place.key_mistake(why).with_expected("a study without it"));
    }
}

/// A curve is a mean over trials, and crosses what has two sides.
fn check_bound(
    checker: &mut Checker<'_>,
    At {
        place,
        value: bound,
    }: &At<Threshold>,
) {
    let path: Vec<&str> = bound.metric.iter().map(String::as_str).collect();
    let is_mean = |over: OverTrials| matches!(over, OverTrials::Mean | OverTrials::MeanOfAll);
    let (what, expected) = if bound.op == Comparison::Equal {
        let text = quote(&bound.text);
        let what = format!("{text} has no other side that a curve crosses to");
        (what, "<, <=, > or >=")
    } else if !resolve(&path).is_some_and(|named| is_mean(named.over_trials())) {
        let what = format!("{} is no mean over trials", path.join("."));
        (what, "a metric with an interval over trials")
    } else {
        return;
    };
    checker.report(Finding::new(place.value, what).with_expected(expected));
}

/// One factor with two of its levels.
fn pair(given: &At<PairLevels>, cells: &[Levels], factors: &[String]) -> Result<Pair, Finding> {
    let shape = "one factor with two of its levels, such as api: [kubernetes, steve]";
    let place = &given.place;
    let mut entries = given.value.iter();
    let (Some((factor, levels)), None) = (entries.next(), entries.next()) else {
        let mistake = place.mistake(format!("has {} factors", given.value.len()));
        return Err(mistake.with_expected(shape));
    };
    let names = || factors.iter().map(String::as_str);
    if !factors.contains(factor) {
        let what = format!("has {}, which is no factor", quote(factor));
        let mistake = place.mistake_in(levels.place.key, what);
        let known = match factors {
            [] => "a study with factors or cells".to_owned(),
            _ => list(names()),
        };
        let near = nearest_word(factor, names());
        return Err(mistake.with_expected(known).with_suggestion(near));
    }
    let [first, second] = &levels.value[..] else {
        let what = format!("has {} levels of {factor}", levels.value.len());
        let mistake = place.mistake_in(levels.place.value, what);
        return Err(mistake.with_expected(shape));
    };
    let known = levels_of(factor, cells);
    let names = || known.iter().map(String::as_str);
    let texts = [first, second].map(|level| level.value.to_string());
    for (index, (level, text)) in [first, second].into_iter().zip(&texts).enumerate() {
        let position = level.place.value;
        if texts[..index].contains(text) {
            let mistake = place.mistake_in(position, format!("has {text} twice"));
            return Err(mistake.with_expected("two different levels"));
        }
        if !known.contains(text) {
            let what = format!("has {}, which is no level of {factor}", quote(text));
            let mistake = place.mistake_in(position, what);
            let near = nearest_word(text, names());
            return Err(mistake.with_expected(list(names())).with_suggestion(near));
        }
    }
    Ok(Pair {
        factor: factor.clone(),
        levels: texts,
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
