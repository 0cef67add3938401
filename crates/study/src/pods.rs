//! Keys by which a system would be pods in another way than `system.pods`: they are refused by name, with what can be done instead.

/// Keys of a system as pods that waggle makes, or of the user's own manifests or chart.
const SYSTEM_KEYS: [&str; 10] = [
    "chart",
    "cluster",
    "driver",
    "helm",
    "images",
    "infrastructure",
    "kubernetes",
    "kustomize",
    "manifests",
    "patches",
];
/// Of a study's part `system`, beside these.
const STUDY_KEYS: [&str; 3] = ["endpoints", "image", "namespace"];
/// Of a system's file, beside these.
const FILE_KEYS: [&str; 3] = ["image", "namespace", "pods"];
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

const WHY: &str = "systems as pods, manifests or charts are not supported yet";

/// `path`: of the mapping that has the key, with the name of its text first.
pub(crate) fn refusal(path: &[String], key: &str) -> Option<Refusal> {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    let is_refused = |keys: &[&str]| keys.contains(&key);
    let (instead, meant) = match path[..] {
        ["the study", "system"] if is_refused(&SYSTEM_KEYS) || is_refused(&STUDY_KEYS) => (
            "url of the system, which runs already, and agents, which may be pods",
            "use",
        ),
        ["the system"] if is_refused(&SYSTEM_KEYS) || is_refused(&FILE_KEYS) => (
            "components that are processes of this machine; a system that runs in a cluster is studied by system.url and agents in the \
             study",
            "components",
        ),
        ["the system", "components", _] if is_refused(&COMPONENT_KEYS) => (
            "process, of this machine; a system that runs in a cluster is studied by system.url and agents in the study",
            "process",
        ),
        ["the system", "endpoints", _] if is_refused(&ENDPOINT_KEYS) => (
            "component and port; a Service of a cluster is studied by system.url and agents in the study",
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
