//! The report at its boundary: a seeded run's folder in, numbers, verdicts and texts out.

mod catalogue;
mod checks;
mod compare;
mod delays;
mod factors;
mod golden;
mod history;
mod left_out;
mod machines;
mod numbers;
mod policy;
mod recorded;
mod seeded;
mod simulated_machines;
mod stalls;
mod statements;
mod verdicts;

use std::io::Read;

use base64::{Engine, engine::general_purpose::STANDARD};
use flate2::read::ZlibDecoder;
use seeded::Seeded;
use waggle_analysis::{Model, model};
use waggle_results::Run;

/// What the report says of a made-up study.
fn seeded_model(study: &Seeded) -> Model {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let run = folder.path().join("run");
    study.write(&run);
    model(&Run::read(&run).expect("what was just written can be read"))
}

/// The page with the data of its charts as text.
fn html(model: &Model) -> String {
    let page = waggle_report::html(model);
    let start = "id=\"model\" data-packed=\"zlib base64\">";
    let (before, rest) = page.split_once(start).expect("a page has data");
    let (packed, after) = rest.split_once("</script>").expect("an element ends");
    format!("{before}{start}{}</script>{after}", unpacked_text(packed))
}

/// What the page's scripts get of a compressed element.
fn unpacked_text(packed: &str) -> String {
    let bytes = STANDARD.decode(packed).expect("it is Base64");
    let mut text = String::new();
    let mut unpacked = ZlibDecoder::new(&bytes[..]);
    unpacked
        .read_to_string(&mut text)
        .expect("it is compressed text");
    text
}
