//! Texts that match a `pattern`: the part of ECMA-262's regular expressions that is one of Rust, too. Each text is tested by the
//! expression itself.

use std::ops::RangeInclusive;

use anyhow::{Context, Result, anyhow, bail};
use regex::{Regex, RegexBuilder};
use regex_syntax::{
    Parser,
    hir::{Class, Hir, HirKind, Repetition},
};

use super::text::TEXT_MAX;

/// Longest pattern.
const PATTERN_MAX_BYTES: usize = 10_000;
/// Most bytes of a compiled pattern.
const COMPILED_MAX_BYTES: usize = 1 << 20;
/// Most choices that one part of a pattern is given.
const CHOICES_MAX: usize = 100;
/// Texts that are tried, by how often their parts are repeated.
const REPEATS: usize = 24;

/// Bytes of a text times parts of a pattern that are compared in one step.
const COMPARED_IN_STEP: usize = 256;

/// Takes steps before they are made; an error if too many were.
pub(super) type Spend<'a> = &'a dyn Fn(usize) -> Result<()>;

/// A pattern that was read.
struct Pattern {
    regex: Regex,
    hir: Hir,
    /// Its parts, each as often as it is repeated.
    size: usize,
}

impl Pattern {
    fn is_match(&self, text: &str, spend: Spend<'_>) -> Result<bool> {
        spend(1 + text.len().saturating_mul(self.size) / COMPARED_IN_STEP)?;
        Ok(self.regex.is_match(text))
    }
}

/// Whether a text matches; `true` for a pattern that is none here.
pub(super) fn matches(pattern: &str, text: &str, spend: Spend<'_>) -> Result<bool> {
    match read(pattern, spend)? {
        Ok(pattern) => pattern.is_match(text, spend),
        Err(_) => Ok(true),
    }
}

/// The text of `variant`.
pub(super) fn make(
    pattern: &str,
    lengths: RangeInclusive<usize>,
    variant: usize,
    spend: Spend<'_>,
) -> Result<String> {
    let no_text = || format!("no text is made for the pattern {pattern:?}");
    let read = read(pattern, spend)?.with_context(no_text)?;
    let shortest = text_of(&read.hir, Growth::All, 0, variant);
    let missing = shortest.map_or(0, |text| {
        lengths.start().saturating_sub(text.chars().count())
    });
    let mut repeats: Vec<usize> = (0..REPEATS).collect();
    repeats.extend([missing, missing.div_ceil(2), missing.div_ceil(3)]);
    for repeat in repeats {
        for growth in [Growth::First, Growth::Last, Growth::All] {
            spend(read.size)?;
            let Some(text) = text_of(&read.hir, growth, repeat, variant) else {
                continue;
            };
            let behind = lengths.start().saturating_sub(text.chars().count());
            let padded = format!("{text}{}", "x".repeat(behind));
            let before = format!("{}{text}", "x".repeat(behind));
            for text in [text, padded, before] {
                if lengths.contains(&text.chars().count()) && read.is_match(&text, spend)? {
                    return Ok(text);
                }
            }
        }
    }
    bail!(
        "{} that has {} to {} characters",
        no_text(),
        lengths.start(),
        lengths.end()
    )
}

/// The outer error: too many steps. The inner one: it is no pattern here.
fn read(pattern: &str, spend: Spend<'_>) -> Result<Result<Pattern>> {
    const UNREAD: &str = "it cannot be read";
    if pattern.len() > PATTERN_MAX_BYTES {
        return Ok(Err(anyhow!("it is longer than {PATTERN_MAX_BYTES} bytes")));
    }
    spend(pattern.len())?;
    let translated = translate(pattern);
    let Ok(hir) = Parser::new().parse(&translated) else {
        return Ok(Err(anyhow!(UNREAD)));
    };
    let size = size(&hir);
    // It would be larger when it is compiled.
    if size > COMPILED_MAX_BYTES {
        return Ok(Err(anyhow!(UNREAD)));
    }
    spend(size)?;
    let compiled = RegexBuilder::new(&translated)
        .size_limit(COMPILED_MAX_BYTES)
        .build();
    let compiled = compiled.ok().context(UNREAD);
    Ok(compiled.map(|regex| Pattern { regex, hir, size }))
}

/// The letters and ranges of a pattern, each as often as it is repeated.
fn size(hir: &Hir) -> usize {
    let parts = match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 0,
        HirKind::Literal(literal) => literal.0.len(),
        HirKind::Class(Class::Unicode(class)) => class.ranges().len(),
        HirKind::Class(Class::Bytes(class)) => class.ranges().len(),
        HirKind::Repetition(repetition) => {
            let most = repetition.max.unwrap_or(repetition.min.saturating_add(1));
            let most = usize::try_from(most).unwrap_or(usize::MAX);
            size(&repetition.sub).saturating_mul(most)
        }
        HirKind::Capture(capture) => size(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts
            .iter()
            .fold(0, |sum, part| size(part).saturating_add(sum)),
    };
    parts.saturating_add(1)
}

/// A pattern of ECMA-262 as one of Rust: classes are of ASCII, `/` may be escaped, and in a class `[`, `&` and `~` are letters.
fn translate(pattern: &str) -> String {
    let mut whole = String::new();
    let mut is_in_class = false;
    let mut letters = pattern.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => {
                let escaped = letters.next();
                match (escaped, is_in_class) {
                    (Some('d'), true) => whole.push_str("0-9"),
                    (Some('d'), false) => whole.push_str("[0-9]"),
                    (Some('D'), _) => whole.push_str("[^0-9]"),
                    // A hyphen behind it is a letter, as it is behind a range.
                    (Some('w'), true) => whole.push_str("_A-Za-z0-9"),
                    (Some('w'), false) => whole.push_str("[A-Za-z0-9_]"),
                    (Some('W'), _) => whole.push_str("[^A-Za-z0-9_]"),
                    (Some('/'), _) => whole.push('/'),
                    (escaped, _) => {
                        whole.push('\\');
                        whole.extend(escaped);
                    }
                }
            }
            '[' if is_in_class => whole.push_str("\\["),
            '&' | '~' if is_in_class => whole.extend(['\\', letter]),
            '[' => {
                is_in_class = true;
                whole.push('[');
                whole.extend(letters.next_if_eq(&'^'));
            }
            ']' => {
                is_in_class = false;
                whole.push(']');
            }
            letter => whole.push(letter),
        }
    }
    whole
}

/// Which repetitions are longer than they must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Growth {
    First,
    Last,
    All,
}

/// The text of a pattern with so many more repeats than the least; `None` if there is none, or it is too long.
fn text_of(hir: &Hir, growth: Growth, repeat: usize, variant: usize) -> Option<String> {
    let mut writer = Writer {
        text: String::new(),
        steps: 0,
        repeat,
        growth,
        count: 0,
        last: repetitions(hir),
        choice: variant,
    };
    writer.write(hir)?;
    Some(writer.text)
}

fn repetitions(hir: &Hir) -> usize {
    match hir.kind() {
        HirKind::Repetition(repetition) => 1 + repetitions(&repetition.sub),
        HirKind::Capture(capture) => repetitions(&capture.sub),
        HirKind::Concat(parts) => parts.iter().map(repetitions).sum(),
        HirKind::Alternation(parts) => parts.iter().map(repetitions).max().unwrap_or(0),
        HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) | HirKind::Look(_) => 0,
    }
}

/// Maximum number of parts that are written.
const STEPS_MAX: usize = 100_000;

struct Writer {
    text: String,
    /// Parts so far, some of which may have no letter.
    steps: usize,
    repeat: usize,
    growth: Growth,
    /// The repetitions so far.
    count: usize,
    last: usize,
    /// What is left of the variant: each part with choices takes its share.
    choice: usize,
}

impl Writer {
    fn write(&mut self, hir: &Hir) -> Option<()> {
        self.steps += 1;
        if self.text.len() as u64 > TEXT_MAX || self.steps > STEPS_MAX {
            return None;
        }
        match hir.kind() {
            HirKind::Empty | HirKind::Look(_) => {}
            HirKind::Literal(literal) => self.text.push_str(std::str::from_utf8(&literal.0).ok()?),
            HirKind::Class(class) => {
                let letters = letters(class);
                let index = self.choose(letters.len())?;
                self.text.push(letters[index]);
            }
            HirKind::Repetition(repetition) => self.repeat(repetition)?,
            HirKind::Capture(capture) => self.write(&capture.sub)?,
            HirKind::Concat(parts) => {
                for part in parts {
                    self.write(part)?;
                }
            }
            HirKind::Alternation(parts) => {
                let index = self.choose(parts.len())?;
                self.write(&parts[index])?;
            }
        }
        Some(())
    }

    fn repeat(&mut self, repetition: &Repetition) -> Option<()> {
        self.count += 1;
        let grows = match self.growth {
            Growth::First => self.count == 1,
            Growth::Last => self.count == self.last,
            Growth::All => true,
        };
        let least = usize::try_from(repetition.min).ok()?;
        let most = repetition.max.map_or(usize::MAX, |most| most as usize);
        let more = if grows { self.repeat } else { 0 };
        let counted = self.count;
        for _ in 0..least.saturating_add(more).min(most) {
            // A repetition within this one is the same one in each round.
            self.count = counted;
            self.write(&repetition.sub)?;
        }
        self.count = counted + repetitions(&repetition.sub);
        Some(())
    }

    fn choose(&mut self, count: usize) -> Option<usize> {
        if count == 0 {
            return None;
        }
        let index = self.choice % count;
        self.choice /= count;
        Some(index)
    }
}

/// Letters of a class: those of ASCII that are no signs first.
fn letters(class: &Class) -> Vec<char> {
    let ranges: Vec<(char, char)> = match class {
        Class::Unicode(class) => {
            let ranges = class.ranges().iter();
            ranges.map(|range| (range.start(), range.end())).collect()
        }
        Class::Bytes(class) => {
            let ranges = class.ranges().iter();
            let ranges = ranges.filter(|range| range.end().is_ascii());
            ranges
                .map(|range| (char::from(range.start()), char::from(range.end())))
                .collect()
        }
    };
    let has = |letter: &char| {
        ranges
            .iter()
            .any(|(low, high)| (low..=high).contains(&letter))
    };
    let signs = ('!'..='~').filter(|letter| !letter.is_ascii_alphanumeric());
    let preferred = ('a'..='z').chain('1'..='9').chain(['0']).chain('A'..='Z');
    let mut letters: Vec<char> = preferred.chain(signs).chain([' ']).filter(has).collect();
    if letters.is_empty() {
        let first = ranges.iter().flat_map(|(low, high)| *low..=*high);
        letters = first.take(CHOICES_MAX).collect();
    }
    letters
}

#[cfg(test)]
mod tests {
    use regex::Regex;

    use super::{make, matches};

    /// The text, which the second expression matches, too.
    #[track_caller]
    fn check(pattern: &str, lengths: (usize, usize), same: &str) {
        let mut made = Vec::new();
        for variant in 0..3 {
            let text = make(pattern, lengths.0..=lengths.1, variant, &|_| Ok(())).unwrap();
            assert!(
                Regex::new(same).unwrap().is_match(&text),
                "{pattern}: {text:?}"
            );
            assert!(
                (lengths.0..=lengths.1).contains(&text.chars().count()),
                "{text:?}"
            );
            made.push(text);
        }
    }

    #[test]
    fn texts_match_their_pattern() {
        let any = (0, 1_000);
        check("^x", any, "^x");
        check("^[A-Z]{3}-\\d{4}$", any, "^[A-Z]{3}-[0-9]{4}$");
        check(
            r"^\w+@\w+\.(com|org)$",
            any,
            r"^[A-Za-z0-9_]+@[A-Za-z0-9_]+\.(com|org)$",
        );
        check("^[a-z]+$", (6, 8), "^[a-z]{6,8}$");
        check("^[a-z]*[0-9]*$", (500, 500), "^[a-z]*[0-9]*$");
        check("^(ab|cd)+$", (7, 8), "^(ab|cd){4}$");
        check("a", (5, 5), "a");
        check("a$", (5, 5), "a$");
        check(r"^https?:\/\/[^\/]+\/$", any, "^https?://[^/]+/$");
        check("^[^\\s@]+$", any, "^[!-?A-~]+$");
        check("^[[a]+$", any, r"^[\[a]+$");
        check(
            "^#?(?:[0-9a-fA-F]{3}){1,2}$",
            any,
            "^#?([0-9a-fA-F]{3}){1,2}$",
        );
        check(r"^\+?[1-9]\d{1,14}$", any, r"^\+?[1-9][0-9]{1,14}$");
        check(
            r"^(?<year>\d{4})-(0[1-9]|1[0-2])$",
            any,
            "^[0-9]{4}-(0[1-9]|1[0-2])$",
        );
        check(r"^\u0041\bx?", any, "^A");
        check("", (3, 3), "^...$");
    }

    #[test]
    fn texts_of_other_patterns_are_not_made() {
        let check = |pattern: &str, lengths: (usize, usize), expected: &str| {
            let why = make(pattern, lengths.0..=lengths.1, 0, &|_| Ok(())).unwrap_err();
            assert!(format!("{why:#}").contains(expected), "{why:#}");
        };
        let unread = "it cannot be read";
        check("^(?=a)b", (0, 9), unread);
        check(r"^(a)\1$", (0, 9), unread);
        check("(", (0, 9), unread);
        check("[a-z]{5000}{5000}", (0, 9), unread);
        check(
            "^a{3}$",
            (4, 9),
            "no text is made for the pattern \"^a{3}$\" that has 4 to 9 characters",
        );
        check("^a{9}$", (0, 8), "that has 0 to 8 characters");
        check(&"a".repeat(10_001), (0, 9), "it is longer than 10000 bytes");
    }

    #[test]
    fn examples_are_tested() {
        let matches = |pattern: &str, text: &str| matches(pattern, text, &|_| Ok(())).unwrap();
        assert!(matches("^a", "ab") && !matches("^a", "b") && matches("^(?=a)", "b"));
    }
}
