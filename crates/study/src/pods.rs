//! Keys by which a system would be pods that waggle makes: they are refused by name, with what can be done instead. A system may be the
//! user's own manifests or chart, which its file says.

/// Keys of a system as pods that waggle makes.
const SYSTEM_KEYS: [&str; 8] = [
    "chart",
    "cluster",
    "driver",
    "images",
    "infrastructure",
    "kubernetes",
    "kustomize",
    "pods",
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
const FILE_KEYS: [&str; 1] = ["image"];
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

const WHY: &str = "systems as pods that waggle makes are not supported yet";

/// `path`: of the mapping that has the key, with the name of its text first.
pub(crate) fn refusal(path: &[String], key: &str) -> Option<Refusal> {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    let is_refused = |keys: &[&str]| keys.contains(&key);
    let (instead, meant) = match path[..] {
        ["the study", "system"] if is_refused(&SYSTEM_KEYS) || is_refused(&STUDY_KEYS) => (
            "use of a system whose file has manifests or helm, or url of one that runs already",
            "use",
        ),
        ["the system"] if is_refused(&SYSTEM_KEYS) || is_refused(&FILE_KEYS) => (
            "components that are processes of this machine, or manifests or helm",
            "components",
        ),
        ["the system", "components", _] if is_refused(&COMPONENT_KEYS) => (
            "process, of this machine, or workload, of the manifests or the chart of the system",
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
