//! Whose answers are given where two versions of OpenWork's server answer the same request differently.

/// A version of OpenWork's server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compat {
    /// 0.1: the server of January 2026.
    #[default]
    January,
    /// 0.13.
    Scoped,
}

impl Compat {
    /// Reads what `--compat` and `OPENWORK_COMPAT` say; nothing if it names no version.
    pub fn from_name(name: &str) -> Option<Self> {
        match name.trim() {
            "0.1" => Some(Self::January),
            "0.13" => Some(Self::Scoped),
            _ => None,
        }
    }

    /// The version that the server says it has.
    pub const fn version(self) -> &'static str {
        match self {
            Self::January => "0.1.1",
            Self::Scoped => "0.13.12",
        }
    }

    /// Whether it is 0.13.
    pub const fn is_scoped(self) -> bool {
        matches!(self, Self::Scoped)
    }
}
