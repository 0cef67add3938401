//! `waggle schema`: the JSON Schema of a file, generated from the code that reads it.

use anyhow::{Context, Result};

use crate::{
    arguments::{Schema, SchemaOf},
    commands::load,
    output,
    process::exit::Exit,
};

pub(crate) fn run(arguments: &Schema) -> Result<Exit> {
    let schema = match arguments.of {
        SchemaOf::Study => waggle_study::study_schema(),
        SchemaOf::Scenario => waggle_study::scenario_schema(),
        SchemaOf::System => waggle_study::system_schema(),
        SchemaOf::Load => load::result::summary::schema(),
        SchemaOf::Search => load::result::search_result::schema(),
        SchemaOf::Report => waggle_report::report_schema().to_value(),
        SchemaOf::Compare => waggle_report::compare_schema().to_value(),
        SchemaOf::History => waggle_report::history_schema().to_value(),
    };
    let text = serde_json::to_string_pretty(&schema).context("cannot write the schema")?;
    output::print_result(&(text + "\n"))?;
    Ok(Exit::Fine)
}
