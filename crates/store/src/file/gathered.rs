//! Has each commit written to the log in one piece.
//!
//! SQLite writes each page of its log in two pieces, a head and the page, and a commit of ours has a dozen or two of them. What
//! is written one behind the other is gathered here until the commit is whole: one call of the system in the place of
//! thirty. Nobody is told of a commit before that. What is written over, or is not next, goes straight through.

/// How long the head of a page in the log is.
const HEAD: usize = 24;
/// The part of a head that is zero unless the page ends a commit.
const COMMIT_MARK: std::ops::Range<usize> = 4..8;
/// How much is gathered at the most: what SQLite's own files take in one call.
const MOST: usize = 0x1_ffff;

/// Where what was gathered goes, in the end.
pub(super) trait Log {
    /// Why something was not written.
    type Error;

    /// Writes `content` from place `at` on.
    fn write(&mut self, content: &[u8], at: i64) -> Result<(), Self::Error>;
}

/// What was written one behind the other and is not in the log yet.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    bytes: Vec<u8>,
    /// Up to where the log goes, with what is gathered.
    end: i64,
    /// Whether the page whose head came last ends a commit.
    ends_commit: bool,
    /// Whether what was written last ended a commit: such a page, or its head, which is written again when others were.
    is_whole: bool,
}

impl Gathered {
    /// Whether what was written last ended a commit.
    pub(super) const fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Takes in what is to be written from place `at` on. What ends a commit is in the log afterwards, with all before it.
    pub(super) fn write<L: Log>(
        &mut self,
        content: &[u8],
        at: i64,
        log: &mut L,
    ) -> Result<(), L::Error> {
        let is_head = content.len() == HEAD;
        if is_head {
            self.ends_commit = content[COMMIT_MARK] != [0; 4];
        }
        let is_next = at == self.end;
        self.is_whole = self.ends_commit && at != 0 && !(is_head && is_next);
        if !is_next || self.bytes.len() + content.len() > MOST {
            self.hand_on(log)?;
        }
        let end = at.saturating_add_unsigned(content.len() as u64);
        if !is_next {
            log.write(content, at)?;
            // At its beginning it begins anew, whatever is behind that.
            self.end = if at == 0 { end } else { end.max(self.end) };
            return Ok(());
        }
        self.bytes.extend_from_slice(content);
        self.end = end;
        if self.is_whole {
            self.hand_on(log)?;
        }
        Ok(())
    }

    /// Has everything in the log.
    pub(super) fn hand_on<L: Log>(&mut self, log: &mut L) -> Result<(), L::Error> {
        if self.bytes.is_empty() {
            return Ok(());
        }
        let begin = self.end.saturating_sub_unsigned(self.bytes.len() as u64);
        let written = log.write(&self.bytes, begin);
        self.bytes.clear();
        if written.is_err() {
            // It is as if it had never come: the transaction that wrote it fails, and the next one begins from there.
            self.end = begin;
        }
        written
    }

    /// Says that the log was cut off behind `size` bytes; nothing is gathered.
    pub(super) fn cut(&mut self, size: i64) {
        self.end = self.end.min(size);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A log in memory, which counts its writes and may be full.
    #[derive(Debug, Default, Clone, PartialEq)]
    struct InMemory {
        bytes: Vec<u8>,
        writes: usize,
        is_full: bool,
    }

    impl Log for InMemory {
        type Error = &'static str;

        fn write(&mut self, content: &[u8], at: i64) -> Result<(), Self::Error> {
            if self.is_full {
                return Err("full");
            }
            let at = usize::try_from(at).unwrap();
            let end = at + content.len();
            if self.bytes.len() < end {
                self.bytes.resize(end, 0);
            }
            self.bytes[at..end].copy_from_slice(content);
            self.writes += 1;
            Ok(())
        }
    }

    const PAGE: usize = 512;
    const FRAME: i64 = 512 + 24;

    fn head(number: u8, ends_commit: bool) -> [u8; HEAD] {
        let mut head = [number; HEAD];
        head[COMMIT_MARK].copy_from_slice(&u32::from(ends_commit).to_be_bytes());
        head
    }

    /// One thing that SQLite does with its log.
    #[derive(Debug, Clone)]
    enum Step {
        /// Writes pages behind the last commit, of which the last may end one.
        Frames { count: u8, ends_commit: bool },
        /// Writes pages again that it wrote since the last commit, and their heads: from the given one on.
        Again { from: u8 },
        /// Reads.
        Read,
        /// Begins anew.
        Restart,
        /// Forgets what it wrote since the last commit.
        RollBack,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => (1..20_u8, any::<bool>())
                .prop_map(|(count, ends_commit)| Step::Frames { count, ends_commit }),
            1 => (0..20_u8).prop_map(|from| Step::Again { from }),
            1 => Just(Step::Read),
            1 => Just(Step::Restart),
            1 => Just(Step::RollBack),
        ]
    }

    proptest! {
        #[test]
        fn a_commit_is_in_the_log_when_it_is_whole_and_whoever_reads_sees_all(
            steps in proptest::collection::vec(step(), 1..40),
        ) {
            let (mut gathered, mut log, mut direct) =
                (Gathered::default(), InMemory::default(), InMemory::default());
            let (mut committed, mut next, mut number) = (0_i64, 0_i64, 0_u8);
            for step in steps {
                match step {
                    Step::Restart => {
                        direct.write(&[7; 32], 0).unwrap();
                        gathered.write(&[7; 32], 0, &mut log).unwrap();
                        (committed, next) = (32, 32);
                    }
                    Step::Frames { count, ends_commit } => {
                        for index in 1..=count {
                            number = number.wrapping_add(1);
                            let head = head(number, ends_commit && index == count);
                            for content in [&head[..], &[number; PAGE]] {
                                direct.write(content, next).unwrap();
                                gathered.write(content, next, &mut log).unwrap();
                                next += i64::try_from(content.len()).unwrap();
                            }
                        }
                        if ends_commit {
                            committed = next;
                            prop_assert_eq!(&log.bytes, &direct.bytes);
                        }
                    }
                    Step::Again { from } => {
                        // As a commit does that finds pages of its own in the log.
                        let mut at = committed + i64::from(from) * FRAME;
                        while at < next {
                            let head = head(number, at + FRAME == next);
                            direct.write(&[number; PAGE], at + 24).unwrap();
                            gathered.write(&[number; PAGE], at + 24, &mut log).unwrap();
                            gathered.hand_on(&mut log).unwrap();
                            direct.write(&head, at).unwrap();
                            gathered.write(&head, at, &mut log).unwrap();
                            at += FRAME;
                            prop_assert_eq!(&log.bytes, &direct.bytes, "it goes straight through");
                        }
                    }
                    Step::Read => {
                        gathered.hand_on(&mut log).unwrap();
                        prop_assert_eq!(&log.bytes, &direct.bytes);
                    }
                    Step::RollBack => next = committed,
                }
            }
            gathered.hand_on(&mut log).unwrap();
            prop_assert_eq!(&log.bytes, &direct.bytes);
            prop_assert!(log.writes <= direct.writes);
        }
    }

    #[test]
    fn a_commit_is_one_write() {
        let (mut gathered, mut log) = (Gathered::default(), InMemory::default());
        let mut at = 32;
        gathered.write(&[7; 32], 0, &mut log).unwrap();
        assert!(!gathered.is_whole());
        for commit in 1..=3 {
            for page in 1..=20 {
                gathered
                    .write(&head(page, page == 20), at, &mut log)
                    .unwrap();
                gathered.write(&[page; PAGE], at + 24, &mut log).unwrap();
                at += FRAME;
            }
            assert_eq!(
                log.writes, commit,
                "the head of the log came with the first"
            );
            assert!(gathered.is_whole());
            assert_eq!(log.bytes.len(), usize::try_from(at).unwrap());
        }
    }

    #[test]
    fn what_was_not_written_is_told_and_can_be_written_again() {
        let (mut gathered, mut log) = (Gathered::default(), InMemory::default());
        gathered.write(&[7; 32], 0, &mut log).unwrap();
        gathered.hand_on(&mut log).unwrap();
        log.is_full = true;
        gathered.write(&head(1, true), 32, &mut log).unwrap();
        let told = gathered.write(&[1; PAGE], 32 + 24, &mut log);
        assert_eq!(told, Err("full"));
        log.is_full = false;
        gathered.write(&head(2, true), 32, &mut log).unwrap();
        gathered.write(&[2; PAGE], 32 + 24, &mut log).unwrap();
        assert_eq!(log.bytes[32..], [&head(2, true)[..], &[2; PAGE]].concat());
        gathered.write(&[8; 32], 0, &mut log).unwrap();
        assert!(!gathered.is_whole(), "the log begins anew");
    }
}
