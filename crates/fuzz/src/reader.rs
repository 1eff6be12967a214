//! The promises of the reader: the same lines however the bytes come, and of each line what it says.

use countersign_engine::acp::lines::{LINE_LIMIT, LineReader, Piece};
use countersign_engine::acp::message::{self, Incoming, Noise, NoiseKind, RpcId};
use rand::RngExt as _;
use rand::rngs::StdRng;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::finding::{Broken, hold};
use crate::mutation;
use crate::ration::within;

/// More than is kept of a line that is noise.
const NOISE: usize = 2_000;

/// Feeds `bytes` to the reader in every way that they can come.
pub(crate) fn feed(bytes: &[u8], dice: &mut StdRng) -> Result<(), Broken> {
    let limit = [16, 200, 5_000, LINE_LIMIT][dice.random_range(0..4)];
    let pieces = within(bytes.len(), || whole(bytes, limit))?;
    look_at(&pieces, bytes.len(), limit)?;
    in_parts(bytes, limit, &pieces, dice)?;
    from_the_middle(bytes, limit, &pieces, dice)?;
    with_a_gap(bytes, limit, &pieces, dice)?;
    for piece in &pieces {
        if let Piece::Line(line) = piece {
            read_line(&line.text)?;
        }
    }
    Ok(())
}

/// What the bytes hold when they come at once.
pub(crate) fn whole(bytes: &[u8], limit: usize) -> Vec<Piece> {
    let mut reader = LineReader::with_limit(0, limit);
    let mut pieces = reader.push(0, bytes);
    pieces.extend(reader.finish());
    pieces
}

fn start_of(piece: &Piece) -> u64 {
    match piece {
        Piece::Line(line) => line.start,
        Piece::TooLong { start, .. } | Piece::Gap { start, .. } => *start,
    }
}

fn look_at(pieces: &[Piece], length: usize, limit: usize) -> Result<(), Broken> {
    let mut last = None;
    for piece in pieces {
        let (start, end) = (start_of(piece), piece.end());
        hold!(Some(start) > last, "two pieces begin at {start}");
        last = Some(start);
        hold!(
            end <= length as u64,
            "a piece ends at {end}, behind all output"
        );
        match piece {
            Piece::Line(line) => {
                let text = &line.text;
                // What is no UTF-8 takes three bytes for one.
                hold!(
                    text.len() <= 3 * limit,
                    "a line of {} bytes is read",
                    text.len()
                );
                hold!(!text.trim_ascii().is_empty(), "a blank line is read");
                hold!(!text.contains('\n'), "a line break is in a line");
            }
            Piece::TooLong { .. } => {
                hold!(
                    end - start > limit as u64,
                    "a line of {} bytes is too long",
                    end - start
                );
            }
            Piece::Gap { .. } => hold!(false, "bytes are missed that came"),
        }
    }
    Ok(())
}

/// Cut anywhere, and with parts that come twice, it is the same.
fn in_parts(bytes: &[u8], limit: usize, pieces: &[Piece], dice: &mut StdRng) -> Result<(), Broken> {
    let cuts = mutation::cuts(bytes.len(), dice);
    let mut reader = LineReader::with_limit(0, limit);
    let mut found = Vec::new();
    for (from, to) in cuts.iter().zip(&cuts[1..]) {
        let from = if dice.random_ratio(1, 4) {
            dice.random_range(0..=*from)
        } else {
            *from
        };
        found.extend(reader.push(from as u64, &bytes[from..*to]));
    }
    found.extend(reader.finish());
    hold!(
        found == pieces,
        "cut at {cuts:?}, other lines are read: {found:?} and not {pieces:?}"
    );
    Ok(())
}

/// Whoever reads on where a piece ended reads the rest.
fn from_the_middle(
    bytes: &[u8],
    limit: usize,
    pieces: &[Piece],
    dice: &mut StdRng,
) -> Result<(), Broken> {
    let Some(piece) = (!pieces.is_empty()).then(|| &pieces[dice.random_range(0..pieces.len())])
    else {
        return Ok(());
    };
    let end = piece.end();
    let from = usize::try_from(end).map_err(|_| Broken("a piece ends nowhere".to_owned()))?;
    let mut reader = LineReader::with_limit(end, limit);
    let mut found = reader.push(end, &bytes[from..]);
    found.extend(reader.finish());
    let rest: Vec<Piece> = pieces
        .iter()
        .filter(|piece| start_of(piece) >= end)
        .cloned()
        .collect();
    hold!(
        found == rest,
        "from {end} on, other lines are read: {found:?} and not {rest:?}"
    );
    Ok(())
}

/// Bytes that never came take with them the lines that they were in, and no other.
fn with_a_gap(
    bytes: &[u8],
    limit: usize,
    pieces: &[Piece],
    dice: &mut StdRng,
) -> Result<(), Broken> {
    let (one, other) = (
        dice.random_range(0..=bytes.len()),
        dice.random_range(0..=bytes.len()),
    );
    let (from, to) = (one.min(other), one.max(other));
    if from == to || to == bytes.len() {
        return Ok(());
    }
    let mut reader = LineReader::with_limit(0, limit);
    let mut found = reader.push(0, &bytes[..from]);
    found.extend(reader.push(to as u64, &bytes[to..]));
    found.extend(reader.finish());
    let torn = bytes[..from]
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |place| place + 1);
    let whole_again = bytes[to..].iter().position(|byte| *byte == b'\n');
    let whole_again = whole_again.map_or(bytes.len(), |place| to + place + 1);
    let mut expected: Vec<Piece> = pieces
        .iter()
        .filter(|piece| start_of(piece) < torn as u64)
        .cloned()
        .collect();
    expected.push(Piece::Gap {
        start: torn as u64,
        end: whole_again as u64,
    });
    expected.extend(
        pieces
            .iter()
            .filter(|piece| start_of(piece) >= whole_again as u64)
            .cloned(),
    );
    hold!(
        found == expected,
        "without {from}..{to}, {found:?} is read and not {expected:?}"
    );
    Ok(())
}

/// What a line says is what a plain reader of JSON finds in it.
fn read_line(line: &str) -> Result<(), Broken> {
    let plain: Option<Value> = serde_json::from_str(line).ok().filter(Value::is_object);
    let named = plain
        .as_ref()
        .and_then(|message| message.get("method")?.as_str());
    match within(line.len(), || message::read(line))? {
        Incoming::Request { id, method, .. } => {
            echoes(&id, line)?;
            hold!(
                named.is_none() || named == Some(&method),
                "the method is read as `{method}`"
            );
        }
        Incoming::Notification { method, .. } => {
            hold!(
                named.is_none() || named == Some(&method),
                "the method is read as `{method}`"
            );
            let id = plain.as_ref().and_then(|message| message.get("id"));
            hold!(
                id.is_none(),
                "a request with the id {id:?} is read as a notification"
            );
        }
        Incoming::Response { id, .. } => {
            echoes(&id, line)?;
            hold!(named.is_none(), "a request is read as a response");
        }
        Incoming::Noise(noise) => is_noise(&noise, line, plain.as_ref())?,
    }
    Ok(())
}

/// Nothing that a plain reader finds to be a request is noise, but for one that has a name twice.
fn is_noise(noise: &Noise, line: &str, plain: Option<&Value>) -> Result<(), Broken> {
    let Noise { kind, text, length } = noise;
    let kept = text.len() <= NOISE && line.trim().starts_with(text.as_str());
    hold!(
        kept && *length == line.trim().len(),
        "noise of {length} bytes keeps {}",
        text.len()
    );
    let twice =
        matches!(kind, NoiseKind::Broken { problem } if problem.contains("duplicate field"));
    let read = plain.map(|message| message::read(&message.to_string()));
    let asks = matches!(read, Some(Incoming::Request { .. }));
    hold!(twice || !asks, "a request is read as noise: {noise}");
    Ok(())
}

/// A reply carries the id as it came, to the letter.
fn echoes(id: &RpcId, line: &str) -> Result<(), Broken> {
    #[derive(serde::Deserialize)]
    struct Reply<'a> {
        #[serde(borrow)]
        id: &'a RawValue,
    }
    hold!(line.contains(id.text()), "the id {id} is not in the line");
    let reply = message::unknown_method(id, "any");
    let text = String::from_utf8_lossy(&reply);
    hold!(
        text.ends_with('\n') && text.trim_end().lines().count() == 1,
        "a reply is no line: {text}"
    );
    let echoed = serde_json::from_str::<Reply<'_>>(&text).map(|reply| reply.id.get().to_owned());
    hold!(
        echoed.as_deref().ok() == Some(id.text()),
        "the id {id} is echoed as {echoed:?}"
    );
    Ok(())
}
