//! Inlined into the page: style, scripts, the data of the charts, and the shortest tags. Only this text is not escaped.

use std::sync::LazyLock;

use maud::PreEscaped;
use serde::Serialize;

/// The style of every page.
pub const STYLE: &str = include_str!("../../../assets/page/style.css");
/// Light and dark, of every page with scripts.
pub const THEME: &str = include_str!("../../../assets/page/theme.js");
/// Runs as the page comes; unpacks and runs the others.
pub(super) const LOADER: &str = include_str!("../../../assets/page/loader.js");
/// The charts' library.
pub(super) const LIBRARY: &str = include_str!("../../../assets/vendor/echarts/echarts.min.js");
/// The page's own, start.js last.
const SCRIPTS: [&str; 20] = [
    include_str!("../../../assets/page/numbers.js"),
    include_str!("../../../assets/page/page.js"),
    include_str!("../../../assets/page/charts.js"),
    include_str!("../../../assets/page/zoom.js"),
    include_str!("../../../assets/page/picture.js"),
    include_str!("../../../assets/page/facets.js"),
    include_str!("../../../assets/page/drawn/factors.js"),
    include_str!("../../../assets/page/drawn/multiples.js"),
    include_str!("../../../assets/page/drawn/curves.js"),
    include_str!("../../../assets/page/drawn/comparisons.js"),
    include_str!("../../../assets/page/drawn/effects.js"),
    include_str!("../../../assets/page/drawn/spectrum.js"),
    include_str!("../../../assets/page/drawn/steps.js"),
    include_str!("../../../assets/page/drawn/time.js"),
    include_str!("../../../assets/page/drawn/search.js"),
    include_str!("../../../assets/page/drawn/operating.js"),
    include_str!("../../../assets/page/drawn/reference.js"),
    include_str!("../../../assets/page/tables.js"),
    include_str!("../../../assets/page/trials.js"),
    include_str!("../../../assets/page/start.js"),
];

/// All of them as one script, so that the policy names one.
pub(super) static OWN_SCRIPTS: LazyLock<String> = LazyLock::new(|| SCRIPTS.concat());

/// Tags whose ends HTML lets out.
pub(super) const ROW: PreEscaped<&str> = PreEscaped("<tr>");
pub(super) const FIELD: PreEscaped<&str> = PreEscaped("<td>");
/// On the side that is not the table's usual one.
pub(super) const OTHER_FIELD: PreEscaped<&str> = PreEscaped("<td class=o>");

/// The data of the charts.
pub(super) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value)
        .expect("the charts' keys are names, so that all of it can be written")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One name twice at the top level, and the browser refuses the whole second script.
    #[test]
    fn no_two_scripts_declare_the_same_name() {
        let mut names: Vec<&str> = SCRIPTS
            .iter()
            .flat_map(|text| text.lines())
            .filter_map(|line| {
                let rest = ["const ", "let ", "function ", "class "]
                    .iter()
                    .find_map(|word| line.strip_prefix(word))?;
                rest.split(|c: char| !(c.is_alphanumeric() || c == '_'))
                    .next()
            })
            .collect();
        names.sort_unstable();
        let twice = names.windows(2).find(|pair| pair[0] == pair[1]);
        assert_eq!(twice, None);
    }

    #[test]
    fn no_inlined_file_ends_its_own_element() {
        for text in [LOADER, THEME, STYLE] {
            let lower = text.to_ascii_lowercase();
            assert!(
                !lower.contains("</script")
                    && !lower.contains("</style")
                    && !lower.contains("<!--")
            );
        }
    }
}
