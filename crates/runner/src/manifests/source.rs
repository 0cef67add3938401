//! The text of manifests: files beside that of the system, or what helm makes of a chart.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    fs, io,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use serde_json::Value;
use tokio::{process::Command, time::timeout};
use waggle_cluster::{Manifest, ManifestError, read_manifests};
use waggle_study::{Chart, Level, ManifestSource, Manifests, System};

use super::patch::json_value;

/// The program that renders charts.
const HELM: &str = "helm";
const HELM_TIMEOUT: Duration = Duration::from_secs(60);
/// Longest message of helm that is shown.
const SHOWN_BYTES: usize = 2_000;
/// Longest file.
const FILE_MAX_BYTES: u64 = 16 * 1024 * 1024;
/// Files of a folder that are read.
const EXTENSIONS: [&str; 3] = ["yaml", "yml", "json"];
/// What charts were rendered to by who submitted a run: in the folder of the system, in a pod without helm.
pub const RENDERED: &str = ".waggle-rendered.json";

/// Why there are no manifests.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    #[error("cannot read {}: {why}", path.display())]
    Read { path: PathBuf, why: io::Error },
    #[error("{}: {why}", path.display())]
    NoManifest { path: PathBuf, why: ManifestError },
    #[error("{} has no file of the kinds .yaml, .yml and .json", .0.display())]
    EmptyFolder(PathBuf),
    #[error(
        "cannot run helm, which renders the chart: {0}; install it, or give the path of its folder in PATH"
    )]
    NoHelm(io::Error),
    #[error("helm template {chart}: {why}")]
    Helm { chart: String, why: String },
    #[error("helm template {chart}: its text: {why}")]
    NotRendered { chart: String, why: ManifestError },
    #[error("the chart {0} was not rendered with these values when the run was submitted")]
    NotSubmitted(String),
}

/// Texts of charts, by their values.
pub(super) type Rendered = BTreeMap<String, String>;

/// Reads the objects of manifests whose levels are filled in.
pub(super) async fn read_objects(
    manifests: &Manifests,
    folder: &Path,
    namespace: &str,
    rendered: Option<&Rendered>,
) -> Result<Vec<Manifest>, SourceError> {
    let mut all = match &manifests.source {
        ManifestSource::Files(paths) => read_files(folder, paths)?,
        ManifestSource::Chart(chart) => {
            let text = match rendered {
                Some(rendered) => rendered
                    .get(&values_key(chart))
                    .cloned()
                    .ok_or_else(|| SourceError::NotSubmitted(chart.chart.clone()))?,
                None => render(chart, folder, namespace).await?,
            };
            read_manifests(&text).map_err(|why| SourceError::NotRendered {
                chart: chart.chart.clone(),
                why,
            })?
        }
    };
    all.sort_by_key(Manifest::rank);
    Ok(all)
}

fn read_files(folder: &Path, paths: &[String]) -> Result<Vec<Manifest>, SourceError> {
    let mut all = Vec::new();
    for path in paths {
        let path = folder.join(path);
        for file in files_in(&path)? {
            let text = read_file(&file)?;
            let manifests = read_manifests(&text);
            all.extend(manifests.map_err(|why| SourceError::NoManifest { path: file, why })?);
        }
    }
    Ok(all)
}

/// The file, or those of a folder by their names, as `kubectl apply -f` reads them.
fn files_in(path: &Path) -> Result<Vec<PathBuf>, SourceError> {
    let failed = |why| SourceError::Read {
        path: path.to_owned(),
        why,
    };
    if !fs::metadata(path).map_err(failed)?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(path).map_err(failed)? {
        let file = entry.map_err(failed)?.path();
        let extension = file.extension().unwrap_or_default().to_string_lossy();
        if EXTENSIONS.contains(&&*extension) && file.is_file() {
            files.push(file);
        }
    }
    files.sort();
    match files.is_empty() {
        true => Err(SourceError::EmptyFolder(path.to_owned())),
        false => Ok(files),
    }
}

fn read_file(path: &Path) -> Result<String, SourceError> {
    let failed = |why| SourceError::Read {
        path: path.to_owned(),
        why,
    };
    if fs::metadata(path).map_err(failed)?.len() > FILE_MAX_BYTES {
        let why = format!("it is longer than {FILE_MAX_BYTES} bytes");
        return Err(failed(io::Error::other(why)));
    }
    fs::read_to_string(path).map_err(failed)
}

/// What helm makes of a chart: nothing is installed, and no cluster is asked.
async fn render(chart: &Chart, folder: &Path, namespace: &str) -> Result<String, SourceError> {
    let failed = |why: String| SourceError::Helm {
        chart: chart.chart.clone(),
        why,
    };
    let mut command = Command::new(HELM);
    command
        .current_dir(folder)
        .args(["template", &chart.release, &local_path(&chart.chart)])
        .args(["--namespace", namespace, "--no-hooks"])
        .stdin(Stdio::null())
        .kill_on_drop(true);
    if let Some(values) = &chart.values {
        command.args(["--values", values]);
    }
    for (path, level) in &chart.set {
        command.arg("--set-json");
        command.arg(format!("{path}={}", json_value(level)));
    }
    let output = timeout(HELM_TIMEOUT, command.output()).await;
    let output =
        output.map_err(|_| failed(format!("no end within {} s", HELM_TIMEOUT.as_secs())))?;
    let output = output.map_err(SourceError::NoHelm)?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        let shown = &text[..text.floor_char_boundary(SHOWN_BYTES)];
        return Err(failed(shown.trim().to_owned()));
    }
    String::from_utf8(output.stdout).map_err(|_| failed("its text is not UTF-8".to_owned()))
}

/// A name without a slash is that of a repository's chart to helm.
fn local_path(chart: &str) -> String {
    match chart.contains('/') {
        true => chart.to_owned(),
        false => format!("./{chart}"),
    }
}

/// By which a text is found again.
fn values_key(chart: &Chart) -> String {
    let values = chart.set.iter();
    let values: BTreeMap<&str, Value> = values
        .map(|(path, level)| (path.as_str(), json_value(level)))
        .collect();
    serde_json::to_string(&values).expect("JSON values of our own")
}

/// Renders the chart of a system for all these levels of its parameters, as the text of [`RENDERED`]; `None`: it has no chart.
///
/// # Errors
/// Helm cannot be run, or refuses the chart or its values.
pub async fn render_all<'a>(
    system: &System,
    folder: &Path,
    namespace: &str,
    levels: impl Iterator<Item = &'a BTreeMap<String, Level>>,
) -> Result<Option<String>, SourceError> {
    let Some(manifests) = &system.manifests else {
        return Ok(None);
    };
    let mut rendered = Rendered::new();
    for levels in levels {
        let filled = manifests.fill(&system.parameters, levels);
        let ManifestSource::Chart(chart) = &filled.source else {
            return Ok(None);
        };
        let key = values_key(chart);
        if let Entry::Vacant(entry) = rendered.entry(key) {
            entry.insert(render(chart, folder, namespace).await?);
        }
    }
    let text = serde_json::to_string(&rendered).expect("texts of our own");
    Ok(Some(text))
}

/// What was rendered by who submitted the run.
pub(super) fn read_rendered(folder: &Path) -> Result<Option<Rendered>, SourceError> {
    let path = folder.join(RENDERED);
    match fs::metadata(&path) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(None),
        _ => {
            let text = read_file(&path)?;
            let rendered = serde_json::from_str(&text);
            rendered.map(Some).map_err(|why| SourceError::Read {
                path,
                why: why.into(),
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(names: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in names {
            let file = folder.path().join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        folder
    }

    fn object(kind: &str, name: &str) -> String {
        format!("apiVersion: v1\nkind: {kind}\nmetadata: {{ name: {name} }}\n")
    }

    async fn read(folder: &Path, paths: &[&str]) -> Result<Vec<String>, String> {
        let manifests = Manifests {
            source: ManifestSource::Files(paths.iter().map(|path| (*path).to_owned()).collect()),
            namespace: None,
            patches: Vec::new(),
            conditions: Vec::new(),
        };
        let read = read_objects(&manifests, folder, "lab", None).await;
        let read = read.map_err(|why| why.to_string())?;
        Ok(read.iter().map(Manifest::title).collect())
    }

    #[tokio::test]
    async fn folders_are_read_by_the_names_of_their_files() {
        let folder = files(&[
            ("k8s/b.yaml", &object("Service", "b")),
            ("k8s/a.yml", &object("Service", "a")),
            ("k8s/README.md", "no manifest"),
            ("k8s/deeper/c.yaml", &object("Service", "c")),
            ("secret.yaml", &object("Secret", "s")),
            ("empty/README.md", ""),
            ("wrong.yaml", "kind: Pod"),
        ]);
        let path = folder.path();
        let titles = read(path, &["k8s", "secret.yaml"]).await.unwrap();
        assert_eq!(titles, ["Secret s", "Service a", "Service b"]);
        let check = async |name: &str, expected: &str| {
            let why = read(path, &[name]).await.unwrap_err();
            assert!(why.contains(expected), "{why}");
        };
        check("empty", "has no file of the kinds").await;
        check("wrong.yaml", "wrong.yaml: document 1 has no apiVersion").await;
        check("none", "No such file").await;
    }

    #[tokio::test]
    async fn a_chart_that_was_rendered_elsewhere_needs_no_helm() {
        let chart = |replicas: i64| Manifests {
            source: ManifestSource::Chart(Chart {
                chart: "chart".to_owned(),
                release: "shop".to_owned(),
                values: None,
                set: vec![("replicas".to_owned(), Level::Integer(replicas))],
            }),
            namespace: None,
            patches: Vec::new(),
            conditions: Vec::new(),
        };
        let rendered = Rendered::from([(r#"{"replicas":2}"#.to_owned(), object("Service", "a"))]);
        let folder = Path::new("/nowhere");
        let read = read_objects(&chart(2), folder, "lab", Some(&rendered)).await;
        assert_eq!(read.unwrap()[0].title(), "Service a");
        let why = read_objects(&chart(3), folder, "lab", Some(&rendered)).await;
        let why = why.unwrap_err().to_string();
        assert!(why.contains("was not rendered with these values"), "{why}");
    }
}
