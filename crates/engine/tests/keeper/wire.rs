//! A stream connection spoken by hand, so that it can be cut anywhere.

use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::os::unix::net::UnixStream;

use crate::run::Run;

/// A stream connection whose greeting was heard.
pub(crate) struct Raw {
    stream: BufReader<UnixStream>,
}

impl Raw {
    /// Says hello, and returns the connection with the line that came back.
    pub(crate) fn greet(run: &Run, from: u64) -> (Self, String) {
        let stream = UnixStream::connect(run.directory().join("keeper.sock")).unwrap();
        stream.set_read_timeout(Some(crate::run::LIMIT)).unwrap();
        let mut raw = Self {
            stream: BufReader::new(stream),
        };
        raw.send(format!("{{\"hello\":{{\"streams\":{{\"from\":{from}}}}}}}\n").as_bytes());
        let mut line = String::new();
        raw.stream.read_line(&mut line).unwrap();
        (raw, line)
    }

    /// Tells whether the keeper hangs up.
    pub(crate) fn hears_the_end(mut self) -> bool {
        let mut rest = Vec::new();
        match self.stream.read_to_end(&mut rest) {
            Ok(_) => true,
            Err(error) => error.kind() == ErrorKind::ConnectionReset,
        }
    }

    /// Sends as much of `bytes` as the keeper listens to.
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        match self.stream.get_mut().write_all(bytes) {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => panic!("{error}"),
            Ok(()) | Err(_) => {}
        }
    }
}

/// A frame as it is on the wire.
pub(crate) fn frame(tag: &str, bytes: &[u8]) -> Vec<u8> {
    let length = u32::try_from(2 + tag.len() + bytes.len()).unwrap();
    let mut message = vec![1];
    message.extend(length.to_le_bytes());
    message.extend(u16::try_from(tag.len()).unwrap().to_le_bytes());
    message.extend(tag.as_bytes());
    message.extend(bytes);
    message
}
