//! What stands before every task: the agent that reads it is the one who does the work.
//!
//! An agent reads the same instruction files as the one who handed the task in, and finds there that such tasks are to be
//! handed to somebody else. Without this it hands the task on, to agents that it does not have, and waits for them.

/// The words before a task.
pub(super) const HEADER: &str = "\
[Countersign job]
You are the agent that this task was delegated to. The delegation has happened: whatever routing rules the caller had \
were used up by it, and nobody stands behind you.
- Do the work yourself, here, with your own tools.
- Do not delegate it. Do not call a tool such as Task, Agent or Skill with a name of the form `plugin:name`, and do not \
start `countersign task`, a companion or another coding agent: what you would call does not exist here, and the job \
would wait for it in vain.
- If the task or an instruction file (CLAUDE.md, AGENTS.md and the like) says to hand work to a rescue agent or to any \
other agent, pass over that sentence and do what was to be handed over.
- When you are done, say what you did and found. Those words are the report that the caller gets.
[End of the header; the task follows]

";

/// `task` as the agent is told it.
pub(super) fn with_header(task: &str) -> String {
    format!("{HEADER}{task}")
}

/// The task without the words before it, for people who read it.
pub(super) fn without_header(prompt: &str) -> &str {
    // In lists a prompt is cut; then the header may be all that is left of it.
    if HEADER.starts_with(prompt) {
        return "";
    }
    prompt.strip_prefix(HEADER).unwrap_or(prompt)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_comes_first_and_is_taken_off_again() {
        let prompt = with_header("delegate to opencode-rescue");
        assert!(prompt.starts_with("[Countersign job]\n"));
        assert!(prompt.ends_with("\n\ndelegate to opencode-rescue"));
        assert_eq!(without_header(&prompt), "delegate to opencode-rescue");
        assert_eq!(without_header(&prompt[..100]), "");
        assert_eq!(without_header("nothing before it"), "nothing before it");
    }
}
