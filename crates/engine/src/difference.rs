//! Differences of files, for people to read: whole, as unified diffs.

use std::time::Instant;

use similar::{Algorithm, TextDiff};

/// What stands for a file that is not there.
const NOTHING: &str = "/dev/null";

/// The change of the file at `path` as a unified diff, whole; a coarser one will do after `deadline`.
pub fn unified(path: &str, before: Option<&str>, after: Option<&str>, deadline: Instant) -> String {
    let name = |text: Option<&str>| text.map_or(NOTHING, |_| path);
    TextDiff::configure()
        .algorithm(Algorithm::Myers)
        .deadline(deadline)
        .diff_lines(before.unwrap_or_default(), after.unwrap_or_default())
        .unified_diff()
        .header(name(before), name(after))
        .to_string()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_file_that_comes_or_goes_is_told_from_one_that_changes() {
        let later = Instant::now() + Duration::from_mins(1);
        let change = |before, after| unified("a.txt", before, after, later);
        assert_eq!(
            change(Some("one\n"), Some("two\n")),
            "--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-one\n+two\n"
        );
        assert!(change(None, Some("two\n")).starts_with("--- /dev/null\n+++ a.txt\n"));
        assert!(change(Some("one\n"), None).starts_with("--- a.txt\n+++ /dev/null\n"));
    }
}
