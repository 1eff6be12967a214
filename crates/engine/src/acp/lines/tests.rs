use proptest::prelude::*;

use super::*;

fn read(bytes: &[u8]) -> Vec<Piece> {
    read_in_pieces(bytes, &[], LINE_LIMIT)
}

/// Reads `bytes`, cut before each of `cuts`.
fn read_in_pieces(bytes: &[u8], cuts: &[usize], limit: usize) -> Vec<Piece> {
    let mut reader = LineReader::with_limit(0, limit);
    let mut found = vec![];
    let mut from = 0;
    for cut in cuts.iter().copied().chain([bytes.len()]) {
        let cut = cut.clamp(from, bytes.len());
        found.extend(reader.push(from as u64, &bytes[from..cut]));
        from = cut;
    }
    found.extend(reader.finish());
    found
}

fn texts(pieces: &[Piece]) -> Vec<&str> {
    pieces
        .iter()
        .map(|piece| match piece {
            Piece::Line(line) => line.text.as_str(),
            Piece::TooLong { .. } => "(too long)",
            Piece::Gap { .. } => "(gap)",
        })
        .collect()
}

fn line(start: u64, end: u64, text: &str) -> Piece {
    Piece::Line(Line {
        start,
        end,
        text: text.to_owned(),
    })
}

#[test]
fn each_line_knows_where_it_began_and_where_the_next_one_does() {
    assert_eq!(
        read(b"{\"a\":1}\n{}\n"),
        [line(0, 8, "{\"a\":1}"), line(8, 11, "{}")]
    );
}

#[test]
fn marks_carriage_returns_and_blank_lines_are_left_out() {
    assert_eq!(
        texts(&read(b"\xEF\xBB\xBF{}\r\n\r\n  \t\n\n{\"b\":2}\r\n")),
        ["{}", "{\"b\":2}"]
    );
}

#[test]
fn what_is_not_utf8_is_replaced_and_what_is_null_survives() {
    assert_eq!(texts(&read(b"a\xFFb\0c\n")), ["a\u{FFFD}b\0c"]);
}

#[test]
fn several_values_on_one_line_are_told_apart() {
    let pieces = read(b"{\"a\":\"}{\"}{} {\"b\":{}}\n{}\n");
    assert_eq!(
        pieces,
        [
            line(0, 0, "{\"a\":\"}{\"}"),
            line(10, 0, "{}"),
            line(13, 22, "{\"b\":{}}"),
            line(22, 25, "{}"),
        ]
    );
    assert_eq!(
        texts(&read(b"{\"a\":\"\xFF\"}{}\n")),
        ["{\"a\":\"\u{FFFD}\"}", "{}"]
    );
}

#[test]
fn a_value_is_read_although_something_else_is_glued_to_it() {
    assert_eq!(texts(&read(b"{\"a\":1} done.\n")), ["{\"a\":1}", "done."]);
    assert_eq!(
        texts(&read(b"{\"a\":1}{\"b\":\n")),
        ["{\"a\":1}", "{\"b\":"]
    );
    assert_eq!(texts(&read(b"{\"a\": nothing}\n")), ["{\"a\": nothing}"]);
}

#[test]
fn a_line_is_taken_apart_only_so_far() {
    let pieces = read(&b"{}".repeat(3 * VALUES));
    assert_eq!(pieces.len(), VALUES + 1);
    let rest = Piece::Line(Line {
        start: 2 * VALUES as u64,
        end: 6 * VALUES as u64,
        text: "{}".repeat(2 * VALUES),
    });
    assert_eq!(pieces.last(), Some(&rest));
}

#[test]
fn a_line_that_is_too_long_is_said_once_and_the_next_one_is_read() {
    let mut bytes = vec![b'x'; 100];
    bytes.extend_from_slice(b"\n{}\n");
    assert_eq!(
        read_in_pieces(&bytes, &[7, 9, 30], 10),
        [Piece::TooLong { start: 0, end: 101 }, line(101, 104, "{}")]
    );
}

#[test]
fn of_a_line_that_is_too_long_nothing_is_kept() {
    let mut reader = LineReader::with_limit(0, 1000);
    for round in 0..100 {
        assert!(reader.push(round * 100, &[b'x'; 100]).is_empty());
        assert!(reader.begun.capacity() <= 2000);
    }
    assert_eq!(
        reader.push(10_000, b"\n"),
        [Piece::TooLong {
            start: 0,
            end: 10_001
        }]
    );
}

#[test]
fn what_comes_twice_is_read_once() {
    let mut reader = LineReader::new(0);
    assert_eq!(texts(&reader.push(0, b"{}\n{\"a\"")), ["{}"]);
    assert_eq!(reader.line_start(), 3);
    assert_eq!(texts(&reader.push(0, b"{}\n{\"a\":1}\n")), ["{\"a\":1}"]);
    assert_eq!(reader.push(0, b"{}\n"), []);
}

#[test]
fn missing_bytes_are_said_and_spoil_no_more_than_a_line() {
    let mut reader = LineReader::new(0);
    assert_eq!(reader.push(0, b"{\"beg"), []);
    assert_eq!(
        reader.push(100, b"end\"}\n{}\n"),
        [Piece::Gap { start: 0, end: 106 }, line(106, 109, "{}")]
    );
}

/// Bytes in which everything that matters here is frequent.
fn output() -> impl Strategy<Value = Vec<u8>> {
    let bit = prop_oneof![
        Just(b"\n".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"{}".to_vec()),
        Just(b"{\"a\":\"}{\"}".to_vec()),
        Just(b"\xEF\xBB\xBF".to_vec()),
        Just(b" ".to_vec()),
        Just(b"banner".to_vec()),
        Just(b"{\"a\":".to_vec()),
        proptest::collection::vec(any::<u8>(), 0..12),
    ];
    proptest::collection::vec(bit, 0..24).prop_map(|bits| bits.concat())
}

proptest! {
    #[test]
    fn however_the_bytes_are_cut_the_same_lines_come_out(
        bytes in output(),
        mut cuts in proptest::collection::vec(0_usize..200, 0..12),
        limit in prop_oneof![Just(LINE_LIMIT), 0_usize..40],
    ) {
        cuts.sort_unstable();
        prop_assert_eq!(
            read_in_pieces(&bytes, &cuts, limit),
            read_in_pieces(&bytes, &[], limit)
        );
    }

    #[test]
    fn beginnings_grow_and_the_end_of_a_piece_is_never_before_what_is_read(bytes in output()) {
        let pieces = read(&bytes);
        let starts: Vec<u64> = pieces.iter().map(|piece| match piece {
            Piece::Line(line) => line.start,
            Piece::TooLong { start, .. } | Piece::Gap { start, .. } => *start,
        }).collect();
        prop_assert!(starts.windows(2).all(|pair| pair[0] < pair[1]));
        prop_assert!(pieces.windows(2).all(|pair| pair[0].end() <= pair[1].end()));
        prop_assert!(pieces.iter().all(|piece| piece.end() <= bytes.len() as u64));
    }
}
