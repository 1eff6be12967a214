//! How much of everything is measured.

/// How much of everything is measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sizes {
    /// Answers by one client.
    pub(crate) answers_alone: usize,
    /// Answers by 64 clients together.
    pub(crate) answers_together: usize,
    /// Asks in the large ledger.
    pub(crate) many_asks: usize,
    /// Lists read from each ledger.
    pub(crate) lists: usize,
    /// Rounds of load on `/healthz` and on the baseline, in turn.
    pub(crate) rounds: usize,
    /// Requests in each of those rounds.
    pub(crate) requests: usize,
    /// Clients of the event stream.
    pub(crate) followers: usize,
    /// Events that are handed out to them.
    pub(crate) events: usize,
    /// Starts of the program.
    pub(crate) starts: usize,
    /// Answers carried to the scripted engine.
    pub(crate) deliveries: usize,
    /// Answers carried to the real one.
    pub(crate) real_deliveries: usize,
    /// Messages of an agent in one turn.
    pub(crate) messages: usize,
    /// Asks of an agent that are awaited at a page.
    pub(crate) asks_to_page: usize,
    /// Prompts given on the command line.
    pub(crate) prompts: usize,
    /// Sessions with an agent at once.
    pub(crate) sessions: usize,
    /// Jobs in the large ledger.
    pub(crate) many_jobs: usize,
    /// Calls of `status` on each ledger.
    pub(crate) statuses: usize,
    /// Ends of jobs that are waited for.
    pub(crate) wakes: usize,
    /// Jobs that are handed in at once.
    pub(crate) queued_jobs: usize,
    /// Writes that the ledger knows of a workspace of OpenWork's before measuring begins.
    pub(crate) deeds: usize,
    /// Requests for the cheapest answers of OpenWork's in each round.
    pub(crate) reads: usize,
    /// Writes with an approval of OpenWork's.
    pub(crate) round_trips: usize,
    /// How long the ACP door is fuzzed, in seconds, unless something else is said.
    pub(crate) fuzz_seconds: u64,
}

impl Sizes {
    /// What the limits are about.
    pub(crate) const FULL: Self = Self {
        answers_alone: 1_000,
        answers_together: 6_400,
        many_asks: 1_000_000,
        lists: 300,
        rounds: 25,
        requests: 32_000,
        followers: 10_000,
        events: 5,
        starts: 20,
        deliveries: 300,
        real_deliveries: 20,
        messages: 200_000,
        asks_to_page: 500,
        prompts: 20,
        sessions: 200,
        many_jobs: 50_000,
        statuses: 40,
        wakes: 30,
        queued_jobs: 1_000,
        deeds: 1_000,
        reads: 16_000,
        round_trips: 300,
        fuzz_seconds: 600,
    };

    /// Enough to see that everything works.
    pub(crate) const QUICK: Self = Self {
        answers_alone: 100,
        answers_together: 640,
        many_asks: 20_000,
        lists: 50,
        rounds: 3,
        requests: 6_400,
        followers: 500,
        events: 2,
        starts: 5,
        deliveries: 30,
        real_deliveries: 3,
        messages: 20_000,
        asks_to_page: 50,
        prompts: 3,
        sessions: 10,
        many_jobs: 2_000,
        statuses: 5,
        wakes: 3,
        queued_jobs: 20,
        deeds: 50,
        reads: 8_000,
        round_trips: 60,
        fuzz_seconds: 10,
    };
}
