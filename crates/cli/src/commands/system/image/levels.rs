//! The configurations that an image is for: a parameter may have several levels.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use waggle_study::{Level, System};

use crate::commands::system::shared::levels;

/// Most configurations of one image.
const CONFIGURATIONS_MAX: usize = 1_000;

/// One configuration for each combination of the levels in `PARAMETER=LEVEL`; none: all levels.
pub(super) fn configurations(
    system: &System,
    given: &[String],
) -> Result<Vec<BTreeMap<String, Level>>> {
    if given.is_empty() {
        return Ok(Vec::new());
    }
    let mut of_parameters: BTreeMap<&str, Vec<&String>> = BTreeMap::new();
    for text in given {
        let name = text.split('=').next().unwrap_or_default();
        of_parameters.entry(name).or_default().push(text);
    }
    let mut combinations: Vec<Vec<String>> = vec![Vec::new()];
    for texts in of_parameters.values() {
        if combinations.len() * texts.len() > CONFIGURATIONS_MAX {
            bail!("these levels have more than {CONFIGURATIONS_MAX} combinations");
        }
        let next = combinations.iter().flat_map(|before| {
            let with = |text: &&String| [before.as_slice(), &[(*text).clone()]].concat();
            texts.iter().map(with).collect::<Vec<_>>()
        });
        combinations = next.collect();
    }
    let configurations = combinations.iter().map(|given| levels(system, given));
    configurations.collect()
}
