//! Results → one self-contained page, Markdown, CSV, and the rows of the terminal's table.
//!
//! `model` is the analysis: results and statistics joined into what is shown, verdicts included. The writers
//! only lay it out; two writers never compute the same number twice.

// The calls other crates rely on:
//
// pub fn model(run: &waggle_results::Run) -> Model
// pub fn html(model: &Model) -> String;  pub fn markdown(model: &Model) -> String;  pub fn csv(model: &Model) -> String
// pub fn write_all(run_folder: &Path) -> Result<Written, ReportError>   reads the run, writes the three files
// Model { cells: Vec<CellModel { cell, levels, goodput: Estimate, response_p50_us/_p99_us/_max_us: Estimate, errors,
//   delivered, missing, verdict, reasons, .. }>, trials: .., thresholds: Vec<ThresholdOutcome>, answer: String, .. }
