//! Requests of `waggle init --from openapi` are valid by their documents: openapi-core decides, over documents of the shapes that
//! are met in public.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::workspace::{Workspace, output_text};

/// The documents, the validator and the pinned versions.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/openapi");

/// A Python that has openapi-core.
fn python() -> PathBuf {
    let path = std::env::var_os("WAGGLE_OPENAPI_CORE").map(PathBuf::from);
    let path = path.unwrap_or_else(|| {
        panic!("openapi-core is not there: `scripts/test` installs it; or install crates/cli/tests/openapi/requirements.txt by pip into a venv and name its bin/python by WAGGLE_OPENAPI_CORE")
    });
    assert!(
        path.is_file(),
        "WAGGLE_OPENAPI_CORE: {} is not there: `scripts/test` installs it",
        path.display()
    );
    path
}

/// Method, path and what openapi-core says of it, which is `valid`, for each call of the studies; names of documents come first.
fn validate(documents_and_studies: &[PathBuf]) -> Vec<[String; 4]> {
    let output = Command::new(python())
        .arg(Path::new(FOLDER).join("validate.py"))
        .args(documents_and_studies)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", output_text(&output));
    let said = String::from_utf8(output.stdout).unwrap();
    said.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The documents, with the count of calls that each says it has.
fn documents() -> Vec<(PathBuf, usize)> {
    let folder = Path::new(FOLDER).join("documents");
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| match path.is_dir() {
            true => path.join("openapi.yaml"),
            false => path,
        })
        .collect();
    files.sort();
    let count = |file: &Path| {
        let text = fs::read_to_string(file).unwrap();
        let (_, rest) = text.split_once("calls").unwrap();
        let digits: String = rest
            .chars()
            .skip_while(|letter| !letter.is_ascii_digit())
            .take_while(char::is_ascii_digit)
            .collect();
        digits.parse().unwrap()
    };
    files
        .into_iter()
        .map(|file| {
            let count = count(&file);
            (file, count)
        })
        .collect()
}

fn study(workspace: &Workspace, document: &Path, number: usize) -> PathBuf {
    let name = format!("{number}.yaml");
    let document = document.to_str().unwrap();
    let made = workspace.output(&[
        "init",
        "--from",
        "openapi",
        document,
        "--include-writes",
        "-o",
        &name,
    ]);
    assert_eq!(made.status.code(), Some(0), "{}", output_text(&made));
    workspace.path().join(name)
}

#[test]
fn requests_are_valid_by_their_documents() {
    let workspace = Workspace::new();
    let documents = documents();
    assert!(documents.len() >= 20, "{}", documents.len());
    let mut files = Vec::new();
    for (number, (document, _)) in documents.iter().enumerate() {
        files.push(document.clone());
        files.push(study(&workspace, document, number));
    }
    let calls = validate(&files);
    let invalid: Vec<_> = calls.iter().filter(|[.., said]| said != "valid").collect();
    assert!(invalid.is_empty(), "{invalid:#?}");
    for (document, count) in documents {
        let name = document.file_stem().unwrap().to_str().unwrap();
        let requests = calls.iter().filter(|[stem, ..]| stem == name).count();
        assert_eq!(requests, count, "{name}: {calls:#?}");
    }
}

/// The validator refuses what a document does not allow.
#[test]
fn requests_that_break_their_document_are_found() {
    let workspace = Workspace::new();
    let document = Path::new(FOLDER).join("documents/petstore.yaml");
    let file = study(&workspace, &document, 0);
    let valid = fs::read_to_string(&file).unwrap();
    let check = |old: &str, new: &str| {
        let changed = valid.replacen(old, new, 1);
        assert_ne!(changed, valid, "{old}");
        fs::write(&file, changed).unwrap();
        let calls = validate(&[document.clone(), file.clone()]);
        let invalid = calls.iter().filter(|[.., said]| said != "valid").count();
        assert_eq!(invalid, 1, "{old} {new}: {calls:#?}");
    };
    check("status=available", "status=none");
    check("status=available", "state=available");
    check("/pets/1", "/pets/0");
    check("doggie", "doggie\\\",\\\"more\\\":\\\"1");
    check("\"X-Key\"", "\"X-Other\"");
}
