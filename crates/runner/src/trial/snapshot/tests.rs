//! Snapshots of made-up systems.

use std::os::unix::{fs::PermissionsExt, net::UnixListener};

use tempfile::TempDir;
use waggle_study::{Source, System, read_study, read_system};

use super::{
    key::{Content, key_of},
    *,
};

const SYSTEM: &str = "
system: shop
summary: a shop
components:
  store:
    ports: [http]
    process: { command: [/bin/true] }
    ready: { tcp: { port: http } }
endpoints:
  store: { component: store, port: http }
verify:
  - { name: it works, endpoint: store, get: / }
";

const STUDY: &str = "
study: fill
question: how?
system: { use: shop }
prepare:
  snapshot: true
  loads:
    - name: fill
      sessions: 3
      steps:
        - { name: create, post: /a, capture: { id: { json: $.id } } }
      keep: [id]
load: { model: closed, connections: 1, request: { name: get, get: / } }
schedule: { warm_up: 1s, measure: 5s, repeat: 1 }
";

fn study_with(text: &str) -> (System, Cell) {
    let source = |name: &str, text: &str| Source {
        name: name.to_owned(),
        text: text.to_owned(),
    };
    let system = read_system(&source("system.yaml", SYSTEM)).unwrap_or_else(|why| panic!("{why}"));
    let study = read_study(&source("study.yaml", text), &system);
    let study = study.unwrap_or_else(|why| panic!("{why}"));
    (system, study.cells[0].clone())
}

/// A store, the folder of a stopped system with all kinds of files, and the cell that prepared it.
struct Case {
    _folder: TempDir,
    store: Store,
    system: PathBuf,
    cell: Cell,
    prepared: Prepared,
}

fn case() -> Case {
    let folder = TempDir::new().unwrap();
    let system = folder.path().join("run");
    fs::create_dir_all(system.join("store-0/data/empty")).unwrap();
    fs::write(system.join("store-0/data/log"), vec![7; 700_000]).unwrap();
    fs::write(system.join("store-0/data/script"), "#!/bin/sh").unwrap();
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(system.join("store-0/data/script"), executable).unwrap();
    std::os::unix::fs::symlink("log", system.join("store-0/data/current")).unwrap();
    drop(UnixListener::bind(system.join("store-0/socket")).unwrap());
    let mut rows = KeptRows::new(1);
    for id in ["a", "", "long"] {
        rows.push([id.as_bytes()]);
    }
    let (_, cell) = study_with(STUDY);
    Case {
        store: Store::new(&folder.path().join("snapshots")),
        _folder: folder,
        system,
        cell,
        prepared: Prepared {
            done: BTreeMap::from([("fill".to_owned(), 3)]),
            kept: BTreeMap::from([("fill".to_owned(), Arc::new(rows))]),
        },
    }
}

impl Case {
    fn keep(&self, key: &str) -> SnapshotInfo {
        let contents = Contents {
            secrets: BTreeMap::from([("database".to_owned(), "s3cret".to_owned())]),
            prepared: self.prepared.clone(),
            loads: vec![LoadInfo {
                name: "fill".to_owned(),
                ..LoadInfo::default()
            }],
        };
        self.store.keep(key, &self.system, contents).unwrap()
    }

    fn empty_folder(&self, name: &str) -> PathBuf {
        let folder = self.system.with_file_name(name);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn restore(&self, key: &str) -> Result<Option<Restored>, Refused> {
        let to = self.empty_folder(&format!("restored-{key}"));
        self.store.restore(key, &self.cell, &to)
    }

    /// Why a snapshot is refused after a change; it is gone then.
    fn refusal(&self, change: impl Fn(&Path)) -> String {
        self.keep("k");
        let folder = self.store.folder.join("k");
        change(&folder);
        let why = self.restore("k").unwrap_err().why;
        assert!(!folder.exists());
        let to = self.empty_folder("restored-k");
        assert_eq!(fs::read_dir(to).unwrap().count(), 0);
        assert!(why.contains("the system is prepared again"), "{why}");
        why
    }
}

#[test]
fn a_kept_system_comes_back_as_it_was() {
    let case = case();
    assert!(case.restore("k").unwrap().is_none());
    let kept = case.keep("k");
    assert!(!kept.is_reused && kept.bytes > 700_000, "{kept:?}");
    let to = case.empty_folder("again");
    let restored = case.store.restore("k", &case.cell, &to).unwrap().unwrap();
    assert!(restored.info.is_reused);
    assert_eq!(restored.info.key, "k");
    assert_eq!(restored.prepared, case.prepared);
    assert_eq!(restored.secrets["database"], "s3cret");
    assert_eq!(restored.loads[0].name, "fill");
    let data = to.join("store-0/data");
    assert_eq!(fs::read(data.join("log")).unwrap(), vec![7; 700_000]);
    assert!(data.join("empty").is_dir());
    assert_eq!(
        fs::read_link(data.join("current")).unwrap(),
        Path::new("log")
    );
    let mode = fs::metadata(data.join("script")).unwrap().permissions();
    assert_eq!(mode.mode() & 0o777, 0o755);
    // A socket belongs to a process.
    assert!(!to.join("store-0/socket").exists());
    // Only the user can read it.
    let folder = fs::metadata(case.store.folder.join("k")).unwrap();
    assert_eq!(folder.permissions().mode() & 0o777, 0o700);
}

#[test]
fn a_damaged_snapshot_is_not_used() {
    let case = case();
    let log = |folder: &Path| folder.join("system/store-0/data/log");
    let why = case.refusal(|folder| fs::write(log(folder), vec![8; 700_000]).unwrap());
    assert!(
        why.contains("store-0/data/log has another checksum"),
        "{why}"
    );
    let why = case.refusal(|folder| fs::write(log(folder), "short").unwrap());
    assert!(why.contains("has 5 bytes, and not 700000"), "{why}");
    let why = case.refusal(|folder| fs::remove_file(log(folder)).unwrap());
    assert!(why.contains("cannot be copied"), "{why}");
    let why = case.refusal(|folder| fs::write(folder.join("kept/0"), "").unwrap());
    assert!(why.contains("0 has 0 bytes"), "{why}");
    let why = case.refusal(|folder| fs::write(folder.join(MANIFEST), "{").unwrap());
    assert!(why.contains("snapshot.json is damaged"), "{why}");
    let why = case.refusal(|folder| {
        let file = folder.join(MANIFEST);
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, text.replace("\"format\":1", "\"format\":9")).unwrap();
    });
    assert!(why.contains("it has format 9"), "{why}");
    let why = case.refusal(|folder| {
        let file = folder.join(MANIFEST);
        let text = fs::read_to_string(&file).unwrap();
        let outside = text.replace("store-0/data/script", "../../script");
        fs::write(&file, outside).unwrap();
    });
    assert!(why.contains("is not below the folder"), "{why}");
    // A link out of the folder, and a file below it; a link in place of a file that is read.
    let outside = TempDir::new().unwrap();
    let why = case.refusal(|folder| {
        let file = folder.join(MANIFEST);
        let mut manifest: serde_json::Value =
            serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        let entries = manifest["entries"].as_array_mut().unwrap();
        let link = serde_json::json!({"link": {"path": "out", "to": outside.path()}});
        let mut below = entries
            .iter()
            .find(|entry| entry.get("file").is_some())
            .unwrap()
            .clone();
        below["file"]["path"] = "out/script".into();
        entries.extend([link, below]);
        fs::write(&file, manifest.to_string()).unwrap();
    });
    assert!(why.contains("out/script cannot be written"), "{why}");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    let why = case.refusal(|folder| {
        let script = folder.join("system/store-0/data/script");
        fs::rename(&script, outside.path().join("script")).unwrap();
        std::os::unix::fs::symlink(outside.path().join("script"), &script).unwrap();
    });
    assert!(why.contains("script cannot be copied"), "{why}");
}

#[test]
fn partial_snapshots_of_processes_that_are_gone_are_removed() {
    let case = case();
    let this = Owner::of_this_process().unwrap().to_string();
    let (same_number, _) = this.rsplit_once('-').unwrap();
    let left = format!("{PARTIAL}{same_number}-1.k");
    fs::create_dir_all(case.store.folder.join(left)).unwrap();
    let own_name = format!("{PARTIAL}{this}.other");
    fs::create_dir_all(case.store.folder.join(&own_name)).unwrap();
    case.keep("k");
    let mut names: Vec<String> = fs::read_dir(&case.store.folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(names, [own_name, "k".to_owned()]);
}

#[test]
fn a_key_follows_from_what_prepared_the_system() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("start"), "one").unwrap();
    let key = |text: &str| {
        let (system, cell) = study_with(text);
        let content = Content {
            image: None,
            system: &system,
            system_folder: folder.path(),
            cell: &cell,
        };
        key_of(content).unwrap()
    };
    let first = key(STUDY);
    assert_eq!(first.len(), 32);
    assert_eq!(key(STUDY), first);
    // The load that is measured is not part of it.
    assert_eq!(
        key(&STUDY.replace("connections: 1", "connections: 2")),
        first
    );
    assert_ne!(key(&STUDY.replace("sessions: 3", "sessions: 4")), first);
    assert_ne!(key(&STUDY.replace("post: /a", "post: /b")), first);
    fs::write(folder.path().join("start"), "two").unwrap();
    let second = key(STUDY);
    assert_ne!(second, first);
    // Links that lead nowhere, or to the folder itself, are what they say.
    std::os::unix::fs::symlink("nowhere", folder.path().join("lock")).unwrap();
    std::os::unix::fs::symlink(".", folder.path().join("self")).unwrap();
    let third = key(STUDY);
    assert!(third != second && third == key(STUDY));
}
