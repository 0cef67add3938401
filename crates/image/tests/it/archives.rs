//! The archive of an image.

use std::{
    collections::BTreeMap,
    fs::{self, FileTimes},
    io::Read,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
    time::{Duration, SystemTime},
};

use flate2::read::GzDecoder;
use ring::digest::{SHA256, digest};
use serde_json::Value;
use tar::Archive;
use tokio::sync::watch;
use waggle_image::{Stop, write_archive};

use crate::{image, layer, no_stop};

/// A folder whose entries are made in this order.
fn write_folder(folder: &Path, names: &[&str]) {
    fs::create_dir_all(folder.join("sub")).unwrap();
    for name in names {
        fs::write(folder.join(name), name.as_bytes()).unwrap();
    }
    symlink("sub/b", folder.join("link")).unwrap();
    let program = folder.join("run");
    fs::set_permissions(program, fs::Permissions::from_mode(0o711)).unwrap();
}

fn archive(folder: &Path, output: &Path) -> Vec<u8> {
    let packed = tempfile::tempdir().unwrap();
    let image = image(&[layer(folder, "opt/a")], packed.path());
    write_archive(&image, "localhost/a:1", output, &no_stop()).unwrap();
    fs::read(output).unwrap()
}

/// Names and contents.
fn files(archive: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let mut archive = Archive::new(archive);
    let entries = archive.entries().unwrap().map(|entry| {
        let mut entry = entry.unwrap();
        let mut content = Vec::new();
        entry.read_to_end(&mut content).unwrap();
        (entry.path().unwrap().display().to_string(), content)
    });
    entries.collect()
}

fn sha256(bytes: &[u8]) -> String {
    let digest = digest(&SHA256, bytes);
    let digits = digest.as_ref().iter().map(|byte| format!("{byte:02x}"));
    digits.collect()
}

#[test]
fn the_same_files_make_the_same_archive() {
    let around = tempfile::tempdir().unwrap();
    let (first, second) = (around.path().join("first"), around.path().join("second"));
    write_folder(&first, &["run", "a", "sub/b"]);
    write_folder(&second, &["sub/b", "a", "run"]);
    let earlier = SystemTime::now() - Duration::from_secs(100_000);
    let file = fs::File::options().write(true).open(second.join("a"));
    let times = FileTimes::new().set_modified(earlier);
    file.unwrap().set_times(times).unwrap();
    let output = around.path().join("image.tar");
    let bytes = archive(&first, &output);
    assert!(bytes == archive(&second, &output), "the archives differ");
    fs::write(second.join("a"), "other").unwrap();
    assert!(bytes != archive(&second, &output), "a change is not seen");
}

#[test]
fn an_archive_is_a_layout_and_what_docker_reads() {
    let around = tempfile::tempdir().unwrap();
    let folder = around.path().join("a");
    write_folder(&folder, &["run", "a", "sub/b"]);
    let files = files(&archive(&folder, &around.path().join("image.tar")));
    let json = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let blob = |descriptor: &Value| {
        let digest = text(&descriptor["digest"]);
        let digest = digest.strip_prefix("sha256:").unwrap();
        let content = files[&format!("blobs/sha256/{digest}")].clone();
        assert_eq!(sha256(&content), digest);
        assert_eq!(descriptor["size"], content.len());
        content
    };
    assert_eq!(json(&files["oci-layout"])["imageLayoutVersion"], "1.0.0");
    let index = json(&files["index.json"]);
    let annotations = &index["manifests"][0]["annotations"];
    assert_eq!(annotations["io.containerd.image.name"], "localhost/a:1");
    assert_eq!(annotations["org.opencontainers.image.ref.name"], "1");
    let manifest = json(&blob(&index["manifests"][0]));
    let config = json(&blob(&manifest["config"]));
    assert_eq!(config["config"]["User"], "65532:65532");
    let mut whole = Vec::new();
    let packed = blob(&manifest["layers"][0]);
    GzDecoder::new(packed.as_slice())
        .read_to_end(&mut whole)
        .unwrap();
    let diff_id = format!("sha256:{}", sha256(&whole));
    assert_eq!(config["rootfs"]["diff_ids"][0], diff_id);
    let docker = json(&files["manifest.json"]);
    assert_eq!(docker[0]["RepoTags"][0], "localhost/a:1");
    assert!(files.contains_key(&text(&docker[0]["Config"])));
    assert!(files.contains_key(&text(&docker[0]["Layers"][0])));
    let mut entries = Archive::new(whole.as_slice());
    let entries = entries.entries().unwrap().map(|entry| {
        let entry = entry.unwrap();
        let header = entry.header();
        assert_eq!((header.uid().unwrap(), header.gid().unwrap()), (0, 0));
        assert_eq!(header.mtime().unwrap(), 0);
        let path = entry.path().unwrap().display().to_string();
        format!("{path} {:o}", header.mode().unwrap())
    });
    let expected = [
        "opt/ 755",
        "opt/a/ 755",
        "opt/a/a 644",
        "opt/a/link 777",
        "opt/a/run 755",
        "opt/a/sub/ 755",
        "opt/a/sub/b 644",
    ];
    assert_eq!(entries.collect::<Vec<_>>(), expected);
}

#[test]
fn nothing_is_left_of_what_was_interrupted() {
    let around = tempfile::tempdir().unwrap();
    let folder = around.path().join("a");
    write_folder(&folder, &["run", "a", "sub/b"]);
    let packed = tempfile::tempdir().unwrap();
    let image = image(&[layer(&folder, "opt/a")], packed.path());
    let stop = Stop(watch::channel(true).1);
    let output = around.path().join("image.tar");
    let refused = write_archive(&image, "a:1", &output, &stop).unwrap_err();
    assert!(refused.to_string().starts_with("interrupted"), "{refused}");
    let names = fs::read_dir(around.path()).unwrap();
    let names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["a"]);
}
