//! What was asked before the run, and what was found by looking at its results.

use waggle_analysis::{AskedBefore, Model, Origin, headline};
use waggle_results::FixedPart;

use crate::words::{fact::Fact, sentence::uncapitalise};

/// `asked`, `found by looking`.
pub(crate) fn label(origin: Origin) -> &'static str {
    match origin {
        Origin::Asked => "asked",
        Origin::Found => "found by looking",
    }
}

/// `question`, `asks`, `thresholds`, `study file`.
pub(crate) fn part(part: FixedPart) -> &'static str {
    match part {
        FixedPart::Question => "question",
        FixedPart::Asks => "asks",
        FixedPart::Thresholds => "thresholds",
        FixedPart::StudyFile => "study file",
    }
}

/// Of the answer, which is about what the study asks; `None`: nothing is known.
pub(crate) fn mark_of_answer(model: &Model) -> Option<String> {
    let origin = model.asked_before.origin(true)?;
    let names = headline(&model.info).into_iter();
    let names: Vec<String> = names.map(|named| uncapitalise(&named.heading())).collect();
    let names = names.join(", ");
    Some(match origin {
        Origin::Found => format!("Found by looking, as the study was changed: {names}."),
        Origin::Asked if model.info.asks.is_empty() && model.info.search.is_none() => format!(
            "Asked before the run, by default for {} load: {names}.",
            model.info.load_model.name()
        ),
        Origin::Asked => format!("Asked before the run: {names}."),
    })
}

/// Of a section about these metrics, each with whether the study asks about it; `None`: nothing is known.
pub(crate) fn mark<'a>(
    model: &Model,
    metrics: impl IntoIterator<Item = (&'a str, bool)>,
) -> Option<String> {
    let (mut asked, mut discoveries): (Vec<&str>, Vec<&str>) = Default::default();
    for (name, is_asked) in metrics {
        let names = match model.asked_before.origin(is_asked)? {
            Origin::Asked => &mut asked,
            Origin::Found => &mut discoveries,
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    match (asked.as_slice(), discoveries.as_slice()) {
        ([], []) => None,
        (_, []) => Some("Asked before the run.".to_owned()),
        ([], _) => Some("Found by looking: not asked before the run.".to_owned()),
        (asked, _) => Some(format!(
            "Asked before the run: {}. All else was found by looking.",
            asked.join(", ")
        )),
    }
}

/// That the study was changed after the run began.
pub(crate) fn warning(asked: &AskedBefore) -> Option<String> {
    match asked {
        AskedBefore::Changed(parts) => {
            let names: Vec<&str> = parts.iter().map(|change| part(*change)).collect();
            Some(format!(
                "Changed after the run began: {}. What the report says of it was not asked before.",
                names.join(", ")
            ))
        }
        AskedBefore::Same {
            is_study_changed: true,
            ..
        } => Some(
            "The study file beside the results is not the one with which the run began; question, asks and thresholds are."
                .to_owned(),
        ),
        AskedBefore::Same { .. } | AskedBefore::Unknown => None,
    }
}

/// For the methodology.
pub(crate) fn fact(model: &Model) -> Option<Fact> {
    let text = match &model.asked_before {
        AskedBefore::Same { digest, .. } => format!(
            "question, asks and thresholds are those of the start, with the sum {digest} (SHA-256, as waggle plan prints it)"
        ),
        AskedBefore::Changed(_) => {
            "question, asks or thresholds are not those of the start".to_owned()
        }
        AskedBefore::Unknown => return None,
    };
    Some(("Asked before", text))
}
