//! What people send along with a prompt: checked and read before the turn is written down, so that a turn that was
//! accepted has everything that it came with.

mod workspace_file;

use std::path::Path;

use countersign_core::attachment::{
    Attachment, AttachmentKind, ImageType, LARGEST, LARGEST_TOGETHER, LONGEST_NAME, MOST, Takes,
};
use countersign_core::grant::{Caller, Grant};
use countersign_core::id::AttachmentId;
use countersign_core::session::Session;
use countersign_core::time::Timestamp;
use countersign_store::Attached;

use crate::Broker;
use crate::attachments::workspace_file::WorkspaceFile;
use crate::error::BrokerError;

/// The largest text of a file that is sent with its content; a larger one is pointed at, and the agent reads of it what
/// it needs.
const LARGEST_READ: u64 = 512 << 10;
/// What an image is called that has no name.
const UNNAMED_IMAGE: &str = "image";
/// The kind of content that texts have.
const PLAIN_TEXT: &str = "text/plain";

/// Something that somebody wishes to send along with a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttachmentWish {
    /// A file of the workspace.
    File {
        /// Its path, from the workspace on or absolute.
        path: String,
    },
    /// A text.
    Text {
        /// What it is called.
        name: String,
        /// The text.
        text: String,
    },
    /// A picture.
    Image {
        /// What it is called.
        name: Option<String>,
        /// What kind of picture it is said to be.
        image_type: ImageType,
        /// Its bytes.
        bytes: Vec<u8>,
    },
}

/// To whom something is sent along.
#[derive(Debug, Clone)]
pub(crate) struct Receiver {
    /// What people call the agent.
    pub(crate) agent: String,
    /// What it takes, if that is known.
    pub(crate) takes: Option<Takes>,
    /// The workspace's directory.
    pub(crate) directory: String,
}

impl Broker {
    /// An attachment with its content.
    pub async fn attachment(
        &self,
        caller: &Caller,
        id: AttachmentId,
    ) -> Result<Attached, BrokerError> {
        caller.require(Grant::Read)?;
        let found = self.store.attachment(id).await?;
        found
            .filter(|(workspace, _)| caller.sees(*workspace))
            .map(|(_, attached)| attached)
            .ok_or_else(|| BrokerError::missing("attachment", id))
    }

    /// What the agent of a session takes along with a prompt, if that is known.
    pub(crate) async fn takes(&self, session: &Session) -> Result<Option<Takes>, BrokerError> {
        if session.engine == Session::OPENCODE {
            return Ok(Some(Takes::ALL));
        }
        Ok(self.store.takes(session.id).await?)
    }

    /// Checks what somebody wishes to send along, and reads the files of it.
    pub(crate) async fn attach(
        &self,
        session: &Session,
        wishes: Vec<AttachmentWish>,
    ) -> Result<Vec<Attached>, BrokerError> {
        if wishes.is_empty() {
            return Ok(Vec::new());
        }
        let receiver = Receiver {
            agent: session.agent.clone(),
            takes: self.takes(session).await?,
            directory: self.supervisor(session.workspace)?.workspace().path.clone(),
        };
        let now = self.clock.now();
        let read = self
            .tasks
            .spawn_blocking(move || attach(wishes, &receiver, now));
        read.await
            .unwrap_or_else(|_| Err(invalid("could not be read".to_owned())))
    }
}

fn invalid(problem: String) -> BrokerError {
    BrokerError::Invalid {
        field: "attachments",
        problem,
    }
}

/// Checks what can be known of `wishes` by themselves, and returns how much room they leave for the content of files.
pub(crate) fn check(wishes: &[AttachmentWish]) -> Result<usize, BrokerError> {
    if wishes.len() > MOST {
        return Err(invalid(format!(
            "are {}, at most {MOST} are taken",
            wishes.len()
        )));
    }
    let mut room = LARGEST_TOGETHER;
    for wish in wishes {
        let (name, size) = match wish {
            AttachmentWish::File { path } if path.is_empty() => {
                return Err(invalid("have a file without a path".to_owned()));
            }
            AttachmentWish::File { .. } => continue,
            AttachmentWish::Text { name, text } => (name.as_str(), text.len()),
            AttachmentWish::Image { name, bytes, .. } => {
                (name.as_deref().unwrap_or(UNNAMED_IMAGE), bytes.len())
            }
        };
        if size > LARGEST {
            let limit = LARGEST >> 20;
            return Err(invalid(format!(
                "have `{name}`, which is larger than {limit} MiB"
            )));
        }
        room = room.checked_sub(size).ok_or_else(|| {
            let limit = LARGEST_TOGETHER >> 20;
            invalid(format!("are larger than {limit} MiB together"))
        })?;
        check_name(name)?;
        check_content(name, wish)?;
    }
    Ok(room)
}

fn check_content(name: &str, wish: &AttachmentWish) -> Result<(), BrokerError> {
    match wish {
        // PostgreSQL would take it, and no agent has a use for it.
        AttachmentWish::Text { text, .. } if text.contains('\0') => Err(invalid(format!(
            "have `{name}`, which contains NUL characters"
        ))),
        AttachmentWish::Image {
            image_type, bytes, ..
        } if ImageType::of_bytes(bytes) != Some(*image_type) => {
            let said = image_type.media_type();
            Err(invalid(format!("have `{name}`, which is no {said}")))
        }
        AttachmentWish::File { .. }
        | AttachmentWish::Text { .. }
        | AttachmentWish::Image { .. } => Ok(()),
    }
}

fn attach(
    wishes: Vec<AttachmentWish>,
    receiver: &Receiver,
    now: Timestamp,
) -> Result<Vec<Attached>, BrokerError> {
    let mut room = check(&wishes)?;
    let mut attached = Vec::with_capacity(wishes.len());
    for wish in wishes {
        let new = match wish {
            AttachmentWish::File { path } => file(&path, receiver, &mut room, now)?,
            AttachmentWish::Text { name, text } => text_named(&name, text, now),
            AttachmentWish::Image {
                name,
                image_type,
                bytes,
            } => image(name.as_deref(), image_type, bytes, receiver, now)?,
        };
        attached.push(new);
    }
    Ok(attached)
}

/// A file of the workspace: with its content where the agent takes it and it is small enough, else pointed at.
fn file(
    path: &str,
    receiver: &Receiver,
    room: &mut usize,
    now: Timestamp,
) -> Result<Attached, BrokerError> {
    let unreadable = |problem: &str| invalid(format!("have `{path}`, which {problem}"));
    let found = WorkspaceFile::open(Path::new(&receiver.directory), Path::new(path))
        .map_err(|error| unreadable(&error.to_string()))?;
    let (name, size) = (found.name.clone(), found.size);
    let takes = receiver.takes.unwrap_or_default();
    let content = if size <= LARGEST as u64 && size <= *room as u64 {
        found
            .read(LARGEST.min(*room))
            .map_err(|error| unreadable(&error.to_string()))?
            .and_then(|bytes| content(bytes, takes))
    } else {
        None
    };
    let (media_type, bytes) = content.unzip();
    *room -= bytes.as_ref().map_or(0, Vec::len);
    Ok(Attached {
        attachment: Attachment {
            id: AttachmentId::generate(now),
            kind: AttachmentKind::File,
            name,
            media_type: media_type.map(str::to_owned),
            size: bytes.as_ref().map_or(size, |bytes| bytes.len() as u64),
            kept: bytes.is_some(),
        },
        bytes,
    })
}

/// What kind of content a file has, if it is one that the agent takes.
fn content(bytes: Vec<u8>, takes: Takes) -> Option<(&'static str, Vec<u8>)> {
    if let Some(image) = ImageType::of_bytes(&bytes) {
        return takes.images.then(|| (image.media_type(), bytes));
    }
    let is_text = bytes.len() as u64 <= LARGEST_READ
        && !bytes.contains(&0)
        && std::str::from_utf8(&bytes).is_ok();
    (takes.content && is_text).then_some((PLAIN_TEXT, bytes))
}

fn text_named(name: &str, text: String, now: Timestamp) -> Attached {
    let bytes = text.into_bytes();
    Attached {
        attachment: Attachment {
            id: AttachmentId::generate(now),
            kind: AttachmentKind::Text,
            name: name.trim().to_owned(),
            media_type: Some(PLAIN_TEXT.to_owned()),
            size: bytes.len() as u64,
            kept: true,
        },
        bytes: Some(bytes),
    }
}

fn image(
    name: Option<&str>,
    image_type: ImageType,
    bytes: Vec<u8>,
    receiver: &Receiver,
    now: Timestamp,
) -> Result<Attached, BrokerError> {
    let agent = &receiver.agent;
    match receiver.takes {
        Some(Takes { images: true, .. }) => {}
        Some(Takes { images: false, .. }) => {
            return Err(invalid(format!(
                "have an image, and {agent} takes no images"
            )));
        }
        None => {
            let unknown = "has not said whether it takes images";
            return Err(invalid(format!("have an image, and {agent} {unknown}")));
        }
    }
    let name = name.unwrap_or(UNNAMED_IMAGE).trim().to_owned();
    Ok(Attached {
        attachment: Attachment {
            id: AttachmentId::generate(now),
            kind: AttachmentKind::Image,
            name,
            media_type: Some(image_type.media_type().to_owned()),
            size: bytes.len() as u64,
            kept: true,
        },
        bytes: Some(bytes),
    })
}

fn check_name(name: &str) -> Result<(), BrokerError> {
    let name = name.trim();
    if name.is_empty() || name.chars().count() > LONGEST_NAME {
        let problem = format!("need names of one to {LONGEST_NAME} characters");
        return Err(invalid(problem));
    }
    if name.chars().any(char::is_control) {
        let problem = "must not have control characters in their names".to_owned();
        return Err(invalid(problem));
    }
    Ok(())
}

/// A text or a file as words for an agent that takes no content: in tags, so that it is not taken for what was said.
pub(crate) fn in_words(attachment: &Attachment, text: &str) -> String {
    let (tag, name) = (tag(attachment.kind), in_quotes(&attachment.name));
    format!("<{tag} name=\"{name}\">\n{text}\n</{tag}>")
}

/// Something that is only pointed at, as words.
pub(crate) fn pointed_at(attachment: &Attachment) -> String {
    let (tag, name) = (tag(attachment.kind), in_quotes(&attachment.name));
    format!("<{tag} name=\"{name}\"/>")
}

fn tag(kind: AttachmentKind) -> &'static str {
    match kind {
        AttachmentKind::File => "attached_file",
        AttachmentKind::Text => "attached_text",
        AttachmentKind::Image => "attached_image",
    }
}

fn in_quotes(name: &str) -> String {
    name.replace('&', "&amp;")
        .replace('"', "&quot;")
        .replace('<', "&lt;")
}

#[cfg(test)]
mod tests;
