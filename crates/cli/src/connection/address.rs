//! The address of a server elsewhere, as somebody wrote it.

use reqwest::Url;

use crate::exit::Failure;

/// Reads an address; it names a server and carries no secret.
pub(super) fn read(text: &str) -> anyhow::Result<String> {
    let wrong = |why: String| anyhow::Error::new(Failure::Usage(why));
    let url: Url = text
        .parse()
        .map_err(|error| wrong(format!("`{text}` is no address: {error}")))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(wrong(format!(
            "`{text}` is no address of a server; write https://… or http://…"
        )));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong(
            "an address carries no credentials; put the token into a file and name it with --token-file"
                .to_owned(),
        ));
    }
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

/// Whether what is sent to `base` stays on this machine.
pub(super) fn is_loopback(base: &str) -> bool {
    base.parse::<Url>().ok().is_some_and(|url| {
        url.host_str().is_some_and(|host| {
            host == "localhost"
                || host
                    .trim_start_matches('[')
                    .trim_end_matches(']')
                    .parse::<std::net::IpAddr>()
                    .is_ok_and(|address| address.is_loopback())
        })
    })
}
