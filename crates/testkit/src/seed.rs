//! Seeds: a test that rolls dice prints the seed, and `COUNTERSIGN_SEED` makes it roll them again.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use rand::SeedableRng as _;
use rand::rngs::StdRng;

/// The variable that says which seed to take.
const VARIABLE: &str = "COUNTERSIGN_SEED";

/// What all chance in a test comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seed(u64);

impl Seed {
    /// Takes the seed that the environment names, or a new one, and prints it.
    #[expect(clippy::print_stderr, reason = "the test's own output")]
    pub fn take() -> Self {
        let named = std::env::var(VARIABLE).ok();
        let seed = match named {
            Some(text) => text.parse().expect("COUNTERSIGN_SEED is a number"),
            None => rand::random(),
        };
        eprintln!("{VARIABLE}={seed}");
        Self(seed)
    }

    /// Returns the dice of one part of the test. Parts that run at the same time have their own.
    pub fn dice(self, part: &str) -> StdRng {
        let mut hasher = DefaultHasher::new();
        (self.0, part).hash(&mut hasher);
        StdRng::seed_from_u64(hasher.finish())
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt as _;

    use super::*;

    #[test]
    fn the_same_seed_rolls_the_same_dice() {
        let roll = |seed: u64, part: &str| Seed(seed).dice(part).random::<u64>();
        assert_eq!(roll(7, "client"), roll(7, "client"));
        assert_ne!(roll(7, "client"), roll(7, "kill"));
        assert_ne!(roll(7, "client"), roll(8, "client"));
    }
}
