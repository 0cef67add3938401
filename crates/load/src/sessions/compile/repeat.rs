//! Loops: a beginning, their actions, and a jump back.

use super::{Compiler, ScenarioError, scenario_error};
use crate::{
    scenario::model::{Repeat, Rounds, WhileCaptured},
    sessions::{
        link_path::path_of,
        program::{LoopCondition, LoopProgram, Operation, Program},
        request_text::{Piece, Text},
    },
};

pub(super) const NESTED_MAX: usize = 16;

impl<'a> Compiler<'a> {
    pub(super) fn repeat(
        &mut self,
        repeat: &'a Repeat,
        operations: &mut Vec<Operation>,
    ) -> Result<(), ScenarioError> {
        if repeat.actions.is_empty() {
            return self.refuse("a repeat has no actions");
        }
        if self.depth == NESTED_MAX {
            return self.refuse(&format!("more than {NESTED_MAX} nested loops"));
        }
        let number = self.loops.len();
        let program = self.loop_program(repeat)?;
        if program.rounds == 0 {
            return self.refuse("a repeat has 0 rounds");
        }
        let has_offset = usize::from(program.offset_step > 0);
        self.loops.push(program);
        self.depth += 1;
        self.offsets += has_offset;
        operations.push(Operation::Begin { number });
        let from = operations.len();
        self.actions(&repeat.actions, operations)?;
        operations.push(Operation::Again { number, from });
        self.depth -= 1;
        self.offsets -= has_offset;
        Ok(())
    }

    fn loop_program(&mut self, repeat: &'a Repeat) -> Result<LoopProgram, ScenarioError> {
        let (rounds, condition) = match &repeat.rounds {
            Rounds::Times(times) => (*times, None),
            Rounds::While(condition) => (condition.max_rounds, Some(self.condition(condition)?)),
        };
        Ok(LoopProgram {
            rounds,
            condition,
            offset_step: repeat.offset_step,
        })
    }

    fn condition(&mut self, condition: &'a WhileCaptured) -> Result<LoopCondition, ScenarioError> {
        let location = format!("loop while '{}'", condition.variable);
        let first = self.with_location(location, |inside| inside.text(&condition.first))?;
        Ok(LoopCondition {
            variable: self.variable_index(&condition.variable)?,
            first,
            on_limit: condition.on_limit,
        })
    }
}

/// Refuses loops whose variable begins a path and has a first value that is none.
pub(super) fn check_first_values(program: &Program, links: &[Piece]) -> Result<(), ScenarioError> {
    let conditions = program.loops.iter().flat_map(|program| &program.condition);
    for condition in conditions {
        let is_link = links.contains(&Piece::Variable(condition.variable));
        if is_link && !may_be_path(&condition.first, &program.hosts) {
            return Err(scenario_error(
                "scenario",
                "a path begins with the variable of a loop, and its first value is not a path of this server",
            ));
        }
    }
    Ok(())
}

/// What begins with a variable is checked when it is captured.
fn may_be_path(text: &Text, hosts: &[String]) -> bool {
    match text.0.first() {
        Some(Piece::Bytes(bytes)) => path_of(bytes, hosts).is_some(),
        Some(_) => true,
        None => false,
    }
}
