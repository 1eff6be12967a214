-- Jobs: tasks that are run in the background. `session` and `turn` are chosen when a job is started, before there are
-- any: so whoever goes on with it finds what was begun and says nothing twice.
CREATE TABLE jobs (
    id               TEXT NOT NULL PRIMARY KEY,
    kind             TEXT NOT NULL,
    workspace        TEXT NOT NULL REFERENCES workspaces (id),
    actor            TEXT NOT NULL REFERENCES actors (id),
    caller_group     TEXT,
    title            TEXT NOT NULL,
    prompt           TEXT NOT NULL,
    engine           TEXT NOT NULL,
    model            TEXT,
    agent            TEXT,
    mode             TEXT,
    effort           TEXT,
    on_ask           TEXT NOT NULL,
    access           TEXT NOT NULL,
    resume           TEXT,
    directory        TEXT NOT NULL,
    wants_worktree   INTEGER NOT NULL,
    worktree         TEXT,
    priority         INTEGER NOT NULL,
    ask_expires_s    INTEGER NOT NULL,
    deadline_s       INTEGER,
    idle_limit_s     INTEGER NOT NULL,
    attachments      TEXT NOT NULL,
    state            TEXT NOT NULL,
    failure          TEXT,
    cancelled_by     TEXT,
    cancel_wished_at INTEGER,
    session          TEXT,
    turn             TEXT,
    result           TEXT,
    changed_files    TEXT NOT NULL DEFAULT '[]',
    usage            TEXT,
    created_at       INTEGER NOT NULL,
    started_at       INTEGER,
    changed_at       INTEGER NOT NULL,
    ended_at         INTEGER
) STRICT;
CREATE INDEX jobs_by_time ON jobs (created_at, id);
CREATE INDEX jobs_by_workspace ON jobs (workspace, created_at, id);
CREATE INDEX jobs_by_group ON jobs (caller_group, created_at, id) WHERE caller_group IS NOT NULL;
CREATE INDEX jobs_by_state ON jobs (state, created_at, id);
CREATE INDEX jobs_queued ON jobs (workspace, engine, priority, created_at, id) WHERE state = 'queued';
CREATE INDEX jobs_active ON jobs (workspace, engine) WHERE state IN ('starting', 'running', 'waiting');
CREATE INDEX jobs_by_session ON jobs (session) WHERE session IS NOT NULL;
CREATE INDEX jobs_by_turn ON jobs (turn) WHERE turn IS NOT NULL;

CREATE TABLE job_log (
    job   TEXT NOT NULL REFERENCES jobs (id),
    seq   INTEGER NOT NULL,
    at    INTEGER NOT NULL,
    state TEXT NOT NULL,
    text  TEXT NOT NULL,
    PRIMARY KEY (job, seq)
) STRICT;

-- How often the turn of a job was sent again under its own name because its engine had died over it.
ALTER TABLE turns ADD COLUMN resumed INTEGER NOT NULL DEFAULT 0;
