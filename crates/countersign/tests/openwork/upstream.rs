//! A stand-in for opencode that writes down what it is asked.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use crate::json::Json;

/// The headers that are written down.
const KEPT: [&str; 6] = [
    "authorization",
    "x-opencode-directory",
    "x-openwork-host-token",
    "x-openwork-client-id",
    "content-type",
    "origin",
];

/// What it answers instead of an echo: a status and a body.
pub(crate) type Failing = Option<(u16, &'static str)>;

#[derive(Default)]
struct Notes {
    requests: Vec<Json>,
    failing: Failing,
}

/// The stand-in. It goes on listening until the process ends.
pub(crate) struct Upstream {
    port: u16,
    notes: Arc<Mutex<Notes>>,
}

impl Upstream {
    pub(crate) fn start() -> Self {
        let port = countersign_testkit::ports::free();
        let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
        let notes = Arc::new(Mutex::new(Notes::default()));
        let shared = Arc::clone(&notes);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let notes = Arc::clone(&shared);
                std::thread::spawn(move || {
                    // A client may go away when it likes.
                    let _gone = answer(stream, &notes);
                });
            }
        });
        Self { port, notes }
    }

    /// Its address without the scheme.
    pub(crate) fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.host())
    }

    pub(crate) fn fail(&self, failing: Failing) {
        self.notes.lock().unwrap().failing = failing;
    }

    pub(crate) fn forget(&self) {
        self.notes.lock().unwrap().requests.clear();
    }

    /// What it was asked on `path`: others look after it meanwhile.
    pub(crate) fn asked(&self, path: &str) -> Vec<Json> {
        let requests = self.requests().into_iter();
        let asked = requests.filter(|request| request.at("path").as_str() == Some(path));
        asked.collect()
    }

    pub(crate) fn requests(&self) -> Vec<Json> {
        self.notes.lock().unwrap().requests.clone()
    }
}

fn answer(stream: TcpStream, notes: &Mutex<Notes>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut writer = stream;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let mut words = line.split_whitespace().map(str::to_owned);
        let method = words.next().unwrap_or_default();
        let path = words.next().unwrap_or_default();
        let mut length = 0;
        let mut headers = Vec::new();
        loop {
            let mut header = String::new();
            reader.read_line(&mut header)?;
            let Some((name, value)) = header.trim().split_once(':') else {
                break;
            };
            let name = name.to_ascii_lowercase();
            if name == "content-length" {
                length = value.trim().parse().unwrap_or(0);
            }
            if KEPT.contains(&name.as_str()) {
                headers.push((name, Json::string(value.trim())));
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let failing = {
            let mut notes = notes.lock().unwrap();
            notes.requests.push(Json::Object(vec![
                ("method".to_owned(), Json::string(method.clone())),
                ("path".to_owned(), Json::string(path.clone())),
                ("headers".to_owned(), Json::Object(headers)),
                (
                    "body".to_owned(),
                    Json::string(String::from_utf8_lossy(&body)),
                ),
            ]));
            notes.failing
        };
        let echo = format!(r#"{{"echo": {{"method": "{method}", "path": "{path}"}}}}"#);
        let (status, body) = failing.unwrap_or((200, &echo));
        write!(
            writer,
            "HTTP/1.1 {status} Any\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )?;
    }
}
