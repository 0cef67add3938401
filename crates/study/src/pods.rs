//! Keys by which a system would be pods in another way than those that there are: they are refused by name, with what can be done instead.
//! A study makes pods of a system's components (`system.pods`), and a system's file may be the user's own manifests or chart.

/// Keys of a system as pods.
const SYSTEM_KEYS: [&str; 7] = [
    "chart",
    "cluster",
    "driver",
    "images",
    "infrastructure",
    "kubernetes",
    "kustomize",
];
/// Of a study's part `system`, beside these.
const STUDY_KEYS: [&str; 6] = [
    "endpoints",
    "helm",
    "image",
    "manifests",
    "namespace",
    "patches",
];
/// Of a system's file, beside these.
const FILE_KEYS: [&str; 2] = ["image", "pods"];
const COMPONENT_KEYS: [&str; 8] = [
    "affinity",
    "image",
    "kubernetes",
    "namespace",
    "pod",
    "pods",
    "resources",
    "volumes",
];
const ENDPOINT_KEYS: [&str; 2] = ["ingress", "service"];

/// Why a key is refused.
pub(crate) struct Refusal {
    pub(crate) why: &'static str,
    pub(crate) instead: &'static str,
    /// The key that counts as given, so that it is not missed, too.
    pub(crate) meant: &'static str,
}

const WHY: &str = "a system is pods by system.pods of a study, or by manifests or helm of its file";

/// `path`: of the mapping that has the key, with the name of its text first.
pub(crate) fn refusal(path: &[String], key: &str) -> Option<Refusal> {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    let is_refused = |keys: &[&str]| keys.contains(&key);
    let (instead, meant) = match path[..] {
        ["the study", "system"] if is_refused(&SYSTEM_KEYS) || is_refused(&STUDY_KEYS) => (
            "pods with an image of the system, use of one whose file has manifests or helm, or url of one that runs already",
            "use",
        ),
        ["the system"] if is_refused(&SYSTEM_KEYS) || is_refused(&FILE_KEYS) => (
            "components, of which a study may make pods, or manifests or helm",
            "components",
        ),
        ["the system", "components", _] if is_refused(&COMPONENT_KEYS) => (
            "process, of which a study may make pods, or workload, of the manifests or the chart of the system",
            "process",
        ),
        ["the system", "endpoints", _] if is_refused(&ENDPOINT_KEYS) => (
            "component and port; a Service is that of a component (workload, service)",
            "component",
        ),
        _ => return None,
    };
    Some(Refusal {
        why: WHY,
        instead,
        meant,
    })
}
