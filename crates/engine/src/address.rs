//! Paths in the form that they have in addresses.

/// A path in ASCII: every byte that could mean something else in an address or a header is written as a number.
pub(crate) fn percent_encoded(path: &str) -> String {
    path.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                char::from(byte).to_string()
            }
            _ => format!("%{byte:02X}"),
        })
        .collect()
}

/// The address of the file at an absolute path.
pub fn file_address(path: &str) -> String {
    format!("file://{}", percent_encoded(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_sent_in_ascii() {
        assert_eq!(percent_encoded("/srv/größe x"), "/srv/gr%C3%B6%C3%9Fe%20x");
        assert_eq!(file_address("/srv/a#b?.rs"), "file:///srv/a%23b%3F.rs");
    }
}
