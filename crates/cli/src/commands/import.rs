//! `waggle import`: the results of another tool as the folder of a run, with its report.

use anyhow::Result;
use waggle_convert::import::{Results, Survey, Tool};
use waggle_spec::LoadKind;

use crate::{
    arguments::{Import, ImportLoadModel, ImportTool},
    commands::report::write_report,
    inputs::runs,
    output,
    process::exit::Exit,
};

pub(crate) fn run(arguments: &Import) -> Result<Exit> {
    let results = results(arguments);
    let survey = Survey::new(&results)?;
    if let Some(remark) = survey.remark() {
        output::print_progress(remark);
    }
    let new = runs::new_run(&arguments.runs, survey.name(), runs::OTHER_RUNS)?;
    survey.write(new.folder())?;
    let (text, ..) = write_report(new.folder(), false)?;
    output::print_text(&format!("{text}\n"))?;
    Ok(Exit::Fine)
}

fn results(arguments: &Import) -> Results {
    Results {
        tool: match arguments.tool {
            ImportTool::Ab => Tool::Ab,
            ImportTool::K6 => Tool::K6,
            ImportTool::Jmeter => Tool::Jmeter,
            ImportTool::Vegeta => Tool::Vegeta,
            ImportTool::Hey => Tool::Hey,
            ImportTool::Csv => Tool::Csv,
        },
        sources: arguments.sources.clone(),
        name: arguments.name.clone(),
        load_model: match arguments.load_model {
            ImportLoadModel::Closed => LoadKind::Closed,
            ImportLoadModel::Open => LoadKind::Open,
            ImportLoadModel::Users => LoadKind::Users,
        },
        warm_up: arguments.warm_up,
        column: arguments.column.clone(),
        all_succeeded: arguments.all_succeeded,
    }
}
