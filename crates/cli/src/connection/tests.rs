use super::*;

fn found(options: &ConnectionOptions, surroundings: &Surroundings) -> anyhow::Result<Connection> {
    Connection::find(options, surroundings, &Clock::System)
}

fn at(url: &str) -> ConnectionOptions {
    ConnectionOptions {
        url: Some(url.to_owned()),
        ..ConnectionOptions::default()
    }
}

fn sentence_of(result: anyhow::Result<Connection>) -> String {
    format!("{:#}", result.unwrap_err())
}

#[test]
fn without_a_server_the_sentence_says_how_to_start_one() {
    let data = tempfile::tempdir().unwrap();
    let surroundings = Surroundings {
        data: Some(data.path().to_owned()),
        ..Surroundings::default()
    };
    let sentence = sentence_of(found(&ConnectionOptions::default(), &surroundings));
    assert!(sentence.contains("countersign up"), "{sentence}");
    assert!(
        sentence.contains("countersign serve --workspace"),
        "{sentence}"
    );
}

#[test]
fn an_address_with_credentials_or_another_scheme_is_refused() {
    for address in [
        "http://me:secret@localhost",
        "ftp://localhost",
        "localhost:8787",
        "http://",
    ] {
        let error = found(&at(address), &Surroundings::default()).unwrap_err();
        assert_eq!(
            crate::exit::Exit::of(&error),
            crate::exit::Exit::Usage,
            "{address}"
        );
        assert!(!format!("{error:#}").contains("secret"));
    }
}

#[test]
fn a_token_is_exposed_only_by_plain_http_to_another_machine() {
    let with_token = Surroundings {
        token: Some("cs_secret".to_owned()),
        ..Surroundings::default()
    };
    for (address, exposed) in [
        ("http://127.0.0.1:8787", false),
        ("http://[::1]:8787/prefix/", false),
        ("http://localhost:8787", false),
        ("https://countersign.example", false),
        ("http://countersign.example", true),
    ] {
        let connection = found(&at(address), &with_token).unwrap();
        assert_eq!(connection.exposes_token(), exposed, "{address}");
        assert!(!format!("{connection:?}").contains("cs_secret"));
    }
}

#[test]
fn a_path_prefix_is_kept() {
    let connection = found(&at("http://localhost:1/team/"), &Surroundings::default()).unwrap();
    let request = connection
        .request(Method::GET, "/api/v1/me")
        .unwrap()
        .build()
        .unwrap();
    assert_eq!(request.url().as_str(), "http://localhost:1/team/api/v1/me");
}
