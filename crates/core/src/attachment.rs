//! What comes along with the words of a prompt: files of the workspace, texts and images, and how much of it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::id::AttachmentId;

/// The most attachments of one prompt.
pub const MOST: usize = 10;
/// The largest attachment, in bytes.
pub const LARGEST: usize = 5 << 20;
/// The most bytes of all attachments of one prompt.
pub const LARGEST_TOGETHER: usize = 20 << 20;
/// The longest name, in characters.
pub const LONGEST_NAME: usize = 200;

/// Something that came along with a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Attachment {
    /// Its id.
    pub id: AttachmentId,
    /// What it is.
    pub kind: AttachmentKind,
    /// What it is called; for a file of the workspace its path there.
    pub name: String,
    /// What kind of content it has, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// How many bytes it has.
    pub size: u64,
    /// Whether its content is kept: of a file that is only pointed at it is not.
    pub kept: bool,
}

/// What an attachment is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AttachmentKind {
    /// A file of the workspace.
    File,
    /// A text.
    Text,
    /// A picture.
    Image,
}

impl AttachmentKind {
    /// Its name, as it is stored.
    pub const fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Text => "text",
            Self::Image => "image",
        }
    }

    /// Reads what [`AttachmentKind::name`] wrote.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::File, Self::Text, Self::Image]
            .into_iter()
            .find(|kind| kind.name() == name)
    }
}

/// The kinds of pictures that are taken. None of them can hold a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ImageType {
    /// Portable Network Graphics.
    Png,
    /// JPEG.
    Jpeg,
    /// GIF.
    Gif,
    /// `WebP`.
    Webp,
}

impl ImageType {
    const ALL: [Self; 4] = [Self::Png, Self::Jpeg, Self::Gif, Self::Webp];

    /// What it is called on the wire.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
        }
    }

    /// The kind that is called so.
    pub fn from_media_type(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.media_type().eq_ignore_ascii_case(name))
    }

    /// The kind that these bytes begin like.
    pub fn of_bytes(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(Self::Png),
            [0xff, 0xd8, 0xff, ..] => Some(Self::Jpeg),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(Self::Gif),
            [
                b'R',
                b'I',
                b'F',
                b'F',
                _,
                _,
                _,
                _,
                b'W',
                b'E',
                b'B',
                b'P',
                ..,
            ] => Some(Self::Webp),
            _ => None,
        }
    }
}

/// What an agent takes along with the words of a prompt. A file that it may look at itself it always takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Takes {
    /// Pictures.
    pub images: bool,
    /// The content of files and texts.
    pub content: bool,
}

impl Takes {
    /// Everything.
    pub const ALL: Self = Self {
        images: true,
        content: true,
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_known_by_its_first_bytes_and_nothing_else_is_one() {
        let pictures: [(&[u8], ImageType); 4] = [
            (b"\x89PNG\r\n\x1a\n\0\0", ImageType::Png),
            (b"\xff\xd8\xff\xe0", ImageType::Jpeg),
            (b"GIF89a", ImageType::Gif),
            (b"RIFF\0\0\0\0WEBPVP8 ", ImageType::Webp),
        ];
        for (bytes, kind) in pictures {
            assert_eq!(ImageType::of_bytes(bytes), Some(kind));
            assert_eq!(ImageType::from_media_type(kind.media_type()), Some(kind));
        }
        for other in [
            &b"<svg xmlns="[..],
            b"<html>",
            b"RIFF\0\0\0\0WAVE",
            b"",
            b"\x89PNG",
        ] {
            assert_eq!(ImageType::of_bytes(other), None);
        }
        assert_eq!(ImageType::from_media_type("image/svg+xml"), None);
    }
}
