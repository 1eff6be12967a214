//! What a script is made of.

/// One line of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// `{…}`: says this line; `$SESSION` and `$CWD` stand for the session and its directory.
    Say(String),
    /// `FILL N`: makes a request that nobody knows, with an id of so many bytes, so that the refusal fills its input.
    Fill(usize),
    /// `AWAIT REPLY ID`: reads until its request with this id, as JSON, was answered.
    AwaitReply(String),
    /// `AWAIT CANCEL`: reads until the turn was cancelled.
    AwaitCancel,
    /// `AWAIT FILE NAME`: reads nothing until there is such a file.
    AwaitFile(String),
    /// `END REASON`: ends the turn; what is left of the script is done after its end.
    End(String),
    /// `EXIT CODE`: ends the process.
    Exit(u8),
}

impl Step {
    /// Reads a line; nothing if it is no step.
    pub fn read(line: &str) -> Option<Self> {
        if line.starts_with('{') {
            return Some(Self::Say(line.to_owned()));
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["FILL", bytes] => Some(Self::Fill(bytes.parse().ok()?)),
            ["AWAIT", "REPLY", id] => Some(Self::AwaitReply((*id).to_owned())),
            ["AWAIT", "CANCEL"] => Some(Self::AwaitCancel),
            ["AWAIT", "FILE", name] => Some(Self::AwaitFile((*name).to_owned())),
            ["END", reason] => Some(Self::End((*reason).to_owned())),
            ["EXIT", code] => Some(Self::Exit(code.parse().ok()?)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_say_is_no_script() {
        assert_eq!(Step::read("`ls` was denied. The reason: END of it"), None);
        assert_eq!(Step::read("AWAIT CANCEL"), Some(Step::AwaitCancel));
        assert_eq!(Step::read("EXIT 300"), None);
    }
}
