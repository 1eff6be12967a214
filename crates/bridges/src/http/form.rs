//! A form with fields and a file, as its bytes.

use bytes::{Bytes, BytesMut};
use serde_json::Value;

use crate::adapter::OutgoingFile;

/// A form with one file in it.
pub(crate) struct Form {
    boundary: String,
    body: BytesMut,
}

impl Form {
    pub(crate) fn new() -> Self {
        Self {
            boundary: format!("countersign-{:032x}", rand::random::<u128>()),
            body: BytesMut::new(),
        }
    }

    /// Adds a field of plain text.
    pub(crate) fn field(self, name: &str, value: &str) -> Self {
        let disposition = format!("name=\"{name}\"");
        self.part(&disposition, "text/plain; charset=utf-8", value.as_bytes())
    }

    /// Adds a field of JSON.
    pub(crate) fn json(self, name: &str, value: &Value) -> Self {
        let disposition = format!("name=\"{name}\"");
        self.part(
            &disposition,
            "application/json",
            value.to_string().as_bytes(),
        )
    }

    /// Adds the file, under its [safe](Form::safe) name.
    pub(crate) fn file(self, field: &str, file: &OutgoingFile) -> Self {
        let name = Self::safe(&file.name);
        let disposition = format!("name=\"{field}\"; filename=\"{name}\"");
        self.part(&disposition, &Self::safe(&file.media_type), &file.content)
    }

    /// A text without what would end the header that it stands in.
    pub(crate) fn safe(text: &str) -> String {
        text.replace(|sign: char| sign.is_control() || "\"\\".contains(sign), "_")
    }

    fn part(mut self, disposition: &str, content_type: &str, content: &[u8]) -> Self {
        let head = format!(
            "--{}\r\nContent-Disposition: form-data; {disposition}\r\nContent-Type: {content_type}\r\n\r\n",
            self.boundary
        );
        for piece in [head.as_bytes(), content, b"\r\n"] {
            self.body.extend_from_slice(piece);
        }
        self
    }

    /// Its type, which says what parts it, and its bytes.
    pub(crate) fn end(mut self) -> (String, Bytes) {
        let end = format!("--{}--\r\n", self.boundary);
        self.body.extend_from_slice(end.as_bytes());
        let content_type = format!("multipart/form-data; boundary={}", self.boundary);
        (content_type, self.body.freeze())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_files_name_ends_no_header() {
        let file = OutgoingFile {
            name: "a\"\r\nX: y".to_owned(),
            media_type: "text/plain".to_owned(),
            content: Bytes::from_static(b"body"),
        };
        let (_, body) = Form::new().file("document", &file).end();
        let body = String::from_utf8(body.to_vec()).unwrap();
        assert!(body.contains("filename=\"a___X: y\""), "{body}");
    }
}
