//! What stands below each command's options: examples, and the exit codes.

/// The exit codes, for the program's own help.
pub const EXIT_CODES: &str = "\
Exit codes:
  0  done: the answer was accepted, the list printed, the turn completed
  1  something failed
  2  the command line cannot be understood, or an id in it can mean several things
  3  somebody was first; it is printed who, and what they said
  4  not allowed; the missing grant is printed
  5  no such ask, session, rule or token
  6  the ask is over without an answer; it is printed why
  7  no server is running";

macro_rules! help {
    ($(#[$doc:meta])* $name:ident, $examples:literal) => {
        $(#[$doc])*
        pub(crate) const $name: &str = concat!(
            "Examples:\n",
            $examples,
            "\n\nExit codes: 0 done, 1 failed, 2 usage, 3 somebody was first, 4 not allowed, 5 not found, \
             6 over, 7 no server\n\
             An id may be cut to a beginning that no other has, or to its last 6 characters or more."
        );
    };
}

help!(
    /// `inbox`.
    INBOX,
    "  countersign inbox                   the open asks
  countersign inbox --watch           and every change from now on
  countersign inbox --json            the same as GET /api/v1/asks?state=open
  countersign inbox --watch --json    one ask on each line, as it changes
  countersign inbox --all --limit 20  the newest, whatever became of them"
);
help!(
    /// `show`.
    SHOW,
    "  countersign show k3v9qa
  countersign show k3v9qa --json | jq .raw"
);
help!(
    /// `allow`.
    ALLOW,
    "  countersign allow k3v9qa
  countersign allow k3v9qa --always                                 in this session
  countersign allow k3v9qa --always --scope workspace --expires 7d  in every session, for a week
  countersign allow k3v9qa --always --glob \"src/**\"                whatever it is below src"
);
help!(
    /// `deny`.
    DENY,
    "  countersign deny k3v9qa --reason \"use the staging database\"
  countersign deny k3v9qa --reason \"not now\" --yes   without asking about the asks that fall with it"
);
help!(
    /// `answer`.
    ANSWER,
    "  countersign answer k3v9qa sqlite                a question of one part
  countersign answer k3v9qa red blue              several choices of its one part, where it takes them
  countersign answer k3v9qa sqlite \"my own words\" a question of two parts, one answer for each
  countersign answer k3v9qa --part 1=sqlite --part 2=red --part 2=blue
  countersign answer k3v9qa --option once         an option of the engine's, by its id"
);
help!(
    /// `sessions`.
    SESSIONS,
    "  countersign sessions
  countersign sessions --workspace my-project --json
  countersign sessions --engine claude --earlier                    what the agent still has from before"
);
help!(
    /// `settings`.
    SETTINGS,
    "  countersign settings k3v9qa                  what is set and what could be, commands and usage
  countersign settings k3v9qa mode=plan
  countersign settings k3v9qa model=opus thoughts=off
  countersign settings k3v9qa --json | jq .mode

To set something takes the grants prompt and answer: a mode can be as good as a standing answer."
);
help!(
    /// `engines`.
    ENGINES,
    "  countersign engines
  countersign engines --found --json
  countersign prompt --engine demo \"show me what you do\""
);
help!(
    /// `prompt`.
    PROMPT,
    "  countersign prompt \"make the tests pass\"
  countersign prompt --continue \"and now the documentation\"
  countersign prompt --engine claude \"explain this folder\"
  countersign prompt --model anthropic/claude-sonnet-4-5 \"explain this folder\"
  countersign prompt --continue --mode plan \"how would you do it?\"
  git diff | countersign prompt -
  countersign prompt --file src/main.rs --image screen.png \"why does it look like this?\"
  countersign prompt --engine claude --earlier 0198c2f1 \"where were we?\"
  countersign prompt --detach \"upgrade the dependencies\"

On a terminal the asks of the turn are answered right there: a allows once, A for the session, d denies.
The first Ctrl-C cancels the turn, a second one leaves. The agent's words go to standard output, the rest
to standard error."
);
help!(
    /// `token`.
    TOKEN,
    "  countersign token create --name ci --role collaborator --expires 30d > token
  countersign token list
  countersign token revoke 8d2k1x"
);
help!(
    /// `pair`.
    PAIR,
    "  countersign pair
  countersign pair --name \"Ada's phone\" --role approver"
);
help!(
    /// `rules`.
    RULES,
    "  countersign rules list
  countersign rules add --tool bash --exact \"git status\"
  countersign rules add --tool edit --glob \"src/**\" --expires 8h
  countersign rules add --tool webfetch --glob \"**\" --deny
  countersign rules revoke 3kq07z"
);
help!(
    /// `audit`.
    AUDIT,
    "  countersign audit list --limit 20
  countersign audit verify
  countersign audit export > audit.jsonl"
);
help!(
    /// `doctor`.
    DOCTOR,
    "  countersign doctor
  countersign doctor --json"
);
