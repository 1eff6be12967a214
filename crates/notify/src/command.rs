//! A program of this machine: no shell, the message as JSON on its standard input, a part of our environment.

use std::path::PathBuf;
use std::time::Duration;

use countersign_core::notification::Message;
use tokio_util::sync::CancellationToken;

use crate::child::Child;
use crate::surroundings::Surroundings;
use crate::{Attempt, Failure};

/// A program of this machine.
#[derive(Debug, Clone)]
pub struct CommandTarget {
    /// Its path: absolute, and in no workspace.
    pub program: PathBuf,
    /// Its arguments, each as it is.
    pub arguments: Vec<String>,
    /// Names of more variables that it may inherit.
    pub inherit: Vec<String>,
}

impl CommandTarget {
    /// Says why the program must not be run: an agent can have replaced it, or it cannot be known which one is meant.
    pub fn check(&self, surroundings: &Surroundings) -> Result<(), Failure> {
        let shown = self.program.display();
        if !self.program.is_absolute() {
            return Err(Failure::lasting(format!(
                "`{shown}` is a relative path, and which program that is depends on where one stands. Write the whole path"
            )));
        }
        match surroundings.workspace_of(&self.program) {
            Ok(None) => Ok(()),
            Ok(Some(workspace)) => Err(Failure::lasting(format!(
                "`{shown}` lies in the workspace `{}`, where an agent can replace it. Put it elsewhere",
                workspace.display()
            ))),
            Err(error) => Err(Failure::passing(format!(
                "`{shown}` cannot be run: {error}"
            ))),
        }
    }

    pub(crate) async fn run(
        &self,
        message: &Message,
        surroundings: &Surroundings,
        limit: Duration,
        ending: &CancellationToken,
    ) -> Attempt {
        // Links lead elsewhere by and by, so it is looked at each time, and what was looked at is what is run.
        if let Err(failure) = self.check(surroundings) {
            return failure.into();
        }
        let program = match self.program.canonicalize() {
            Ok(program) => program,
            Err(error) => return Failure::passing(format!("it cannot be run: {error}")).into(),
        };
        let mut input = match serde_json::to_vec(message) {
            Ok(input) => input,
            Err(error) => return Failure::lasting(error.to_string()).into(),
        };
        input.push(b'\n');
        let child = Child {
            program,
            arguments: self.arguments.clone(),
            environment: surroundings.environment(&self.inherit),
            input,
            notification: message.id,
        };
        child.run(limit, ending).await
    }
}

#[cfg(test)]
mod tests;
