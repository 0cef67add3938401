//! Patterns of topics.

/// Patterns of names, in which `*` stands for any characters, also none.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Patterns(pub(super) Vec<Box<str>>);

impl Patterns {
    pub(super) fn allow(&self, topic: &str) -> bool {
        self.0.iter().any(|pattern| matches(pattern, topic))
    }

    /// Whether every topic is allowed.
    pub(super) fn allow_all(&self) -> bool {
        self.0.iter().any(|pattern| &**pattern == "*")
    }
}

fn matches(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(mut name) = name.strip_prefix(start) else {
        return false;
    };
    let mut parts = rest.split('*').peekable();
    while let Some(part) = parts.next() {
        // The last part ends the name; an earlier one may be anywhere, best as early as possible.
        if parts.peek().is_none() {
            return name.ends_with(part);
        }
        match name.find(part) {
            Some(place) => name = &name[place + part.len()..],
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_characters() {
        let check = |pattern: &str, names: &[&str], others: &[&str]| {
            for name in names {
                assert!(matches(pattern, name), "{pattern} {name}");
            }
            for name in others {
                assert!(!matches(pattern, name), "{pattern} {name}");
            }
        };
        check("plant", &["plant"], &["plants", "a.plant", ""]);
        check("*", &["plant", ""], &[]);
        check("plant.*", &["plant.", "plant.7"], &["plant", "plantx7"]);
        check("*.raw", &["a.raw", ".raw"], &["a.raw.b", "raw"]);
        check(
            "a*b*c",
            &["abc", "axbxc", "abbc", "abcbc"],
            &["ab", "acb", "abcx"],
        );
        check("a*a", &["aa", "aba"], &["a"]);
        check("**", &["", "x"], &[]);
    }
}
