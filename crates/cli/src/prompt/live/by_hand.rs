//! The part of a watched turn in which the person answers its asks by hand.

use countersign_core::ask::AskPhase;
use owo_colors::OwoColorize as _;

use super::Live;
use crate::exit::Failure;
use crate::prompt::dialogue::Step;
use crate::reference::short;
use crate::{answers, ask_text};

impl Live<'_, '_> {
    /// Puts the next ask to the person, if they are free for it and it is still open.
    pub(super) async fn ask_next(&mut self) -> anyhow::Result<()> {
        while let Some(id) = self.dialogue.next() {
            let ask = self.read_ask(id).await?;
            if ask.state != AskPhase::Open {
                self.dialogue.remove(id);
                continue;
            }
            let text = ask_text::whole(&ask, self.call.clock.now());
            self.call.output.note(&format!("\n{text}\n"))?;
            let step = self.dialogue.begin(ask);
            self.put(step)?;
        }
        Ok(())
    }

    fn put(&mut self, step: Step) -> anyhow::Result<()> {
        let Some(keyboard) = &mut self.keyboard else {
            return Ok(());
        };
        match step {
            Step::AskForKey(text) => {
                self.call.output.ask(&text)?;
                keyboard.read_keys()?;
            }
            Step::AskForLine(text) => {
                keyboard.read_lines()?;
                self.call.output.ask(&format!("\n{text}"))?;
            }
            Step::Wait | Step::Send(..) | Step::Leave(_) => {}
        }
        Ok(())
    }

    pub(super) async fn type_in(&mut self, typed: &[u8]) -> anyhow::Result<()> {
        match self.dialogue.type_in(typed) {
            Step::Send(id, request) => {
                self.let_go()?;
                self.answered_here.insert(id);
                let line = match answers::post(&self.connection, id, &request).await {
                    Ok(reply) => ask_text::standing(&reply.value, self.call.clock.now()),
                    Err(error) => match error.downcast::<Failure>() {
                        Ok(refused) => format!("{}: {refused}", "not answered".yellow()),
                        Err(error) => return Err(error),
                    },
                };
                let line = format!("{}  {line}", short(id).bold());
                self.call.output.note(&line)?;
            }
            Step::Leave(id) => {
                self.let_go()?;
                let line = format!(
                    "{}  left open; `countersign inbox` lists it",
                    short(id).bold()
                );
                self.call.output.note(&line)?;
            }
            step @ (Step::Wait | Step::AskForKey(_) | Step::AskForLine(_)) => self.put(step)?,
        }
        Ok(())
    }

    /// The keys echo again, and what follows begins on a line of its own.
    fn let_go(&mut self) -> anyhow::Result<()> {
        if let Some(keyboard) = &mut self.keyboard {
            keyboard.read_lines()?;
        }
        self.call.output.note("")?;
        Ok(())
    }
}
