//! The verdict of a load and that of its report.

use serde_json::Value;

use super::{ANSWER, server};
use crate::{
    exit_codes::load_result,
    workspace::{Workspace, output_text},
};

#[test]
fn load_and_its_report_have_the_same_verdict() {
    // Without a warm-up, connections open in the measured phase; a request count ends within an interval.
    for flags in [&["-c", "8", "-d", "2s"][..], &["-c", "8", "-n", "3000"]] {
        let (workspace, server) = (Workspace::new(), server(ANSWER));
        let url = format!("http://{}/", server.address());
        let load = ["load", &url, "--json", "--save=kept"];
        let output = workspace.output(&[&load[..], flags].concat());
        let result = load_result(&output);
        let run = waggle_results::Run::read(&workspace.path().join("kept")).unwrap();
        let model = waggle_analysis::model(&run);
        let trial = &model.trials[0];
        assert_eq!(
            result["verdict"],
            trial.verdict.name(),
            "{}",
            output_text(&output)
        );
        let reasons: Vec<String> = trial
            .reasons
            .iter()
            .map(waggle_report::wording::findings::named_reason)
            .collect();
        assert_eq!(result["verdict_reasons"], Value::from(reasons));
    }
}
