//! Lengths of time as people write and read them: `7d` on the way in, `3 min` on the way out.

use std::time::Duration;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;
const WEEK: u64 = 7 * DAY;

/// Reads `90s`, `30m`, `1h`, `7d`, `2w`, or several in a row such as `1h30m`.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is no length of time; write 90s, 30m, 1h, 7d or 2w");
    let mut seconds = 0_u64;
    let mut rest = text.trim();
    while !rest.is_empty() {
        let digits = rest
            .find(|character: char| !character.is_ascii_digit())
            .ok_or_else(wrong)?;
        let number: u64 = rest[..digits].parse().map_err(|_| wrong())?;
        let mut after = rest[digits..].chars();
        let unit = match after.next() {
            Some('s') => 1,
            Some('m') => MINUTE,
            Some('h') => HOUR,
            Some('d') => DAY,
            Some('w') => WEEK,
            Some(_) | None => return Err(wrong()),
        };
        seconds = number
            .checked_mul(unit)
            .and_then(|part| seconds.checked_add(part))
            .ok_or_else(wrong)?;
        rest = after.as_str();
    }
    if seconds == 0 {
        return Err(wrong());
    }
    Ok(Duration::from_secs(seconds))
}

/// Says how long `duration` is, to the two units that matter.
pub(crate) fn spoken(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let two = |large: u64, large_name: &str, small: u64, small_name: &str| {
        let rest = seconds % large / small;
        if rest == 0 {
            format!("{} {large_name}", seconds / large)
        } else {
            format!("{} {large_name} {rest} {small_name}", seconds / large)
        }
    };
    match seconds {
        0..MINUTE => format!("{seconds} s"),
        MINUTE..HOUR => format!("{} min", seconds / MINUTE),
        HOUR..DAY => two(HOUR, "h", MINUTE, "min"),
        DAY.. => two(DAY, "d", HOUR, "h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_read_as_people_write_them() {
        for (text, seconds) in [
            ("90s", 90),
            ("30m", 1_800),
            ("1h", 3_600),
            ("1h30m", 5_400),
            ("7d", 604_800),
            ("2w", 1_209_600),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
    }

    #[test]
    fn what_is_no_length_is_refused() {
        for text in [
            "",
            "0s",
            "1",
            "h",
            "-1h",
            "1y",
            "1h 30m",
            "99999999999999999999d",
            "1ħ",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn lengths_are_said_in_the_units_that_matter() {
        for (seconds, said) in [
            (0, "0 s"),
            (59, "59 s"),
            (200, "3 min"),
            (3_600, "1 h"),
            (7_500, "2 h 5 min"),
            (90_000, "1 d 1 h"),
        ] {
            assert_eq!(spoken(Duration::from_secs(seconds)), said);
        }
    }
}
