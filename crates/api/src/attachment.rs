//! What comes along with a prompt, on the wire.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Something to send along with a prompt: at most ten, each of at most 5 MiB, all of at most 20 MiB.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum NewAttachment {
    /// A file of the workspace. Its content comes along if it is a small text or an image and the agent takes that;
    /// else the agent is told where it is.
    File {
        /// Its path, from the workspace on or absolute. Symlinks are resolved; what is outside is refused.
        #[schema(min_length = 1)]
        path: String,
    },
    /// A text.
    Text {
        /// What it is called.
        #[schema(min_length = 1, max_length = 200)]
        name: String,
        /// The text.
        text: String,
    },
    /// A picture, for an agent that takes images.
    Image {
        /// What it is called.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(min_length = 1, max_length = 200)]
        name: Option<String>,
        /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
        media_type: String,
        /// Its bytes in base 64.
        data: String,
    },
}
