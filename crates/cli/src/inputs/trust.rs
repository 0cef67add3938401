//! Whose files may start programs. A study, a system and the folder of a program are code: they are used if they and all folders and
//! links that lead to them belong to the caller or to root, and nobody else may write there. Otherwise another user of the machine
//! decides what runs. The same holds for the folder of runs, in which waggle writes and from which it starts programs.

use std::{
    collections::HashSet,
    ffi::OsString,
    fmt,
    fs::{self, Metadata},
    io,
    os::unix::fs::MetadataExt,
    path::{Component, Path, PathBuf},
};

use anyhow::{Context, Error, Result, anyhow};

/// Folders that are trusted whoever they belong to, separated as in PATH; as `--trust`.
const VARIABLE: &str = "WAGGLE_TRUST";
/// Who called sudo.
const SUDO_CALLER: &str = "SUDO_UID";
const ROOT: u32 = 0;
/// Most files of a system's folder that are looked at.
const MAX_FILES: usize = 100_000;
/// Most links that lead to a file, as in Linux.
const MAX_LINKS: usize = 40;
const STICKY: u32 = 0o1000;
const WRITE_OF_GROUP: u32 = 0o020;
const WRITE_OF_OTHERS: u32 = 0o002;
const ACCESS_LIST: &str = "system.posix_acl_access";

/// What is trusted.
#[derive(Debug, Clone)]
pub(crate) struct Trust {
    /// Canonical.
    exceptions: Vec<PathBuf>,
    callers: Vec<u32>,
}

/// Why a path is not trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Objection {
    /// Of the path itself, or of a folder above it.
    pub(crate) path: PathBuf,
    pub(crate) reason: Reason,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reason {
    Owner(u32),
    Writable(u32),
    TooManyFiles,
    TooManyLinks,
    Unreadable(String),
}

impl fmt::Display for Objection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.reason {
            Reason::Owner(owner) => write!(f, "{path} belongs to the user {owner}"),
            Reason::Writable(mode) => write!(f, "others may write to {path} (mode {mode:04o})"),
            Reason::TooManyFiles => write!(f, "{path} has more than {MAX_FILES} files"),
            Reason::TooManyLinks => write!(f, "{path} has more than {MAX_LINKS} links"),
            Reason::Unreadable(why) => write!(f, "{path} cannot be read: {why}"),
        }
    }
}

/// How strictly a path is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Its content is used: others may not even add to it.
    Used,
    /// A folder above: others may add to it, if they cannot replace what is there (`/tmp`).
    Above,
}

impl Trust {
    /// The caller and root, and the folders that `--trust` and the environment name.
    pub(crate) fn new(named: &[PathBuf]) -> Result<Self> {
        let variable = std::env::var_os(VARIABLE).unwrap_or_default();
        let from_variable =
            std::env::split_paths(&variable).filter(|path| !path.as_os_str().is_empty());
        let mut exceptions = Vec::new();
        for path in named.iter().cloned().chain(from_variable) {
            let canonical = fs::canonicalize(&path);
            exceptions.push(canonical.with_context(|| format!("cannot trust {}", path.display()))?);
        }
        let user = rustix::process::geteuid().as_raw();
        let mut callers = vec![user];
        if user == ROOT
            && let Ok(caller) = std::env::var(SUDO_CALLER)
        {
            callers.extend(caller.parse::<u32>());
        }
        Ok(Self {
            exceptions,
            callers,
        })
    }

    /// Why a file, or a folder with all that is in it, is not trusted; `None`: it is.
    pub(crate) fn objection(&self, path: &Path) -> Option<Objection> {
        self.objection_to_place(path)
            .or_else(|| self.judge_content(path))
    }

    /// The same for a file or folder and for all folders and links that lead to it, whatever is in it.
    pub(crate) fn objection_to_place(&self, path: &Path) -> Option<Objection> {
        self.judge_way(path, Part::Used)
    }

    /// The same for a folder to which others may add, if they cannot replace what is there. It need not be there yet.
    pub(crate) fn objection_to_writing(&self, folder: &Path) -> Option<Objection> {
        let first = folder.ancestors().find(|folder| folder.exists());
        let folder = match first {
            Some(folder) => folder,
            None => Path::new("."),
        };
        self.judge_way(folder, Part::Above)
    }

    /// Refuses a folder of runs, or a run, in which others may replace what a run writes.
    pub(crate) fn refuse_writers(&self, folder: &Path) -> Result<()> {
        const WHY: &str = "a run starts programs that it has written there";
        match self.objection_to_writing(folder) {
            None => Ok(()),
            Some(objection) => Err(refusal(folder, WHY, &objection)),
        }
    }

    fn is_exception(&self, path: &Path) -> bool {
        self.exceptions
            .iter()
            .any(|folder| path.starts_with(folder))
    }

    /// Goes from the root to a path as the kernel does, and judges each folder and link on the way.
    fn judge_way(&self, path: &Path, part: Part) -> Option<Objection> {
        if fs::canonicalize(path).is_ok_and(|path| self.is_exception(&path)) {
            return None;
        }
        let mut rest = match std::path::absolute(path) {
            Ok(path) => names_reversed(&path),
            Err(why) => return Some(unreadable(path, &why)),
        };
        let mut place = PathBuf::from("/");
        let mut links = 0;
        loop {
            let is_last = rest.is_empty();
            let objection = self.judge_path(&place, if is_last { part } else { Part::Above });
            if is_last || objection.is_some() {
                return objection;
            }
            let name = rest.pop().unwrap_or_default();
            if name == ".." {
                place.pop();
                continue;
            }
            let next = place.join(&name);
            match fs::read_link(&next) {
                Ok(target) => {
                    links += 1;
                    if links > MAX_LINKS {
                        let (path, reason) = (path.to_path_buf(), Reason::TooManyLinks);
                        return Some(Objection { path, reason });
                    }
                    if let Some(objection) = self.judge_path(&next, part) {
                        return Some(objection);
                    }
                    if target.is_absolute() {
                        place = PathBuf::from("/");
                    }
                    rest.extend(names_reversed(&target));
                }
                // It is no link.
                Err(why) if why.kind() == io::ErrorKind::InvalidInput => place = next,
                // Who may add to the folder decides what will be there.
                Err(why) if why.kind() == io::ErrorKind::NotFound => {
                    return self.judge_path(&place, Part::Used);
                }
                Err(why) => return Some(unreadable(&next, &why)),
            }
        }
    }

    /// The first file below a folder to which there is an objection, or to what a link there leads to.
    fn judge_content(&self, folder: &Path) -> Option<Objection> {
        if !folder.is_dir() {
            return None;
        }
        let mut folders = vec![folder.to_path_buf()];
        let mut linked = HashSet::new();
        let mut files = 0;
        while let Some(next) = folders.pop() {
            if fs::canonicalize(&next).is_ok_and(|path| self.is_exception(&path)) {
                continue;
            }
            let entries = match fs::read_dir(&next) {
                Ok(entries) => entries,
                Err(why) => return Some(unreadable(&next, &why)),
            };
            for path in entries.flatten().map(|entry| entry.path()) {
                files += 1;
                if files > MAX_FILES {
                    let (path, reason) = (folder.to_path_buf(), Reason::TooManyFiles);
                    return Some(Objection { path, reason });
                }
                let objection = match path.is_symlink() {
                    true => self.judge_way(&path, Part::Used),
                    false => self.judge_path(&path, Part::Used),
                };
                if objection.is_some() {
                    return objection;
                }
                if is_new_folder(&path, &mut linked) {
                    folders.push(path);
                }
            }
        }
        None
    }

    fn judge_path(&self, path: &Path, part: Part) -> Option<Objection> {
        let reason = match fs::symlink_metadata(path) {
            Ok(about) => self.judge(&about, part, || {
                is_shared_group(path, about.gid(), &self.callers)
            })?,
            Err(why) => return Some(unreadable(path, &why)),
        };
        let path = path.to_path_buf();
        Some(Objection { path, reason })
    }

    fn judge(
        &self,
        about: &Metadata,
        part: Part,
        is_shared: impl FnOnce() -> bool,
    ) -> Option<Reason> {
        let owner = about.uid();
        if owner != ROOT && !self.callers.contains(&owner) {
            return Some(Reason::Owner(owner));
        }
        let mode = about.mode() & 0o7777;
        let is_fixed = part == Part::Above && mode & STICKY != 0;
        // The mode of a link means nothing.
        if about.is_symlink() || is_fixed {
            return None;
        }
        let is_writable = mode & WRITE_OF_OTHERS != 0 || mode & WRITE_OF_GROUP != 0 && is_shared();
        is_writable.then_some(Reason::Writable(mode))
    }
}

/// The parts of a path that are looked up one after the other, the last one first.
fn names_reversed(path: &Path) -> Vec<OsString> {
    let names = path.components().rev().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    });
    names.collect()
}

/// Whether it is a folder whose content is not looked at yet. Links may lead to the same folder, or to one that they are in.
fn is_new_folder(path: &Path, linked: &mut HashSet<PathBuf>) -> bool {
    path.is_dir()
        && (!path.is_symlink() || fs::canonicalize(path).is_ok_and(|path| linked.insert(path)))
}

/// The error of what is not trusted. `what`: such as `a system starts programs`.
pub(crate) fn refusal(path: &Path, what: &str, objection: &Objection) -> Error {
    let folder = match path.is_dir() {
        true => Some(path),
        false => path.parent(),
    };
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
    anyhow!(
        "{} is not used: {what}, and {objection}; if you trust it all the same, add --trust {}",
        path.display(),
        folder.unwrap_or(Path::new(".")).display()
    )
}

fn unreadable(path: &Path, why: &io::Error) -> Objection {
    Objection {
        path: path.to_path_buf(),
        reason: Reason::Unreadable(why.to_string()),
    }
}

/// Whether somebody else than the callers and root may be in a group, or rights of further users are set. On many systems each user
/// has a group of their own, to which all their files belong.
fn is_shared_group(path: &Path, group: u32, callers: &[u32]) -> bool {
    let mut nothing: [u8; 0] = [];
    if rustix::fs::lgetxattr(path, ACCESS_LIST, &mut nothing).is_ok_and(|length| length > 0) {
        return true;
    }
    let read = |file| fs::read_to_string(file).unwrap_or_default();
    has_other_members(&read("/etc/group"), &read("/etc/passwd"), group, callers)
}

/// The texts are those of /etc/group and /etc/passwd. Of a group that is not there, anybody may be a member.
fn has_other_members(groups: &str, users: &str, group: u32, callers: &[u32]) -> bool {
    let is_known = |user: u32| user == ROOT || callers.contains(&user);
    let of_group = groups.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        (fields.get(2)?.parse() == Ok(group)).then(|| fields.get(3).copied().unwrap_or_default())
    });
    let Some(members) = of_group else {
        return true;
    };
    let members: Vec<&str> = members.split(',').filter(|name| !name.is_empty()).collect();
    let mut found_members = 0;
    for line in users.lines() {
        let fields: Vec<&str> = line.split(':').collect();
        let [name, _, user, primary, ..] = fields[..] else {
            continue;
        };
        let is_member = members.contains(&name);
        found_members += usize::from(is_member);
        let is_in_group = is_member || primary.parse() == Ok(group);
        if is_in_group && !user.parse().is_ok_and(is_known) {
            return true;
        }
    }
    // A member of another directory of users.
    found_members < members.len()
}

#[cfg(test)]
mod tests {
    use std::{
        fs::{self, Permissions},
        os::unix::fs::{PermissionsExt, symlink},
        path::Path,
    };

    use super::{Reason, Trust, has_other_members};

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    fn own_trust() -> Trust {
        Trust {
            exceptions: Vec::new(),
            callers: vec![rustix::process::geteuid().as_raw()],
        }
    }

    #[test]
    fn what_others_may_write_is_not_trusted() {
        let folder = tempfile::tempdir().unwrap();
        let system = folder.path().join("systems/shop");
        fs::create_dir_all(system.join("fetch")).unwrap();
        let script = system.join("fetch/shop");
        fs::write(&script, "#!/bin/sh").unwrap();
        let trust = own_trust();
        let refused = |path: &Path| trust.objection(path).map(|objection| objection.path);
        assert_eq!(refused(&system), None);
        for (path, mode) in [
            (script.as_path(), 0o777),
            (&system.join("fetch"), 0o757),
            (&system, 0o757),
            // Nobody can replace a file there, but anybody can add one.
            (&system, 0o1777),
            (&folder.path().join("systems"), 0o777),
        ] {
            let before = fs::metadata(path).unwrap().permissions();
            set_mode(path, mode);
            assert_eq!(refused(&system).as_deref(), Some(path), "{mode:o}");
            set_mode(path, before.mode());
        }
        // As /tmp: what is in it cannot be replaced by others.
        set_mode(&folder.path().join("systems"), 0o1777);
        assert_eq!(refused(&system), None);
    }

    #[test]
    fn what_others_own_is_not_trusted_unless_it_is_an_exception() {
        let folder = tempfile::tempdir().unwrap();
        let owner = rustix::process::geteuid().as_raw();
        // Seen by somebody else; root's folders are trusted by all.
        let (path, trust) = match owner {
            0 => {
                std::os::unix::fs::chown(folder.path(), Some(65534), None).unwrap();
                (folder.path(), own_trust())
            }
            _ => (
                folder.path(),
                Trust {
                    callers: vec![owner + 1],
                    exceptions: Vec::new(),
                },
            ),
        };
        let objection = trust.objection(path).unwrap();
        assert!(matches!(objection.reason, Reason::Owner(_)), "{objection}");
        let trust = Trust::new(&[path.to_path_buf()]).unwrap();
        assert_eq!(trust.objection(path), None);
    }

    #[test]
    fn what_links_lead_to_is_judged_with_the_way_there() {
        let around = tempfile::tempdir().unwrap();
        let path = |name: &str| around.path().join(name);
        for folder in ["shop/fetch", "theirs", "open"] {
            fs::create_dir_all(path(folder)).unwrap();
        }
        fs::write(path("theirs/script"), "#!/bin/sh").unwrap();
        set_mode(&path("theirs"), 0o777);
        set_mode(&path("open"), 0o1777);
        let trust = own_trust();
        let refused = |name: &str| trust.objection(&path(name)).map(|objection| objection.path);
        assert_eq!(refused("shop"), None);
        // A file and a folder of others, and a file that others may make.
        for target in ["../../theirs/script", "../../theirs", "../../open/later"] {
            symlink(target, path("shop/fetch/link")).unwrap();
            let folder = path(&target[6..]);
            let folder = folder.ancestors().find(|folder| folder.is_dir());
            assert_eq!(refused("shop").as_deref(), folder, "{target}");
            fs::remove_file(path("shop/fetch/link")).unwrap();
        }
        // On the way to what nobody else may write, others may write.
        symlink(path("shop"), path("theirs/link")).unwrap();
        assert_eq!(refused("theirs/link"), Some(path("theirs")));
        // A loop of folders, and a link that leads to itself.
        symlink("..", path("shop/fetch/up")).unwrap();
        symlink("itself", path("shop/fetch/itself")).unwrap();
        let said = trust.objection(&path("shop")).unwrap().to_string();
        assert!(said.ends_with("more than 40 links"), "{said}");
        fs::remove_file(path("shop/fetch/itself")).unwrap();
        assert_eq!(refused("shop"), None);
    }

    #[test]
    fn runs_are_written_where_others_replace_nothing() {
        let around = tempfile::tempdir().unwrap();
        let runs = around.path().join("runs");
        let trust = own_trust();
        let is_refused = |mode: u32| {
            set_mode(around.path(), mode);
            trust.refuse_writers(&runs).is_err()
        };
        for is_there in [false, true] {
            if is_there {
                fs::create_dir(&runs).unwrap();
            }
            assert!(!is_refused(0o755) && !is_refused(0o1777), "{is_there}");
            assert!(is_refused(0o777), "{is_there}");
        }
        set_mode(around.path(), 0o755);
        set_mode(&runs, 0o777);
        let why = trust.refuse_writers(&runs).unwrap_err().to_string();
        assert!(why.contains("others may write to"), "{why}");
    }

    #[test]
    fn a_group_is_private_if_nobody_else_can_be_in_it() {
        let users =
            "root:x:0:0::/root:/bin/sh\nann:x:1000:1000::/:/bin/sh\nbob:x:1001:1001::/:/bin/sh\n";
        let groups = "root:x:0:\nann:x:1000:\nteam:x:2000:ann,bob\nonly:x:2001:ann,root\nfar:x:2002:ann,eve\n";
        let is_shared = |group| has_other_members(groups, users, group, &[1000]);
        assert!(!is_shared(1000) && !is_shared(0) && !is_shared(2001));
        // With Bob, with one of another directory, and one that is not known.
        assert!(is_shared(2000) && is_shared(2002) && is_shared(4000));
        assert!(is_shared(1001));
    }
}
