//! What scripts fetch is checked against the digests in the repository: a file with another byte is refused by its name.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use tempfile::TempDir;

use waggle_testkit::not_tested;

use crate::workspace::output_text;

fn systems() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../systems")
}

fn shell(folder: &Path, script: &str) -> Output {
    let mut bash = Command::new("bash");
    bash.args(["-euo", "pipefail", "-c", script])
        .current_dir(folder)
        .env("SYSTEMS", systems());
    bash.output().unwrap()
}

/// The script fails, and says what is to be expected.
fn refuses(folder: &Path, script: &str, expected: &str) {
    let output = shell(folder, script);
    let text = output_text(&output);
    assert!(!output.status.success(), "{script}: {text}");
    assert!(text.contains(expected), "{script}: {text}");
}

fn succeeds(folder: &Path, script: &str) {
    let output = shell(folder, script);
    assert!(
        output.status.success(),
        "{script}: {}",
        output_text(&output)
    );
}

#[test]
fn a_changed_a_missing_and_an_unknown_jar_are_refused() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let check = "\"$SYSTEMS\"/ingest/fetch/check-digests list jars all";
    succeeds(
        folder,
        "mkdir jars; echo 1 > jars/one.jar; echo 2 > jars/two.jar; (cd jars; sha256sum *) > list",
    );
    succeeds(folder, check);
    fs::write(folder.join("jars/two.jar"), "3\n").unwrap();
    refuses(folder, check, "two.jar: its SHA-256 digest is ");
    fs::remove_file(folder.join("jars/two.jar")).unwrap();
    refuses(folder, check, "two.jar: ");
    fs::write(folder.join("jars/two.jar"), "2\n").unwrap();
    fs::write(folder.join("jars/three.jar"), "3\n").unwrap();
    refuses(folder, check, "three.jar: no digest of it is known");
}

/// Its name is one that the list has.
#[test]
fn a_changed_package_of_debian_is_refused() {
    let folder = TempDir::new().unwrap();
    let list = fs::read_to_string(systems().join("webapp/fetch/packages.sha256")).unwrap();
    let mut names = list.lines().filter_map(|line| line.split_once("  "));
    let (_, name) = names
        .find(|(_, name)| name.starts_with("rabbitmq-server_"))
        .unwrap();
    fs::write(folder.path().join(name), "not what Debian has").unwrap();
    refuses(
        folder.path(),
        ". \"$SYSTEMS\"/registry/fetch/packages; check .",
        &format!("{name}: its SHA-256 digest is "),
    );
}

/// Debian brings new versions; the test command takes what is signed, and this names it.
#[test]
fn a_package_of_debian_without_a_digest_is_taken_on_request_only() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("new_1_all.deb"), "new").unwrap();
    let check = ". \"$SYSTEMS\"/registry/fetch/packages; unset WAGGLE_ACCEPT_SIGNED; check .";
    refuses(
        folder.path(),
        check,
        "new_1_all.deb: no digest of it is known",
    );
    let check = ". \"$SYSTEMS\"/registry/fetch/packages; WAGGLE_ACCEPT_SIGNED=1 check . | grep ' new_1_all.deb'";
    succeeds(folder.path(), check);
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap());
    let cache = cache.unwrap_or_else(|| home().join(".cache"));
    let servers = fs::read_dir(cache.join("waggle/servers")).unwrap();
    let cluster = std::env::var_os("WAGGLE_CLUSTER").map(PathBuf::from);
    for server in servers.map(|entry| entry.unwrap().path()).chain(cluster) {
        let unpinned = fs::read_to_string(server.join("unpinned-packages")).unwrap_or_default();
        for line in unpinned.lines() {
            not_tested("the digest of a package of Debian", line);
        }
    }
}

/// A proxy in a folder has the module: first as it is when go.sum is written, then with another byte.
#[test]
fn a_changed_module_of_go_is_refused() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let publish = "
        mkdir -p proxy/example.org/m/@v example.org/m@v1.0.0 lock
        cd example.org/m@v1.0.0
        printf 'module example.org/m\\n\\ngo 1.22\\n' > go.mod
        printf 'package main\\n\\nfunc main() {}\\n' > main.go
        cd ../..
        cp example.org/m@v1.0.0/go.mod proxy/example.org/m/@v/v1.0.0.mod
        echo '{\"Version\":\"v1.0.0\"}' > proxy/example.org/m/@v/v1.0.0.info
        cat > pack <<'PACK'
from zipfile import ZipFile
with ZipFile('proxy/example.org/m/@v/v1.0.0.zip', 'w') as module:
    module.write('example.org/m@v1.0.0/go.mod')
    module.write('example.org/m@v1.0.0/main.go')
PACK
        python3 pack
        cat > fetch-m <<'FETCH'
        export GOPROXY=file://$PWD/proxy GOSUMDB=off GONOSUMDB= GOPRIVATE= GOFLAGS=-modcacherw
        export GOMODCACHE=$PWD/cache-${WRITE_LOCK-}
        lock=$PWD/lock
        . \"$SYSTEMS\"/ingest/fetch/modules
        require_module example.org/m \"$lock\"
        build m example.org/m
FETCH
        WRITE_LOCK=1 bash -euo pipefail fetch-m 1.0.0 \"$PWD/built\"
        grep example.org/m lock/go.sum";
    succeeds(folder, publish);
    succeeds(
        folder,
        "echo '// changed' >> example.org/m@v1.0.0/main.go
         python3 pack",
    );
    refuses(
        folder,
        "bash -euo pipefail fetch-m 1.0.0 \"$PWD/built\"",
        "example.org/m@v1.0.0: checksum mismatch",
    );
    refuses(
        folder,
        "bash -euo pipefail fetch-m 1.0.1 \"$PWD/built\"",
        "no digests of example.org/m v1.0.1 are known",
    );
}
