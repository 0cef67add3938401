//! What the time of a plan leaves out.

use std::collections::BTreeSet;

use waggle_study::{Study, System};

/// A line with what is not in the expected time, because its length is not known before; empty: all of it is in it.
pub(super) fn excluded_times(study: &Study, system: &System) -> String {
    let preparations = study
        .cells
        .iter()
        .filter_map(|cell| cell.preparation.as_ref());
    let loads: BTreeSet<&str> = preparations
        .flat_map(|preparation| preparation.loads_with_sessions())
        .map(|load| load.name())
        .collect();
    let loads: Vec<&str> = loads.into_iter().collect();
    let starts_pods = study.system_pods.is_some() || system.manifests.is_some();
    text(&loads, starts_pods)
}

/// `starts_pods`: the system is pods that a trial starts.
fn text(loads: &[&str], starts_pods: bool) -> String {
    let filling = match loads {
        [] => None,
        [load] => Some(format!("filling by the load {load}")),
        loads => Some(format!("filling by the loads {}", loads.join(", "))),
    };
    let pods = starts_pods.then(|| "starts and ends of pods".to_owned());
    let parts: Vec<String> = filling.into_iter().chain(pods).collect();
    match parts.is_empty() {
        true => String::new(),
        false => format!(
            "not in the first of these times, since it is not known before: {}\n",
            parts.join(", ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn what_is_left_out_is_named() {
        let check = |loads: &[&str], starts_pods: bool, expected: &str| {
            let line = text(loads, starts_pods);
            let named = line.trim_end().split_once(": ");
            assert_eq!(named.map_or("", |(_, named)| named), expected);
        };
        check(&[], false, "");
        check(&[], true, "starts and ends of pods");
        check(
            &["fill"],
            true,
            "filling by the load fill, starts and ends of pods",
        );
        check(&["fill", "list"], false, "filling by the loads fill, list");
    }
}
