//! What people write, as plain words: Slack escapes three characters and puts everything that means something into angle
//! brackets.

/// The plain words of a message.
pub(super) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        out.push_str(&unescape(before));
        let Some((inside, after)) = after.split_once('>') else {
            // Slack writes no bracket that is not closed: whatever it is, nothing of it is lost.
            out.push('<');
            rest = after;
            continue;
        };
        out.push_str(&unescape(&meant(inside)));
        rest = after;
    }
    out.push_str(&unescape(rest));
    out
}

/// What stands in angle brackets, as people read it.
fn meant(inside: &str) -> String {
    let (target, label) = match inside.split_once('|') {
        Some((target, label)) => (target, Some(label).filter(|label| !label.is_empty())),
        None => (inside, None),
    };
    if let Some(person) = target.strip_prefix('@') {
        return format!("@{}", label.unwrap_or(person));
    }
    if let Some(channel) = target.strip_prefix('#') {
        return format!("#{}", label.unwrap_or(channel));
    }
    if let Some(special) = target.strip_prefix('!') {
        return match label {
            Some(label) => label.to_owned(),
            None => format!("@{special}"),
        };
    }
    let bare = target.trim_start_matches("mailto:");
    match label {
        None => target.to_owned(),
        // Slack makes a link of what looks like one: the label says the same.
        Some(label) if bare == label || target.ends_with(&format!("://{label}")) => {
            label.to_owned()
        }
        Some(label) => format!("{label} ({target})"),
    }
}

fn unescape(text: &str) -> String {
    // The ampersand last: what it makes is not read again.
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&")
}

/// What is said, without the mention of `user` at its beginning.
pub(super) fn without_mention<'a>(text: &'a str, user: &str) -> &'a str {
    let text = text.trim();
    let rest = text
        .strip_prefix("<@")
        .and_then(|rest| rest.strip_prefix(user))
        .and_then(|rest| rest.split_once('>'))
        .filter(|(label, _)| label.is_empty() || label.starts_with('|'));
    match rest {
        Some((_, rest)) => rest.trim_start_matches([':', ',']).trim(),
        None => text,
    }
}

/// Whether `user` is mentioned.
pub(super) fn mentions(text: &str, user: &str) -> bool {
    text.contains(&format!("<@{user}>")) || text.contains(&format!("<@{user}|"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_write_is_read_as_they_see_it() {
        for (written, read) in [
            ("a &lt; b &amp;&amp; c &gt; d", "a < b && c > d"),
            (
                "see <https://example.org/a?b=1&amp;c=2>",
                "see https://example.org/a?b=1&c=2",
            ),
            ("run <http://main.rs|main.rs>", "run main.rs"),
            ("<https://example.org|here>", "here (https://example.org)"),
            ("<mailto:a@example.org|a@example.org>", "a@example.org"),
            (
                "ask <@U2> in <#C1|general> <!here>",
                "ask @U2 in #general @here",
            ),
            ("<!subteam^S1|@team>", "@team"),
            ("&amp;lt;", "&lt;"),
            ("1 < 2", "1 < 2"),
        ] {
            assert_eq!(plain(written), read, "{written}");
        }
    }

    #[test]
    fn our_name_at_the_beginning_is_no_part_of_what_is_said() {
        for said in [
            "<@U1> fix it",
            "<@U1|sign>: fix it",
            " <@U1>, fix it",
            "fix it",
        ] {
            assert_eq!(without_mention(said, "U1"), "fix it", "{said}");
        }
        assert_eq!(without_mention("<@U12> fix it", "U1"), "<@U12> fix it");
        assert!(mentions("hey <@U1>", "U1") && !mentions("hey <@U12>", "U1"));
    }
}
