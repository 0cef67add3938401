//! The pods of a system: their images and what their nodes run.

use std::collections::BTreeMap;

use waggle_analysis::{Model, component_of};
use waggle_results::PodInfo;

use super::agents::node_text;
use crate::words::fact::Fact;

/// Empty: the system was no pods.
pub(crate) fn facts(model: &Model) -> Vec<Fact> {
    let trials = model.trials.iter();
    let pods: Vec<(&str, &PodInfo)> = trials
        .flat_map(|trial| &trial.info.pods)
        .map(|entry| (component_of(&entry.replica), &entry.pod))
        .collect();
    if pods.is_empty() {
        return Vec::new();
    }
    let mut facts = vec![("Pods of the system", images(&pods))];
    let mut nodes: BTreeMap<&str, String> = BTreeMap::new();
    for (_, pod) in &pods {
        if let Some(node) = &pod.node {
            nodes
                .entry(&pod.node_name)
                .or_insert_with(|| node_text(node));
        }
    }
    if !nodes.is_empty() {
        let texts: Vec<String> = nodes
            .iter()
            .map(|(name, text)| format!("{name} ({text})"))
            .collect();
        facts.push(("Nodes of the system", texts.join(", ")));
    }
    facts
}

/// `gateway: sha256:… (Guaranteed)`, each image of each component once.
fn images(pods: &[(&str, &PodInfo)]) -> String {
    let mut texts: Vec<String> = Vec::new();
    for (component, pod) in pods {
        let class = pod.qos_class.as_deref().unwrap_or("class not known");
        let digest = pod.image_digest.as_ref();
        let digest = digest.map_or_else(String::new, |digest| format!(" {digest}"));
        let text = format!(
            "{component}: image {}{digest} in {}, {class}",
            pod.image, pod.namespace
        );
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    texts.join("; ")
}
