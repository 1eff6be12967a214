//! Forms with files in them.

/// A form that was sent.
pub(crate) struct Form<'a> {
    fields: Vec<Field<'a>>,
}

struct Field<'a> {
    name: String,
    file_name: Option<String>,
    content: &'a [u8],
}

/// A file in a form.
pub(crate) struct File<'a> {
    /// What it is called where it comes from.
    pub(crate) name: String,
    /// What is in it.
    pub(crate) content: &'a [u8],
}

impl<'a> Form<'a> {
    /// Takes a body apart, as its type says; nothing if it is not whole.
    pub(crate) fn parse(content_type: &str, body: &'a [u8]) -> Option<Self> {
        let boundary =
            parameter(content_type, "boundary").filter(|boundary| !boundary.is_empty())?;
        let mark = format!("--{boundary}");
        let mut rest = body.get(find(body, mark.as_bytes())? + mark.len()..)?;
        let mut fields = Vec::new();
        let next = format!("\r\n{mark}");
        while !rest.starts_with(b"--") {
            let part = rest.strip_prefix(b"\r\n")?;
            let end = find(part, next.as_bytes())?;
            fields.push(Field::parse(part.get(..end)?)?);
            rest = part.get(end + next.len()..)?;
        }
        Some(Self { fields })
    }

    /// The file in the field `name`.
    pub(crate) fn file(&self, name: &str) -> Option<File<'a>> {
        let field = self.fields.iter().find(|field| field.name == name)?;
        Some(File {
            name: field.file_name.clone()?,
            content: field.content,
        })
    }

    /// The text in the field `name`.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        let field = self
            .fields
            .iter()
            .find(|field| field.name == name && field.file_name.is_none())?;
        String::from_utf8(field.content.to_vec()).ok()
    }
}

impl<'a> Field<'a> {
    fn parse(part: &'a [u8]) -> Option<Self> {
        // A part without headers begins with the empty line.
        let (head, content) = if let Some(content) = part.strip_prefix(b"\r\n") {
            (&part[..0], content)
        } else {
            let end = find(part, b"\r\n\r\n")?;
            (part.get(..end)?, part.get(end + 4..)?)
        };
        let head = std::str::from_utf8(head).ok()?;
        let disposition = head.split("\r\n").find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.trim()
                .eq_ignore_ascii_case("content-disposition")
                .then_some(value)
        })?;
        Some(Self {
            name: parameter(disposition, "name")?,
            file_name: parameter(disposition, "filename"),
            content,
        })
    }
}

/// A parameter of a header's value.
fn parameter(value: &str, wanted: &str) -> Option<String> {
    value.split(';').skip(1).find_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        let value = value.trim();
        let value = value
            .strip_prefix('"')
            .and_then(|value| value.strip_suffix('"'))
            .unwrap_or(value);
        name.trim()
            .eq_ignore_ascii_case(wanted)
            .then(|| value.to_owned())
    })
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack
        .windows(needle.len())
        .position(|window| window == needle)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: &str = "multipart/form-data; boundary=\"--b\"";

    #[test]
    fn a_file_and_its_path_are_found() {
        let body = b"----b\r\nContent-Disposition: form-data; name=\"path\"\r\n\r\na/b.txt\r\n----b\r\n\
            Content-Disposition: form-data; name=\"file\"; filename=\"note.txt\"\r\nContent-Type: text/plain\r\n\r\n\
            he\r\nllo\r\n----b--\r\n";
        let form = Form::parse(KIND, body).unwrap();
        let file = form.file("file").unwrap();
        assert_eq!(
            (file.name.as_str(), file.content),
            ("note.txt", &b"he\r\nllo"[..])
        );
        assert_eq!(form.text("path").as_deref(), Some("a/b.txt"));
        assert!(form.file("path").is_none());
    }

    #[test]
    fn what_is_not_whole_is_no_form() {
        for body in [
            &b""[..],
            b"----b",
            b"----b\r\n",
            b"----b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nx",
        ] {
            assert!(Form::parse(KIND, body).is_none());
        }
        assert!(Form::parse("multipart/form-data", b"----b--").is_none());
    }
}
