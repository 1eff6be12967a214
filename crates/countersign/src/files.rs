//! Room for open files: every connection is one, and many systems start a program with few.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// More than the connections that are taken at once, and what the rest of the process needs.
const WANTED: u64 = 16_384;

/// Raises the number of files that this process may open to what it can use, as far as the system lets it.
pub(crate) fn make_room() {
    let limit = getrlimit(Resource::Nofile);
    let Some(raised) = raised(limit) else { return };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!("no more files can be opened than the system allows by itself: {error}");
    }
}

/// The limit to set; nothing if there is room enough, or no more to be had.
fn raised(limit: Rlimit) -> Option<Rlimit> {
    let current = limit.current?;
    let most = limit.maximum.unwrap_or(WANTED);
    let wanted = WANTED.min(most);
    (wanted > current).then_some(Rlimit {
        current: Some(wanted),
        maximum: limit.maximum,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(current: Option<u64>, maximum: Option<u64>) -> Rlimit {
        Rlimit { current, maximum }
    }

    #[test]
    fn the_limit_is_raised_as_far_as_it_goes_and_never_lowered() {
        let wanted = |given| raised(given).map(|raised| raised.current);
        assert_eq!(
            wanted(limit(Some(1_024), Some(1 << 20))),
            Some(Some(WANTED))
        );
        assert_eq!(wanted(limit(Some(1_024), None)), Some(Some(WANTED)));
        assert_eq!(wanted(limit(Some(1_024), Some(4_096))), Some(Some(4_096)));
        assert_eq!(wanted(limit(Some(1_024), Some(1_024))), None);
        assert_eq!(wanted(limit(Some(1 << 20), None)), None);
        assert_eq!(wanted(limit(None, None)), None);
    }
}
