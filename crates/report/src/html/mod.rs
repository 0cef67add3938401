//! The page: one file with everything inside, readable without scripts, drawn with them.

mod cells;
mod comparisons;
mod curves;
mod disturbed;
mod effects;
mod embed;
mod escape;
mod published;
mod recovery;
mod search;
mod sections;
mod series_table;
mod steps;
mod table;

use waggle_analysis::Model;

const STYLE: &str = include_str!("../../assets/page/style.css");
const SCRIPTS: [&str; 12] = [
    include_str!("../../assets/page/page.js"),
    include_str!("../../assets/page/charts.js"),
    include_str!("../../assets/page/factors.js"),
    include_str!("../../assets/page/curves.js"),
    include_str!("../../assets/page/comparisons.js"),
    include_str!("../../assets/page/effects.js"),
    include_str!("../../assets/page/spectrum.js"),
    include_str!("../../assets/page/steps.js"),
    include_str!("../../assets/page/time.js"),
    include_str!("../../assets/page/search.js"),
    include_str!("../../assets/page/published.js"),
    include_str!("../../assets/page/start.js"),
];
const ECHARTS: &str = include_str!("../../assets/vendor/echarts/echarts.min.js");

/// Nothing may be fetched, whatever a study's text tries: the page is all there is.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; \
                      base-uri 'none'; form-action 'none'";

/// The report as one HTML file.
#[must_use]
pub fn html(model: &Model) -> String {
    let title = escape::text(&format!("{} · waggle report", model.info.study));
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"generator\" content=\"waggle {}\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n",
        escape::text(&model.info.waggle_version)
    );
    sections::body(&mut out, model);
    out.push_str("<script type=\"application/json\" id=\"model\">");
    out.push_str(&escape::json(&embed::chart_model(model)));
    out.push_str("</script>\n");
    script(&mut out, ECHARTS);
    for text in SCRIPTS {
        script(&mut out, text);
    }
    out.push_str("</body>\n</html>\n");
    out
}

/// Our own and the vendored scripts are constants, so a test can promise that none ends its own element.
fn script(out: &mut String, text: &str) {
    out.push_str("<script>\n");
    out.push_str(text);
    out.push_str("\n</script>\n");
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
    fn no_embedded_file_ends_its_own_element() {
        for text in SCRIPTS.into_iter().chain([ECHARTS, STYLE]) {
            let lower = text.to_ascii_lowercase();
            assert!(
                !lower.contains("</script")
                    && !lower.contains("</style")
                    && !lower.contains("<!--")
            );
        }
    }
}
