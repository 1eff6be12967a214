use proptest::prelude::*;
use serde_json::json;

use super::*;

fn noise_kind(line: &str) -> NoiseKind {
    let incoming = read(line);
    let Incoming::Noise(noise) = incoming else {
        panic!("`{line}` became {incoming:?}");
    };
    noise.kind
}

#[test]
fn a_request_keeps_its_id_exactly() {
    for id in [
        "7",
        "\"abc\"",
        "null",
        "-1",
        "1e2",
        "18446744073709551616",
        "\"\\u0041\"",
    ] {
        let line =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"session/update","params":{{}}}}"#);
        let Incoming::Request {
            id: read_id,
            method,
            params,
        } = read(&line)
        else {
            panic!("{line} is no request");
        };
        assert_eq!(
            (read_id.text(), method.as_str(), params.text()),
            (id, "session/update", "{}")
        );
        let reply = String::from_utf8(result(&read_id, &json!({}))).unwrap();
        assert_eq!(
            reply,
            format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}\n")
        );
    }
}

#[test]
fn without_an_id_it_is_a_notification_and_the_version_may_be_missing() {
    assert!(matches!(
        read(r#"{"method":"session/update"}"#),
        Incoming::Notification { method, params } if method == "session/update" && params.text() == "null"
    ));
}

#[test]
fn a_response_has_a_result_or_an_error() {
    assert!(matches!(
        read(r#"{"id":"turn_1","result":null}"#),
        Incoming::Response { id, outcome: Ok(result) }
            if id.ours().as_deref() == Some("turn_1") && result.text() == "null"
    ));
    let Incoming::Response {
        outcome: Err(error),
        ..
    } = read(r#"{"id":1,"error":{"code":-32000,"message":"sign in","data":{"a":1}}}"#)
    else {
        panic!("no error");
    };
    assert!(error.wants_sign_in());
    assert_eq!(error.message, "sign in");
    let Incoming::Response {
        outcome: Err(error),
        ..
    } = read(r#"{"id":1,"error":"broken"}"#)
    else {
        panic!("no error");
    };
    assert_eq!((error.code, error.message.as_str()), (0, "broken"));
}

#[test]
fn a_number_is_never_the_id_of_a_request_of_ours() {
    assert_eq!(RpcId::from_text("1").unwrap().ours(), None);
    assert_eq!(RpcId::from_text("null").unwrap().ours(), None);
    assert_eq!(
        RpcId::from_text("\"1\"").unwrap().ours().as_deref(),
        Some("1")
    );
    assert_eq!(RpcId::from_text("{}"), None);
    assert_eq!(RpcId::from_text("1 2"), None);
}

#[test]
fn noise_is_named() {
    assert_eq!(noise_kind("Welcome to the agent!"), NoiseKind::Banner);
    assert_eq!(noise_kind("[12:00] starting"), NoiseKind::Banner);
    assert_eq!(
        noise_kind(r#"[{"jsonrpc":"2.0","id":1,"result":{}}]"#),
        NoiseKind::Batch
    );
    assert_eq!(noise_kind("[]"), NoiseKind::Batch);
    assert_eq!(noise_kind("[1,2,3,4,5]"), NoiseKind::Batch);
    for line in ["{", "  \"jsonrpc\": \"2.0\",", "\"id\": 1", "}", "},"] {
        assert_eq!(noise_kind(line), NoiseKind::Fragment, "{line}");
    }
    assert!(matches!(
        noise_kind(r#"{"jsonrpc":"2.0","id":1,"#),
        NoiseKind::Broken { .. }
    ));
    assert!(matches!(
        noise_kind(r#"{"id":1,"id":2,"method":"a"}"#),
        NoiseKind::Broken { .. }
    ));
    for line in [
        "{}",
        "7",
        "\"text\"",
        r#"{"id":{},"method":"a"}"#,
        r#"{"method":1}"#,
        r#"{"id":1}"#,
    ] {
        assert!(
            matches!(noise_kind(line), NoiseKind::NotAMessage { .. }),
            "{line}"
        );
    }
}

#[test]
fn a_request_is_not_lost_because_its_parameters_cannot_be_read() {
    let deep = "[".repeat(500) + &"]".repeat(500);
    for params in ["{\"n\":1e999}", &deep] {
        let line = format!(r#"{{"id":1,"method":"session/request_permission","params":{params}}}"#);
        let Incoming::Request { params, .. } = read(&line) else {
            panic!("it was lost");
        };
        assert!(params.value().is_err());
    }
}

#[test]
fn long_noise_is_cut_where_a_character_ends() {
    let Incoming::Noise(noise) = read(&"ü".repeat(5_000)) else {
        panic!("no noise");
    };
    assert_eq!((noise.text.chars().count(), noise.length), (1_000, 10_000));
}

#[test]
fn what_is_written_is_one_line() {
    let line = request(
        "turn_1",
        "session/prompt",
        &json!({ "text": "a\nb\u{2028}" }),
    );
    assert_eq!(line.split(|byte| *byte == b'\n').count(), 2);
    assert!(matches!(
        read(std::str::from_utf8(&line).unwrap()),
        Incoming::Request { id, .. } if id.ours().as_deref() == Some("turn_1")
    ));
    let line = unknown_method(&RpcId::from_text("9").unwrap(), "craft/drain");
    assert_eq!(
        String::from_utf8(line).unwrap(),
        "{\"jsonrpc\":\"2.0\",\"id\":9,\"error\":{\"code\":-32601,\"message\":\"Method not found: craft/drain\"}}\n"
    );
}

#[test]
fn an_id_is_the_same_however_it_is_written() {
    let id = RpcId::from_text(r#""\u0061-1""#).unwrap();
    assert!(id.is_same(r#""a-1""#) && id.is_same(r#" "a\u002d1" "#));
    assert!(!id.is_same("\"a-2\"") && !id.is_same("a-1"));
    let id = RpcId::from_text("7").unwrap();
    assert!(id.is_same("7") && !id.is_same("\"7\"") && !id.is_same("70"));
}

proptest! {
    #[test]
    fn anything_can_be_read(line in any::<String>()) {
        let _incoming = read(&line);
    }

    #[test]
    fn anything_that_looks_like_a_message_can_be_read(
        parts in proptest::collection::vec(
            prop_oneof![
                Just("{"), Just("}"), Just("["), Just("]"), Just(","), Just(":"), Just("null"), Just("1"),
                Just("\"id\""), Just("\"method\""), Just("\"params\""), Just("\"result\""), Just("\"error\""),
                Just("\"a\""), Just("\\"), Just("\""),
            ],
            0..24,
        )
    ) {
        let _incoming = read(&parts.concat());
    }

    #[test]
    fn what_is_written_is_read_again(id in any::<String>(), method in any::<String>(), text in any::<String>()) {
        let line = request(&id, &method, &json!({ "text": text }));
        let Incoming::Request { id: read_id, method: read_method, params } = read(std::str::from_utf8(&line).unwrap()) else {
            return Err(TestCaseError::fail("no request"));
        };
        prop_assert_eq!(read_id.ours(), Some(id));
        prop_assert_eq!(read_method, method);
        prop_assert_eq!(params.value().unwrap(), json!({ "text": text }));
    }
}
