//! What fuzzing finds: a promise that was broken, and everything that is needed to see it again.

use std::fmt;

/// A promise that was broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken(pub String);

/// Fails with the words that follow unless the first holds.
macro_rules! hold {
    ($holds:expr, $($words:tt)+) => {
        if !$holds {
            return Err($crate::finding::Broken(format!($($words)+)));
        }
    };
}
pub(crate) use hold;

/// A promise that was broken in a trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Which trial it was.
    pub trial: u64,
    /// What does not hold.
    pub broken: Broken,
    /// What was fed, if that is known.
    pub input: Vec<u8>,
}

/// The most of an input that is printed.
const PRINTED: usize = 2_000;

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            trial,
            broken: Broken(words),
            input,
        } = self;
        let printed = input.get(..PRINTED).unwrap_or(input).escape_ascii();
        write!(
            f,
            "trial {trial}: {words}\n  in {} bytes: {printed}",
            input.len()
        )
    }
}
