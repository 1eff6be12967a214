//! What comes along with a prompt: files and images that are named on the command line.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use countersign_api::{NewAttachment, SessionView};
use countersign_core::attachment::{ImageType, LARGEST};
use countersign_core::id::SessionId;

use crate::connection::Connection;
use crate::exit::Failure;

/// What was named, looked at before anything is begun for it.
#[derive(Debug)]
pub(super) struct Given {
    /// Files, with their symlinks resolved.
    files: Vec<PathBuf>,
    images: Vec<NewAttachment>,
}

impl Given {
    /// Finds the files and reads the images.
    pub(super) fn read(files: &[PathBuf], images: &[PathBuf]) -> anyhow::Result<Self> {
        let find = |path: &PathBuf| -> anyhow::Result<PathBuf> {
            let found = path
                .canonicalize()
                .with_context(|| format!("failed to find {}", path.display()))?;
            if found.is_file() {
                return Ok(found);
            }
            Err(usage(path, "is no file"))
        };
        Ok(Self {
            files: files.iter().map(find).collect::<Result<_, _>>()?,
            images: images
                .iter()
                .map(|path| image(path))
                .collect::<Result<_, _>>()?,
        })
    }

    /// What to send along in a session. A file of its workspace is named by its path there, so that the agent knows
    /// where it is; any other goes along as a text.
    pub(super) async fn attachments(
        self,
        connection: &Connection,
        session: SessionId,
    ) -> anyhow::Result<Vec<NewAttachment>> {
        let mut attachments = Vec::new();
        if !self.files.is_empty() {
            let directory = if connection.is_local() {
                let path = format!("/api/v1/sessions/{session}");
                let view: SessionView = connection.get(&path).await?.value;
                Some(view.session.directory)
            } else {
                None
            };
            for path in &self.files {
                attachments.push(file(path, directory.as_deref())?);
            }
        }
        attachments.extend(self.images);
        Ok(attachments)
    }
}

fn file(path: &Path, directory: Option<&str>) -> anyhow::Result<NewAttachment> {
    let within = directory.and_then(|directory| path.strip_prefix(directory).ok()?.to_str());
    if let Some(path) = within {
        return Ok(NewAttachment::File {
            path: path.to_owned(),
        });
    }
    let text = String::from_utf8(bytes(path)?).map_err(|_| {
        let problem =
            "is no text, and not in the session's workspace, where the agent could look at it";
        usage(path, problem)
    })?;
    Ok(NewAttachment::Text {
        name: name(path),
        text,
    })
}

fn image(path: &Path) -> anyhow::Result<NewAttachment> {
    let bytes = bytes(path)?;
    let image_type = ImageType::of_bytes(&bytes).ok_or_else(|| {
        usage(
            path,
            "is no image that is taken: png, jpeg, gif and webp are",
        )
    })?;
    Ok(NewAttachment::Image {
        name: Some(name(path)),
        media_type: image_type.media_type().to_owned(),
        data: BASE64_STANDARD.encode(bytes),
    })
}

fn bytes(path: &Path) -> anyhow::Result<Vec<u8>> {
    let failed = || format!("failed to read {}", path.display());
    let mut bytes = Vec::new();
    let file = File::open(path).with_context(failed)?;
    file.take(LARGEST as u64 + 1)
        .read_to_end(&mut bytes)
        .with_context(failed)?;
    if bytes.len() > LARGEST {
        let problem = format!("is larger than {} MiB", LARGEST >> 20);
        return Err(usage(path, &problem));
    }
    Ok(bytes)
}

fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

fn usage(path: &Path, problem: &str) -> anyhow::Error {
    Failure::Usage(format!("{} {problem}", path.display())).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_the_workspace_is_named_and_any_other_goes_along_as_a_text() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("notes.md");
        std::fs::write(&path, "remember").unwrap();
        let directory = root.path().to_str().unwrap();
        assert_eq!(
            file(&path, Some(directory)).unwrap(),
            NewAttachment::File {
                path: "notes.md".to_owned()
            }
        );
        for elsewhere in [None, Some("/nonexistent")] {
            assert_eq!(
                file(&path, elsewhere).unwrap(),
                NewAttachment::Text {
                    name: "notes.md".to_owned(),
                    text: "remember".to_owned()
                }
            );
        }
        std::fs::write(&path, [0xff, 0xfe]).unwrap();
        assert!(file(&path, None).is_err());
    }

    #[test]
    fn an_image_is_known_by_its_bytes_and_not_by_its_name() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("shot.jpg");
        std::fs::write(&path, b"\x89PNG\r\n\x1a\n").unwrap();
        assert!(matches!(
            image(&path).unwrap(),
            NewAttachment::Image { media_type, .. } if media_type == "image/png"
        ));
        std::fs::write(&path, "<svg/>").unwrap();
        assert!(image(&path).is_err());
        std::fs::write(&path, vec![0; LARGEST + 1]).unwrap();
        let refused = image(&path).unwrap_err().to_string();
        assert!(refused.contains("larger than 5 MiB"), "{refused}");
        assert!(Given::read(&[root.path().to_owned()], &[]).is_err());
    }
}
