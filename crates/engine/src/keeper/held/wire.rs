//! What is said on a stream connection after the hello: messages of bounded length, in a compact binary form.
//!
//! A message is its kind (one byte), the length of what follows (four bytes, little-endian), and that. Neither side
//! ever waits for the other before it reads on: the server sends one frame at a time and says how much output it has
//! room for, so that neither confirmations nor acknowledgements queue behind what nobody takes.

use std::io;
use std::sync::Arc;

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// The longest frame of input.
pub(super) const LONGEST_FRAME: usize = 32 * 1024 * 1024;

/// The longest tag of a frame, in bytes.
pub(super) const LONGEST_TAG: usize = 256;

/// The longest piece of output in one message.
pub(super) const LONGEST_CHUNK: usize = 64 * 1024;

/// The longest message to a keeper: a frame, its tag and the tag's length.
const LONGEST_TO_KEEPER: usize = LONGEST_FRAME + LONGEST_TAG + 2;

/// The longest message to a server: a chunk and its offset.
const LONGEST_TO_SERVER: usize = LONGEST_CHUNK + 8;

const HEADER: usize = 5;

/// How much is read at a time when nothing long is announced.
const READ_AHEAD: usize = 4 * 1024;

/// One piece of input, which reaches the engine whole or not at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) tag: Option<Arc<str>>,
    pub(super) bytes: Bytes,
}

/// What a server says on a stream connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ToKeeper {
    /// This is to be written to the engine's input.
    Frame(Frame),
    /// The engine's input is to be closed.
    Close,
    /// Everything before this offset is no longer needed.
    Acknowledge(u64),
    /// There is room for everything before this offset.
    Take(u64),
}

/// What the keeper says on a stream connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ToServer {
    /// A frame with this tag was accepted in this life. Said of each, before anything else.
    Tag(Arc<str>),
    /// What the engine printed.
    Chunk { offset: u64, bytes: Bytes },
    /// The engine prints no more.
    OutputOver,
    /// What the server sent last is done.
    Confirmed,
    /// What the server sent last is not done and never will be: the engine takes no more input.
    InputOver,
    /// A newer connection has taken over. Said last.
    Displaced,
}

impl ToKeeper {
    pub(super) fn put(&self, out: &mut BytesMut) {
        match self {
            Self::Frame(Frame { tag, bytes }) => {
                let tag = tag.as_deref().unwrap_or_default();
                header(out, 1, 2 + tag.len() + bytes.len());
                out.put_u16_le(u16::try_from(tag.len()).unwrap_or(u16::MAX));
                out.put_slice(tag.as_bytes());
                out.put_slice(bytes);
            }
            Self::Close => header(out, 2, 0),
            Self::Acknowledge(offset) => {
                header(out, 3, 8);
                out.put_u64_le(*offset);
            }
            Self::Take(offset) => {
                header(out, 4, 8);
                out.put_u64_le(*offset);
            }
        }
    }

    fn read(kind: u8, mut body: Bytes) -> Option<Self> {
        match (kind, body.len()) {
            (1, 2..) => {
                let length = usize::from(body.get_u16_le());
                if length > LONGEST_TAG || length > body.len() {
                    return None;
                }
                let tag = body.split_to(length);
                let tag = str::from_utf8(&tag).ok()?;
                let tag = (!tag.is_empty()).then(|| tag.into());
                let fits = body.len() <= LONGEST_FRAME;
                fits.then_some(Self::Frame(Frame { tag, bytes: body }))
            }
            (2, 0) => Some(Self::Close),
            (3, 8) => Some(Self::Acknowledge(body.get_u64_le())),
            (4, 8) => Some(Self::Take(body.get_u64_le())),
            _ => None,
        }
    }
}

impl ToServer {
    pub(super) fn put(&self, out: &mut BytesMut) {
        match self {
            Self::Tag(tag) => {
                header(out, 1, tag.len());
                out.put_slice(tag.as_bytes());
            }
            Self::Chunk { offset, bytes } => {
                put_chunk(out, *offset, |out| out.put_slice(bytes));
            }
            Self::OutputOver => header(out, 3, 0),
            Self::Confirmed => header(out, 4, 0),
            Self::InputOver => header(out, 5, 0),
            Self::Displaced => header(out, 6, 0),
        }
    }

    fn read(kind: u8, mut body: Bytes) -> Option<Self> {
        match (kind, body.len()) {
            (1, 1..=LONGEST_TAG) => Some(Self::Tag(str::from_utf8(&body).ok()?.into())),
            (2, 9..) => Some(Self::Chunk {
                offset: body.get_u64_le(),
                bytes: body,
            }),
            (3, 0) => Some(Self::OutputOver),
            (4, 0) => Some(Self::Confirmed),
            (5, 0) => Some(Self::InputOver),
            (6, 0) => Some(Self::Displaced),
            _ => None,
        }
    }
}

/// Puts a chunk whose bytes `write` writes.
pub(super) fn put_chunk(out: &mut BytesMut, offset: u64, write: impl FnOnce(&mut BytesMut)) {
    let start = out.len();
    header(out, 2, 0);
    out.put_u64_le(offset);
    write(out);
    let length = u32::try_from(out.len() - start - HEADER).unwrap_or(u32::MAX);
    if let Some(place) = out.get_mut(start + 1..start + HEADER) {
        place.copy_from_slice(&length.to_le_bytes());
    }
}

fn header(out: &mut BytesMut, kind: u8, length: usize) {
    out.put_u8(kind);
    out.put_u32_le(u32::try_from(length).unwrap_or(u32::MAX));
}

/// Reads messages of either side.
#[derive(Debug)]
pub(super) struct Messages<R> {
    reader: R,
    buffer: BytesMut,
}

impl<R: AsyncRead + Unpin> Messages<R> {
    /// Goes on with what `reader` has to say; `read` is what was read of it already.
    pub(super) fn new(reader: R, read: &[u8]) -> Self {
        let buffer = BytesMut::from(read);
        Self { reader, buffer }
    }

    /// Returns what the server says next, `None` when it is gone, in the middle of a message or not. Cancel-safe.
    pub(super) async fn next_of_server(&mut self) -> io::Result<Option<ToKeeper>> {
        let Some((kind, body)) = self.next(LONGEST_TO_KEEPER).await? else {
            return Ok(None);
        };
        ToKeeper::read(kind, body)
            .map(Some)
            .ok_or_else(|| not_understood(kind))
    }

    /// Returns what the keeper says next, `None` when it is gone, in the middle of a message or not. Cancel-safe.
    pub(super) async fn next_of_keeper(&mut self) -> io::Result<Option<ToServer>> {
        let Some((kind, body)) = self.next(LONGEST_TO_SERVER).await? else {
            return Ok(None);
        };
        ToServer::read(kind, body)
            .map(Some)
            .ok_or_else(|| not_understood(kind))
    }

    async fn next(&mut self, longest: usize) -> io::Result<Option<(u8, Bytes)>> {
        loop {
            let missing = match self.buffer.first_chunk::<HEADER>() {
                None => READ_AHEAD,
                Some(&[kind, a, b, c, d]) => {
                    let length = u32::from_le_bytes([a, b, c, d]) as usize;
                    if length > longest {
                        return Err(io::Error::new(
                            io::ErrorKind::InvalidData,
                            "the message is too long",
                        ));
                    }
                    let whole = HEADER + length;
                    if self.buffer.len() >= whole {
                        let mut body = self.buffer.split_to(whole).freeze();
                        body.advance(HEADER);
                        return Ok(Some((kind, body)));
                    }
                    whole - self.buffer.len()
                }
            };
            // What is announced costs memory only as it comes: untouched pages are not there.
            self.buffer.reserve(missing);
            if self.reader.read_buf(&mut self.buffer).await? == 0 {
                return Ok(None);
            }
        }
    }
}

fn not_understood(kind: u8) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("a message of kind {kind} is not understood"),
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tokio::io::AsyncWriteExt as _;

    use super::*;

    fn frame(tag: Option<&str>, bytes: &[u8]) -> ToKeeper {
        ToKeeper::Frame(Frame {
            tag: tag.map(Into::into),
            bytes: Bytes::copy_from_slice(bytes),
        })
    }

    #[test]
    fn the_bytes_on_the_wire_stay_the_same() {
        let mut out = BytesMut::new();
        frame(Some("t"), b"ab").put(&mut out);
        frame(None, b"c").put(&mut out);
        ToKeeper::Close.put(&mut out);
        ToKeeper::Acknowledge(258).put(&mut out);
        ToKeeper::Take(1).put(&mut out);
        let expected: [&[u8]; 5] = [
            b"\x01\x05\0\0\0\x01\0tab",
            b"\x01\x03\0\0\0\0\0c",
            b"\x02\0\0\0\0",
            b"\x03\x08\0\0\0\x02\x01\0\0\0\0\0\0",
            b"\x04\x08\0\0\0\x01\0\0\0\0\0\0\0",
        ];
        assert_eq!(out, expected.concat());

        out.clear();
        ToServer::Tag("t".into()).put(&mut out);
        let bytes = Bytes::from_static(b"ab");
        ToServer::Chunk { offset: 1, bytes }.put(&mut out);
        for short in [
            ToServer::OutputOver,
            ToServer::Confirmed,
            ToServer::InputOver,
            ToServer::Displaced,
        ] {
            short.put(&mut out);
        }
        let expected: [&[u8]; 6] = [
            b"\x01\x01\0\0\0t",
            b"\x02\x0a\0\0\0\x01\0\0\0\0\0\0\0ab",
            b"\x03\0\0\0\0",
            b"\x04\0\0\0\0",
            b"\x05\0\0\0\0",
            b"\x06\0\0\0\0",
        ];
        assert_eq!(out, expected.concat());
    }

    #[tokio::test]
    async fn a_message_that_announces_too_much_is_not_waited_for() {
        let mut announced = b"\x01".to_vec();
        announced.extend(u32::try_from(LONGEST_TO_KEEPER + 1).unwrap().to_le_bytes());
        let mut messages = Messages::new(tokio::io::empty(), &announced);
        let refused = messages.next_of_server().await.unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::InvalidData);
    }

    #[tokio::test]
    async fn a_message_that_breaks_off_is_none() {
        let mut out = BytesMut::new();
        frame(Some("tag"), b"never whole").put(&mut out);
        for cut in 0..out.len() {
            let mut messages = Messages::new(tokio::io::empty(), &out[..cut]);
            assert_eq!(messages.next_of_server().await.unwrap(), None);
        }
    }

    fn any_message() -> impl Strategy<Value = ToKeeper> {
        let bytes = (0usize..9_000, any::<u8>()).prop_map(|(length, byte)| vec![byte; length]);
        prop_oneof![
            (proptest::option::of("[a-zé]{1,9}"), bytes)
                .prop_map(|(tag, bytes)| frame(tag.as_deref(), &bytes)),
            Just(ToKeeper::Close),
            any::<u64>().prop_map(ToKeeper::Acknowledge),
            any::<u64>().prop_map(ToKeeper::Take),
        ]
    }

    proptest! {
        #[test]
        fn messages_arrive_as_they_were_sent_however_they_are_cut(
            sent in proptest::collection::vec(any_message(), 1..9),
            cuts in proptest::collection::vec(1usize..3_000, 1..20),
        ) {
            let mut out = BytesMut::new();
            for message in &sent {
                message.put(&mut out);
            }
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
            let received = runtime.block_on(async {
                let (mut near, far) = tokio::io::duplex(100_000);
                let mut messages = Messages::new(far, &[]);
                let mut received = Vec::new();
                let mut cuts = cuts.iter().cycle();
                while !out.is_empty() {
                    let piece = out.split_to(out.len().min(*cuts.next().unwrap()));
                    near.write_all(&piece).await.unwrap();
                    // Reading is cancelled in the middle of messages again and again.
                    while let Ok(message) = tokio::time::timeout(
                        std::time::Duration::ZERO, messages.next_of_server()).await {
                        received.extend(message.unwrap());
                    }
                }
                received
            });
            prop_assert_eq!(received, sent);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(async {
                let mut messages = Messages::new(tokio::io::empty(), &bytes);
                while let Ok(Some(_)) = messages.next_of_server().await {}
                let mut messages = Messages::new(tokio::io::empty(), &bytes);
                while let Ok(Some(_)) = messages.next_of_keeper().await {}
            });
        }
    }
}
