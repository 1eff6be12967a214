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
  7  no server is running
  8  the server was stopped, or was gone for a minute, while the command waited
  9  the server is there and does not answer; its process is printed
The commands of jobs have 0, 1, 2, 8 and 9 alone; 2 is still running";

macro_rules! help {
    ($(#[$doc:meta])* $name:ident, $examples:literal) => {
        $(#[$doc])*
        pub(crate) const $name: &str = concat!(
            "Examples:\n",
            $examples,
            "\n\nExit codes: 0 done, 1 failed, 2 usage, 3 somebody was first, 4 not allowed, 5 not found, \
             6 over, 7 no server, 8 the server left, 9 the server does not answer\n\
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
    "  countersign answer k3v9qa 2                     the second choice of a question of one part
  countersign answer k3v9qa sqlite                a choice by what it says
  countersign answer k3v9qa 1 3                   several choices of its one part, or one for each of two parts
  countersign answer k3v9qa --part 1=sqlite --part 2=1 --part 2=3
  countersign answer k3v9qa --text \"my own words\"
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
  countersign pair --name \"Ada's phone\" --role approver
  countersign pair --name Bob --role collaborator --workspace website"
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
    /// `notifications`.
    NOTIFICATIONS,
    "  countersign notifications
  countersign notifications --dead           what was given up, and why
  countersign notifications retry 7hq2ac
  countersign notifications retry --all
  countersign notifications test phone"
);
help!(
    /// `schedules`.
    SCHEDULES,
    "  countersign schedules
  countersign schedules --json"
);
help!(
    /// `doctor`.
    DOCTOR,
    "  countersign doctor
  countersign doctor --json"
);

macro_rules! job_help {
    ($(#[$doc:meta])* $name:ident, $examples:literal) => {
        $(#[$doc])*
        pub(crate) const $name: &str = concat!(
            "Examples:\n",
            $examples,
            "\n\nExit codes: 0 done, 1 failed, 2 still running (`wait-and-result`, `watch`) or an id that can mean \
             several (`status`), 8 the server left, 9 the server does not answer\n\
             An id may be cut to a beginning that no other has, and is known in every folder. If no server runs, one is \
             started in the background."
        );
    };
}

job_help!(
    /// `task`.
    TASK,
    "  countersign task \"make the tests pass\"
  countersign task --background --worktree --model anthropic/claude-sonnet-4-5 -- fix the --oneline flag
  countersign task --engine claude --read-only \"why is the build slow?\"
  countersign task --resume last \"and now the documentation\"
  countersign task --on-ask deny --deadline 1h --prompt-file task.md
  git log -5 | countersign task --json

Flags are read up to the first word of the task: from there on everything is the task, also what looks like a flag. The
agent's report goes to standard output, the rest to standard error. Ctrl-C cancels the job."
);
job_help!(
    /// `review`.
    REVIEW,
    "  countersign review                        what is not committed, else the branch
  countersign review --base origin/main
  countersign review --scope working-tree --background"
);
job_help!(
    /// `adversarial-review`.
    ADVERSARIAL_REVIEW,
    "  countersign adversarial-review
  countersign adversarial-review --base main the new cache, above all when two writers race"
);
job_help!(
    /// `status`.
    STATUS,
    "  countersign status                        the jobs of this folder
  countersign status --all --json
  countersign status task-mi0jqlw9 --wait --timeout-ms 60000"
);
job_help!(
    /// `result`.
    RESULT,
    "  countersign result                        of the job that ended last in this folder
  countersign result task-mi0jqlw9 --json
  countersign result task-mi0jqlw9 --diff"
);
job_help!(
    /// `wait-and-result`.
    WAIT_AND_RESULT,
    "  countersign wait-and-result task-mi0jqlw9
  countersign wait-and-result task-mi0jqlw9 --max-wait 60 --json"
);
job_help!(
    /// `cancel`.
    CANCEL,
    "  countersign cancel                        the one job that is under way in this folder
  countersign cancel task-mi0jqlw9 --json"
);
job_help!(
    /// `attach`.
    ATTACH,
    "  countersign attach task-mi0jqlw9

Its asks are answered right there: a allows once, A for the session, d denies. Ctrl-C leaves; the job goes on."
);
job_help!(
    /// `watch`.
    WATCH,
    "  countersign watch task-mi0jqlw9 task-mi0jqm2k
  countersign watch --session \"$CLAUDE_CODE_SESSION_ID\" --limit none
  countersign watch --all --asks --json

Each line is an event. The last one of a job has TERMINAL=completed, failed or cancelled and its result; if watching ends
first, TERMINAL=timeout. Without ids no server is started: one is waited for."
);
job_help!(
    /// `logs`.
    LOGS,
    "  countersign logs task-mi0jqlw9
  countersign logs task-mi0jqlw9 --follow --json"
);
job_help!(
    /// `keep`.
    KEEP,
    "  countersign keep task-mi0jqlw9"
);
job_help!(
    /// `discard`.
    DISCARD,
    "  countersign discard task-mi0jqlw9"
);
job_help!(
    /// `heal`.
    HEAL,
    "  countersign heal --dry-run
  countersign heal --all --json

The server does this by itself when it starts and whenever an engine goes; this forces it, and reports."
);
job_help!(
    /// `setup`.
    SETUP,
    "  countersign setup
  countersign setup --enable-review-gate --json"
);
job_help!(
    /// `config`.
    CONFIG,
    "  countersign config
  countersign config --json | jq '.env[] | select(.source == \"env\")'"
);
job_help!(
    /// `task-resume-candidate`.
    TASK_RESUME_CANDIDATE,
    "  countersign task-resume-candidate --json"
);
