//! Compiles a scenario to its program: resolves every name, and refuses what cannot run, with its location.

mod repeat;
mod request;

use std::collections::HashMap;

use waggle_spec::{FeedOrder, Think};

use super::{
    link_path::path_of,
    program::{FlowProgram, LoopProgram, Operation, Program, RequestProgram},
    request_text::{Piece, Text},
};
use crate::scenario::{
    model::{Action, Capture, Flow, Scenario},
    rows::Rows,
    template::{Part, Template},
};

/// Each step has three histograms in every interval, so their number is limited.
const STEPS_MAX: usize = 100;
/// Generated or kept rows that are tried before the load.
const ROWS_TRIED: usize = 1_000;
/// First parts of built-in names.
const OWN_FIRST: [&str; 2] = ["random", "record"];
const BUILT_IN: [&str; 4] = ["session", "user", "round", "offset"];

/// Why a scenario cannot be run, with the position of the mistake.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{location}: {what}")]
pub struct ScenarioError {
    /// Such as `flow 'order', step 'login', header 'Accept'`.
    pub location: String,
    pub what: String,
}

impl Scenario {
    /// Checks whether it can run; [`crate::start`] refuses what cannot.
    ///
    /// # Errors
    /// If a name is unknown, or a value impossible.
    pub fn check(&self) -> Result<(), ScenarioError> {
        compile(self).map(|_| ())
    }
}

pub(crate) fn compile(scenario: &Scenario) -> Result<Program, ScenarioError> {
    check_scenario(scenario)?;
    check_feeds(scenario)?;
    let mut compiler = Compiler {
        scenario,
        requests: Vec::new(),
        loops: Vec::new(),
        variables: HashMap::new(),
        links: Vec::new(),
        hosts: vec![scenario.host.clone()],
        known: Vec::new(),
        feeds: Vec::new(),
        depth: 0,
        offsets: 0,
        location: Vec::new(),
    };
    let mut weight = 0;
    let mut flows = Vec::new();
    for flow in &scenario.flows {
        weight += u64::from(flow.weight);
        flows.push(compiler.flow(flow, weight)?);
    }
    let keeps = compiler.kept_variables()?;
    let mut program = Program {
        flows,
        keeps,
        weight,
        variables: compiler.variables.len(),
        requests: compiler.requests,
        loops: compiler.loops,
        hosts: compiler.hosts,
    };
    check_links(scenario, &compiler.links, &program.hosts)?;
    repeat::check_first_values(&program, &compiler.links)?;
    let captures = program.requests.iter_mut();
    for capture in captures.flat_map(|request| &mut request.captures) {
        capture.is_link = compiler.links.contains(&Piece::Variable(capture.variable));
    }
    Ok(program)
}

fn scenario_error(location: impl Into<String>, what: impl Into<String>) -> ScenarioError {
    ScenarioError {
        location: location.into(),
        what: what.into(),
    }
}

fn check_scenario(scenario: &Scenario) -> Result<(), ScenarioError> {
    let refused = |what: String| Err(scenario_error("scenario", what));
    if scenario.flows.is_empty() {
        return refused("there is no flow".to_owned());
    }
    if scenario.steps.len() > STEPS_MAX {
        let steps = scenario.steps.len();
        return refused(format!("{steps} steps; at most {STEPS_MAX} are allowed"));
    }
    if let Some(twice) = duplicate_name(scenario.steps.iter()) {
        return refused(format!("two steps are called '{twice}'"));
    }
    if !scenario.host.bytes().all(|byte| byte.is_ascii_graphic()) || scenario.host.is_empty() {
        return refused(format!("'{}' is not a host", scenario.host));
    }
    if !scenario
        .run
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric())
    {
        let run = &scenario.run;
        return refused(format!("'{run}' is not an id of letters and digits"));
    }
    Ok(())
}

fn check_feeds(scenario: &Scenario) -> Result<(), ScenarioError> {
    if let Some(name) = duplicate_name(scenario.feeds.iter().map(|feed| &feed.name)) {
        return Err(scenario_error(
            "scenario",
            format!("two feeds are called '{name}'"),
        ));
    }
    for feed in &scenario.feeds {
        let refused = |what: String| Err(scenario_error(format!("feed '{}'", feed.name), what));
        if !is_plain_name(&feed.name) || OWN_FIRST.contains(&feed.name.as_str()) {
            return refused(format!("a feed cannot be called '{}'", feed.name));
        }
        if let Some(column) = feed.columns.iter().find(|column| !is_plain_name(column)) {
            return refused(format!("a column cannot be called '{column}'"));
        }
        if let Some(column) = duplicate_name(feed.columns.iter()) {
            return refused(format!("two columns are called '{column}'"));
        }
        if feed.rows.is_empty() {
            return refused("it has no rows".to_owned());
        }
        let columns = feed.columns.len();
        match &feed.rows {
            Rows::Listed(rows) => {
                if let Some(row) = rows.iter().position(|row| row.len() != columns) {
                    let values = rows[row].len();
                    return refused(format!(
                        "row {row} (from 0) has {values} values for {columns} columns"
                    ));
                }
            }
            Rows::Generated(rows) if rows.columns.len() != columns => {
                let values = rows.columns.len();
                return refused(format!(
                    "a generated row has {values} values for {columns} columns"
                ));
            }
            Rows::Generated(_) | Rows::Kept(_) => {}
        }
        if matches!(feed.order, FeedOrder::Zipf { skew } | FeedOrder::Recent { skew } if skew.is_nan() || skew <= 0.0)
        {
            return refused("the skew is not above 0".to_owned());
        }
    }
    Ok(())
}

/// Checks that feed values at the beginning of a path are paths, or links to the target.
fn check_links(
    scenario: &Scenario,
    links: &[Piece],
    hosts: &[String],
) -> Result<(), ScenarioError> {
    for link in links {
        let &Piece::Column { feed, column } = link else {
            continue;
        };
        let feed = &scenario.feeds[feed];
        let is_wrong = |row: usize| path_of(&feed.rows.value(row, column), hosts).is_none();
        // Rows that were not written by hand begin alike, and may be too many to be tried.
        let rows = match &feed.rows {
            Rows::Listed(rows) => rows.len(),
            Rows::Generated(_) | Rows::Kept(_) => feed.rows.len().min(ROWS_TRIED),
        };
        if let Some(row) = (0..rows).find(|row| is_wrong(*row)) {
            let (name, value) = (&feed.columns[column], feed.rows.value(row, column));
            let value = String::from_utf8_lossy(&value);
            return Err(scenario_error(
                format!("feed '{}'", feed.name),
                format!(
                    "a path begins with '{name}', and '{value}' in row {row} (from 0) is neither a path nor a link to '{}'",
                    scenario.host
                ),
            ));
        }
    }
    Ok(())
}

/// A name without a dot; a dot would make it a column of a feed.
fn is_plain_name(name: &str) -> bool {
    waggle_template::variable::is_name(name) && !name.contains('.')
}

fn duplicate_name<'a>(names: impl Iterator<Item = &'a String>) -> Option<&'a String> {
    let mut seen = std::collections::HashSet::new();
    names.into_iter().find(|name| !seen.insert(*name))
}

/// Compiles the flows and collects their variables, feeds and requests.
struct Compiler<'a> {
    scenario: &'a Scenario,
    requests: Vec<RequestProgram>,
    loops: Vec<LoopProgram>,
    /// The number of each variable.
    variables: HashMap<&'a str, usize>,
    /// The variable first piece of paths.
    links: Vec<Piece>,
    hosts: Vec<String>,
    /// Variables that are captured earlier in this flow.
    known: Vec<&'a str>,
    /// Feeds that this flow uses.
    feeds: Vec<usize>,
    /// Depth of loops, and how many of these have an offset.
    depth: usize,
    offsets: usize,
    location: Vec<String>,
}

impl<'a> Compiler<'a> {
    fn flow(&mut self, flow: &'a Flow, weight_up_to: u64) -> Result<FlowProgram, ScenarioError> {
        self.location = vec![format!("flow '{}'", flow.name)];
        self.known.clear();
        self.feeds.clear();
        if flow.weight == 0 {
            return self.refuse("its weight is 0");
        }
        let mut operations = Vec::new();
        self.actions(&flow.actions, &mut operations)?;
        let sends = |operation: &Operation| matches!(operation, Operation::Request(_));
        if !operations.iter().any(sends) {
            return self.refuse("it sends no request");
        }
        Ok(FlowProgram {
            weight_up_to,
            operations,
            feeds: self.feeds.clone(),
        })
    }

    fn actions(
        &mut self,
        actions: &'a [Action],
        operations: &mut Vec<Operation>,
    ) -> Result<(), ScenarioError> {
        for action in actions {
            match action {
                Action::Request(request) => {
                    let number = self.request(request)?;
                    operations.push(Operation::Request(number));
                }
                Action::Pause(think_time) => {
                    if let Think::Uniform { from, to } = think_time
                        && from > to
                    {
                        return self.refuse("the longest think time is shorter than the shortest");
                    }
                    operations.push(Operation::Pause(*think_time));
                }
                Action::Repeat(repeat) => self.repeat(repeat, operations)?,
            }
        }
        Ok(())
    }

    /// The number of a captured variable; it is known from here on.
    fn captured_index(&mut self, capture: &'a Capture) -> Result<usize, ScenarioError> {
        self.variable_index(&capture.variable)
    }

    fn variable_index(&mut self, name: &'a str) -> Result<usize, ScenarioError> {
        if !is_plain_name(name) || BUILT_IN.contains(&name) {
            return self.refuse(&format!("a variable cannot be called '{name}'"));
        }
        self.known.push(name);
        let next = self.variables.len();
        Ok(*self.variables.entry(name).or_insert(next))
    }

    /// The variables that sessions keep: every flow must capture each.
    fn kept_variables(&self) -> Result<Vec<usize>, ScenarioError> {
        let keeps = self.scenario.preparation.iter();
        let keeps = keeps.flat_map(|preparation| &preparation.keeps);
        keeps
            .map(|name| match self.variables.get(name.as_str()) {
                Some(number) => Ok(*number),
                None => Err(scenario_error(
                    "scenario",
                    format!("'{name}' is kept, and no step captures it"),
                )),
            })
            .collect()
    }

    /// Resolves a template; its names must be known here.
    fn text(&mut self, template: &Template) -> Result<Text, ScenarioError> {
        let mut text = Text::default();
        for part in template.parts() {
            text.0.push(match part {
                Part::Text(part) => Piece::Bytes(part.clone().into_bytes()),
                Part::Variable(name) => self.piece(name)?,
            });
        }
        Ok(text)
    }

    fn piece(&mut self, name: &str) -> Result<Piece, ScenarioError> {
        match name {
            "session" => return Ok(Piece::Session),
            "user" => return Ok(Piece::User),
            "round" if self.depth > 0 => return Ok(Piece::Round),
            "round" => return self.refuse("'{{round}}' is outside of a loop"),
            "offset" if self.offsets > 0 => return Ok(Piece::Offset),
            "offset" => return self.refuse("'{{offset}}' is outside of a loop with an offset"),
            "random.uuid" => return Ok(Piece::Uuid),
            "record.key" => return Ok(Piece::RecordKey),
            "record.time" => return Ok(Piece::RecordTime),
            "record.run" => return Ok(Piece::Bytes(self.scenario.run.clone().into_bytes())),
            _ => {}
        }
        if let Some((feed, column)) = name.split_once('.') {
            return self.column(name, feed, column);
        }
        match self.variables.get(name) {
            Some(number) if self.known.contains(&name) => Ok(Piece::Variable(*number)),
            Some(_) => self.refuse(&format!(
                "'{{{{{name}}}}}' is captured elsewhere, but not before in this flow"
            )),
            None => self.refuse(&format!("nothing captures '{{{{{name}}}}}' before")),
        }
    }

    fn column(&mut self, name: &str, feed: &str, column: &str) -> Result<Piece, ScenarioError> {
        let feeds = &self.scenario.feeds;
        let Some(feed) = feeds.iter().position(|candidate| candidate.name == feed) else {
            return self.refuse(&format!("'{{{{{name}}}}}': there is no feed '{feed}'"));
        };
        let columns = &feeds[feed].columns;
        let Some(column) = columns.iter().position(|candidate| candidate == column) else {
            let known = columns.join("', '");
            return self.refuse(&format!(
                "'{{{{{name}}}}}': the feed has no column '{column}'; it has '{known}'"
            ));
        };
        if !self.feeds.contains(&feed) {
            self.feeds.push(feed);
        }
        Ok(Piece::Column { feed, column })
    }

    /// Runs `work` with one more part in the location.
    fn with_location<T>(
        &mut self,
        location: String,
        work: impl FnOnce(&mut Self) -> Result<T, ScenarioError>,
    ) -> Result<T, ScenarioError> {
        self.location.push(location);
        let done = work(self)?;
        self.location.pop();
        Ok(done)
    }

    fn refuse<T>(&self, what: &str) -> Result<T, ScenarioError> {
        Err(scenario_error(self.location.join(", "), what))
    }
}

#[cfg(test)]
mod tests;
