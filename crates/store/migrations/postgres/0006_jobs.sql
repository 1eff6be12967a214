-- Jobs: tasks that are run in the background. `session` and `turn` are chosen when a job is started, before there are
-- any: so whoever goes on with it finds what was begun and says nothing twice.
CREATE TABLE jobs (
    id               TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    kind             TEXT COLLATE "C" NOT NULL,
    workspace        TEXT COLLATE "C" NOT NULL REFERENCES workspaces (id),
    actor            TEXT COLLATE "C" NOT NULL REFERENCES actors (id),
    caller_group     TEXT COLLATE "C",
    title            TEXT COLLATE "C" NOT NULL,
    prompt           TEXT COLLATE "C" NOT NULL,
    engine           TEXT COLLATE "C" NOT NULL,
    model            TEXT COLLATE "C",
    agent            TEXT COLLATE "C",
    mode             TEXT COLLATE "C",
    effort           TEXT COLLATE "C",
    on_ask           TEXT COLLATE "C" NOT NULL,
    access           TEXT COLLATE "C" NOT NULL,
    resume           TEXT COLLATE "C",
    directory        TEXT COLLATE "C" NOT NULL,
    wants_worktree   BIGINT NOT NULL,
    worktree         TEXT COLLATE "C",
    priority         BIGINT NOT NULL,
    ask_expires_s    BIGINT NOT NULL,
    deadline_s       BIGINT,
    idle_limit_s     BIGINT NOT NULL,
    attachments      TEXT COLLATE "C" NOT NULL,
    state            TEXT COLLATE "C" NOT NULL,
    failure          TEXT COLLATE "C",
    cancelled_by     TEXT COLLATE "C",
    cancel_wished_at BIGINT,
    session          TEXT COLLATE "C",
    turn             TEXT COLLATE "C",
    result           TEXT COLLATE "C",
    changed_files    TEXT COLLATE "C" NOT NULL DEFAULT '[]',
    usage            TEXT COLLATE "C",
    created_at       BIGINT NOT NULL,
    started_at       BIGINT,
    changed_at       BIGINT NOT NULL,
    ended_at         BIGINT
);
CREATE INDEX jobs_by_time ON jobs (created_at, id);
CREATE INDEX jobs_by_workspace ON jobs (workspace, created_at, id);
CREATE INDEX jobs_by_group ON jobs (caller_group, created_at, id) WHERE caller_group IS NOT NULL;
CREATE INDEX jobs_by_state ON jobs (state, created_at, id);
CREATE INDEX jobs_queued ON jobs (workspace, engine, priority, created_at, id) WHERE state = 'queued';
CREATE INDEX jobs_active ON jobs (workspace, engine) WHERE state IN ('starting', 'running', 'waiting');
CREATE INDEX jobs_by_session ON jobs (session) WHERE session IS NOT NULL;
CREATE INDEX jobs_by_turn ON jobs (turn) WHERE turn IS NOT NULL;

CREATE TABLE job_log (
    job   TEXT COLLATE "C" NOT NULL REFERENCES jobs (id),
    seq   BIGINT NOT NULL,
    at    BIGINT NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    text  TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (job, seq)
);

-- How often the turn of a job was sent again under its own name because its engine had died over it.
ALTER TABLE turns ADD COLUMN resumed BIGINT NOT NULL DEFAULT 0;
