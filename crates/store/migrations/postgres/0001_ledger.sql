-- Times are microseconds since 1970; ids, digests and JSON are text. The SQLite folder holds the same
-- tables in that dialect: change both. Texts sort by their bytes, as they do in SQLite.

CREATE TABLE workspaces (
    id       TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    name     TEXT COLLATE "C" NOT NULL,
    path     TEXT COLLATE "C" NOT NULL UNIQUE,
    added_at BIGINT NOT NULL
);

CREATE TABLE actors (
    id      TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    kind    TEXT COLLATE "C" NOT NULL,
    name    TEXT COLLATE "C" NOT NULL,
    made_at BIGINT NOT NULL,
    UNIQUE (kind, name)
);

CREATE TABLE tokens (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    hash       TEXT COLLATE "C" NOT NULL UNIQUE,
    name       TEXT COLLATE "C" NOT NULL,
    kind       TEXT COLLATE "C" NOT NULL,
    actor      TEXT COLLATE "C" NOT NULL REFERENCES actors (id),
    grants     TEXT COLLATE "C" NOT NULL,
    workspace  TEXT COLLATE "C" REFERENCES workspaces (id),
    made_at    BIGINT NOT NULL,
    expires_at BIGINT,
    revoked_at BIGINT
);

CREATE TABLE pairings (
    hash       TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    name       TEXT COLLATE "C" NOT NULL,
    role       TEXT COLLATE "C" NOT NULL,
    expires_at BIGINT NOT NULL,
    used_at    BIGINT
);

CREATE TABLE engines (
    id        TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    workspace TEXT COLLATE "C" NOT NULL REFERENCES workspaces (id),
    program   TEXT COLLATE "C" NOT NULL,
    added_at  BIGINT NOT NULL,
    UNIQUE (workspace, program)
);

CREATE TABLE runs (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    engine     TEXT COLLATE "C" NOT NULL REFERENCES engines (id),
    state      TEXT COLLATE "C" NOT NULL,
    started_at BIGINT NOT NULL,
    ended_at   BIGINT,
    why        TEXT COLLATE "C" NOT NULL DEFAULT '',
    taken      BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX runs_alive ON runs (engine) WHERE ended_at IS NULL;

CREATE TABLE sessions (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    workspace  TEXT COLLATE "C" NOT NULL REFERENCES workspaces (id),
    engine     TEXT COLLATE "C" NOT NULL,
    native_id  TEXT COLLATE "C" NOT NULL,
    parent     TEXT COLLATE "C" REFERENCES sessions (id),
    title      TEXT COLLATE "C" NOT NULL,
    directory  TEXT COLLATE "C" NOT NULL,
    agent      TEXT COLLATE "C" NOT NULL,
    activity   TEXT COLLATE "C" NOT NULL,
    started_at BIGINT NOT NULL,
    changed_at BIGINT NOT NULL,
    run        TEXT COLLATE "C" REFERENCES runs (id),
    UNIQUE (workspace, engine, native_id)
);
CREATE INDEX sessions_by_run ON sessions (run) WHERE run IS NOT NULL;
CREATE INDEX sessions_by_change ON sessions (changed_at);
CREATE INDEX sessions_by_parent ON sessions (parent) WHERE parent IS NOT NULL;

CREATE TABLE turns (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    session    TEXT COLLATE "C" NOT NULL REFERENCES sessions (id),
    native_id  TEXT COLLATE "C" NOT NULL,
    prompt     TEXT COLLATE "C" NOT NULL,
    model      TEXT COLLATE "C",
    agent      TEXT COLLATE "C",
    actor      TEXT COLLATE "C" NOT NULL,
    started_at BIGINT NOT NULL,
    sent_at    BIGINT,
    ended_at   BIGINT,
    outcome    TEXT COLLATE "C"
);
CREATE INDEX turns_by_session ON turns (session, id);
CREATE INDEX turns_open ON turns (session) WHERE ended_at IS NULL;

CREATE TABLE items (
    session   TEXT COLLATE "C" NOT NULL REFERENCES sessions (id),
    seq       BIGINT NOT NULL,
    native_id TEXT COLLATE "C" NOT NULL,
    at        BIGINT NOT NULL,
    body      TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (session, seq),
    UNIQUE (session, native_id)
);

CREATE TABLE asks (
    id          TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    workspace   TEXT COLLATE "C" NOT NULL REFERENCES workspaces (id),
    door        TEXT COLLATE "C" NOT NULL,
    run         TEXT COLLATE "C" NOT NULL REFERENCES runs (id),
    session     TEXT COLLATE "C" NOT NULL REFERENCES sessions (id),
    native_id   TEXT COLLATE "C" NOT NULL,
    directory   TEXT COLLATE "C" NOT NULL,
    subject     TEXT COLLATE "C" NOT NULL,
    raw         TEXT COLLATE "C" NOT NULL,
    options     TEXT COLLATE "C" NOT NULL,
    opened_at   BIGINT NOT NULL,
    expires_at  BIGINT,
    digest      TEXT COLLATE "C" NOT NULL,
    fingerprint TEXT COLLATE "C" NOT NULL,
    likeness    TEXT COLLATE "C" NOT NULL,
    previous    TEXT COLLATE "C" REFERENCES asks (id),
    state       TEXT COLLATE "C" NOT NULL,
    ended_at    BIGINT,
    why         TEXT COLLATE "C",
    UNIQUE (run, native_id)
);
CREATE INDEX asks_by_state ON asks (state, id);
CREATE INDEX asks_by_session ON asks (session, id);
CREATE INDEX asks_open ON asks (session, id) WHERE state = 'open';
CREATE INDEX asks_live ON asks (run, id) WHERE state IN ('open', 'answered');
CREATE INDEX asks_by_fingerprint ON asks (fingerprint, id);
CREATE INDEX asks_expiring ON asks (state, expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX asks_repeating ON asks (previous) WHERE previous IS NOT NULL;

CREATE TABLE rules (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    workspace  TEXT COLLATE "C" NOT NULL REFERENCES workspaces (id),
    session    TEXT COLLATE "C" REFERENCES sessions (id),
    tool       TEXT COLLATE "C" NOT NULL,
    verdict    TEXT COLLATE "C" NOT NULL,
    matcher    TEXT COLLATE "C" NOT NULL,
    made_by    TEXT COLLATE "C" NOT NULL REFERENCES actors (id),
    made_at    BIGINT NOT NULL,
    made_from  TEXT COLLATE "C" REFERENCES asks (id),
    expires_at BIGINT,
    revoked_at BIGINT
);
CREATE INDEX rules_in_force ON rules (workspace, tool) WHERE revoked_at IS NULL;

CREATE TABLE answers (
    ask     TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES asks (id),
    choice  TEXT COLLATE "C" NOT NULL,
    actor   TEXT COLLATE "C" NOT NULL REFERENCES actors (id),
    surface TEXT COLLATE "C" NOT NULL,
    at      BIGINT NOT NULL,
    rule    TEXT COLLATE "C" REFERENCES rules (id)
);

-- The outbox: a row is written with the answer, or with the expiry, and worked off until it is settled.
CREATE TABLE deliveries (
    ask      TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES asks (id),
    state    TEXT COLLATE "C" NOT NULL,
    attempts BIGINT NOT NULL,
    due_at   BIGINT NOT NULL,
    at       BIGINT,
    detail   TEXT COLLATE "C"
);
CREATE INDEX deliveries_pending ON deliveries (due_at, ask) WHERE state = 'pending';
CREATE INDEX deliveries_sending ON deliveries (due_at, ask) WHERE state = 'sending';

CREATE TABLE alarms (
    id        TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    workspace TEXT COLLATE "C" NOT NULL REFERENCES workspaces (id),
    session   TEXT COLLATE "C" REFERENCES sessions (id),
    ask       TEXT COLLATE "C" REFERENCES asks (id),
    at        BIGINT NOT NULL,
    message   TEXT COLLATE "C" NOT NULL
);

CREATE TABLE events (
    seq       BIGINT NOT NULL PRIMARY KEY,
    at        BIGINT NOT NULL,
    workspace TEXT COLLATE "C" NOT NULL,
    body      TEXT COLLATE "C" NOT NULL
);

-- One row: the number of the newest event. Whoever writes an event takes this row first, so that events
-- become visible in the order of their numbers.
CREATE TABLE event_head (seq BIGINT NOT NULL);
INSERT INTO event_head (seq) VALUES (0);

CREATE TABLE cursors (
    consumer TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    seq      BIGINT NOT NULL
);

CREATE TABLE audit (
    workspace TEXT COLLATE "C" NOT NULL,
    seq       BIGINT NOT NULL,
    at        BIGINT NOT NULL,
    actor     TEXT COLLATE "C" NOT NULL,
    action    TEXT COLLATE "C" NOT NULL,
    subject   TEXT COLLATE "C" NOT NULL,
    detail    TEXT COLLATE "C" NOT NULL,
    previous  TEXT COLLATE "C" NOT NULL,
    hash      TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (workspace, seq)
);

CREATE TABLE audit_heads (
    workspace TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    seq       BIGINT NOT NULL,
    hash      TEXT COLLATE "C" NOT NULL
);
