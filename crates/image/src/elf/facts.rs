//! What an ELF file says of itself.

use std::{
    collections::BTreeSet,
    fs::File,
    io::{Cursor, Read, Seek},
};

use object::{
    Endianness, elf,
    read::{
        ReadCache, ReadRef,
        elf::{ElfFile, ElfFile32, ElfFile64, FileHeader, ProgramHeader as _},
    },
};

use crate::layer::{Content, Entry};

/// What a program or a shared library says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Facts {
    /// As Linux's tools name it: `x86_64`, `aarch64`; a number if it is another one.
    pub(crate) architecture: String,
    /// Started as a program, by the loader that it names; without one: nothing is loaded with it.
    pub(crate) loader: Option<String>,
    pub(crate) is_program: bool,
    /// Names of libraries.
    pub(crate) needed: Vec<String>,
    /// Folders in which they are looked for first; `$ORIGIN` is that of the file.
    pub(crate) search: Vec<String>,
    /// Names of a library and of a version of its symbols.
    pub(crate) needed_versions: Vec<(String, String)>,
    /// Versions of the symbols that it has.
    pub(crate) versions: BTreeSet<String>,
}

/// The facts of an entry; `None`: it is no ELF file, or has no programs in it.
pub(crate) fn facts(entry: &Entry) -> Option<Facts> {
    let Entry::File { content, .. } = entry else {
        return None;
    };
    match content {
        Content::Bytes(bytes) => {
            let start: [u8; 5] = bytes.get(..5)?.try_into().ok()?;
            facts_of_reader(Cursor::new(bytes.as_slice()), start)
        }
        Content::File(path) => {
            let mut file = File::open(path).ok()?;
            let mut start = [0; 5];
            file.read_exact(&mut start).ok()?;
            facts_of_reader(file, start)
        }
    }
}

fn facts_of_reader(file: impl Read + Seek, start: [u8; 5]) -> Option<Facts> {
    if start[..4] != elf::ELFMAG {
        return None;
    }
    let cache = ReadCache::new(file);
    match start[4] {
        elf::ELFCLASS64 => facts_of_file(&ElfFile64::<Endianness, _>::parse(&cache).ok()?),
        _ => facts_of_file(&ElfFile32::<Endianness, _>::parse(&cache).ok()?),
    }
}

fn facts_of_file<'data, Elf, R>(file: &ElfFile<'data, Elf, R>) -> Option<Facts>
where
    Elf: FileHeader<Endian = Endianness>,
    R: ReadRef<'data>,
{
    let (endian, header) = (file.endian(), file.elf_header());
    let kind = header.e_type(endian);
    if kind != elf::ET_EXEC && kind != elf::ET_DYN {
        return None;
    }
    let mut facts = Facts {
        architecture: architecture_name(header.e_machine(endian)),
        is_program: kind == elf::ET_EXEC,
        ..Facts::default()
    };
    for segment in file.elf_program_headers() {
        if let Ok(Some(loader)) = segment.interpreter(endian, file.data()) {
            facts.loader = Some(String::from_utf8_lossy(loader).into_owned());
            facts.is_program = true;
        }
    }
    let table = file.elf_dynamic_table().ok()?;
    let (mut rpath, mut runpath) = (Vec::new(), Vec::new());
    for entry in table.iter() {
        let list = match entry.tag {
            elf::DT_NEEDED => &mut facts.needed,
            elf::DT_RPATH => &mut rpath,
            elf::DT_RUNPATH => &mut runpath,
            _ => continue,
        };
        let text = table.string(entry).ok()?;
        list.push(String::from_utf8_lossy(text).into_owned());
    }
    let search = if runpath.is_empty() { rpath } else { runpath };
    let folders = search.iter().flat_map(|list| list.split(':'));
    facts.search = folders.map(str::to_owned).collect();
    note_versions(file, &mut facts);
    Some(facts)
}

/// Notes versions of symbols, as far as the file has them.
fn note_versions<'data, Elf, R>(file: &ElfFile<'data, Elf, R>, facts: &mut Facts)
where
    Elf: FileHeader<Endian = Endianness>,
    R: ReadRef<'data>,
{
    let (endian, sections) = (file.endian(), file.elf_section_table());
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if let Ok(Some((mut needs, link))) = sections.gnu_verneed(endian, file.data())
        && let Ok(strings) = sections.strings(endian, file.data(), link)
    {
        while let Ok(Some((need, mut versions))) = needs.next() {
            let Ok(library) = need.file(endian, strings) else {
                continue;
            };
            while let Ok(Some(version)) = versions.next() {
                // A version that may be missing.
                let is_weak = version.vna_flags.get(endian) & elf::VER_FLG_WEAK != 0;
                if !is_weak && let Ok(name) = version.name(endian, strings) {
                    facts.needed_versions.push((text(library), text(name)));
                }
            }
        }
    }
    if let Ok(Some((mut definitions, link))) = sections.gnu_verdef(endian, file.data())
        && let Ok(strings) = sections.strings(endian, file.data(), link)
    {
        while let Ok(Some((_, mut names))) = definitions.next() {
            if let Ok(Some(name)) = names.next()
                && let Ok(name) = name.name(endian, strings)
            {
                facts.versions.insert(text(name));
            }
        }
    }
}

fn architecture_name(machine: u16) -> String {
    match machine {
        elf::EM_X86_64 => "x86_64".to_owned(),
        elf::EM_AARCH64 => "aarch64".to_owned(),
        elf::EM_386 => "x86".to_owned(),
        elf::EM_ARM => "arm".to_owned(),
        elf::EM_RISCV => "riscv64".to_owned(),
        elf::EM_S390 => "s390x".to_owned(),
        elf::EM_PPC64 => "powerpc64".to_owned(),
        other => format!("machine {other}"),
    }
}

/// The architecture of this program, as images name it.
pub(crate) fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "powerpc64" => "ppc64le",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::{Content, Entry, facts};

    #[test]
    fn a_program_says_what_it_needs() {
        let entry = |content| Entry::File {
            content,
            is_executable: true,
        };
        let program = std::env::current_exe().unwrap();
        let facts_of_this = facts(&entry(Content::File(program))).unwrap();
        assert_eq!(facts_of_this.architecture, std::env::consts::ARCH);
        assert!(facts_of_this.is_program && facts_of_this.loader.is_some());
        assert!(facts_of_this.needed.contains(&"libc.so.6".to_owned()));
        let versions = facts_of_this.needed_versions.iter();
        let mut of_libc = versions.filter(|(library, _)| library == "libc.so.6");
        assert!(of_libc.any(|(_, version)| version.starts_with("GLIBC_")));
        assert_eq!(facts(&entry(Content::Bytes(b"\x7fELF".to_vec()))), None);
        assert_eq!(facts(&entry(Content::Bytes(b"#!/bin/sh".to_vec()))), None);
    }
}
