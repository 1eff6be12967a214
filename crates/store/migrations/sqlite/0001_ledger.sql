-- Times are microseconds since 1970; ids, digests and JSON are text. The PostgreSQL folder holds the same
-- tables in that dialect: change both.

CREATE TABLE workspaces (
    id       TEXT NOT NULL PRIMARY KEY,
    name     TEXT NOT NULL,
    path     TEXT NOT NULL UNIQUE,
    added_at INTEGER NOT NULL
) STRICT;

CREATE TABLE actors (
    id      TEXT NOT NULL PRIMARY KEY,
    kind    TEXT NOT NULL,
    name    TEXT NOT NULL,
    made_at INTEGER NOT NULL,
    UNIQUE (kind, name)
) STRICT;

CREATE TABLE tokens (
    id         TEXT NOT NULL PRIMARY KEY,
    hash       TEXT NOT NULL UNIQUE,
    name       TEXT NOT NULL,
    kind       TEXT NOT NULL,
    actor      TEXT NOT NULL REFERENCES actors (id),
    grants     TEXT NOT NULL,
    workspace  TEXT REFERENCES workspaces (id),
    made_at    INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER
) STRICT;

CREATE TABLE pairings (
    hash       TEXT NOT NULL PRIMARY KEY,
    name       TEXT NOT NULL,
    role       TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    used_at    INTEGER
) STRICT;

CREATE TABLE engines (
    id        TEXT NOT NULL PRIMARY KEY,
    workspace TEXT NOT NULL REFERENCES workspaces (id),
    program   TEXT NOT NULL,
    added_at  INTEGER NOT NULL,
    UNIQUE (workspace, program)
) STRICT;

CREATE TABLE runs (
    id         TEXT NOT NULL PRIMARY KEY,
    engine     TEXT NOT NULL REFERENCES engines (id),
    state      TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at   INTEGER,
    why        TEXT NOT NULL DEFAULT '',
    taken      INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX runs_alive ON runs (engine) WHERE ended_at IS NULL;

CREATE TABLE sessions (
    id         TEXT NOT NULL PRIMARY KEY,
    workspace  TEXT NOT NULL REFERENCES workspaces (id),
    engine     TEXT NOT NULL,
    native_id  TEXT NOT NULL,
    parent     TEXT REFERENCES sessions (id),
    title      TEXT NOT NULL,
    directory  TEXT NOT NULL,
    agent      TEXT NOT NULL,
    activity   TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    changed_at INTEGER NOT NULL,
    run        TEXT REFERENCES runs (id),
    UNIQUE (workspace, engine, native_id)
) STRICT;
CREATE INDEX sessions_by_run ON sessions (run) WHERE run IS NOT NULL;
CREATE INDEX sessions_by_change ON sessions (changed_at);
CREATE INDEX sessions_by_parent ON sessions (parent) WHERE parent IS NOT NULL;

CREATE TABLE turns (
    id         TEXT NOT NULL PRIMARY KEY,
    session    TEXT NOT NULL REFERENCES sessions (id),
    native_id  TEXT NOT NULL,
    prompt     TEXT NOT NULL,
    model      TEXT,
    agent      TEXT,
    actor      TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    sent_at    INTEGER,
    ended_at   INTEGER,
    outcome    TEXT
) STRICT;
CREATE INDEX turns_by_session ON turns (session, id);
CREATE INDEX turns_open ON turns (session) WHERE ended_at IS NULL;

CREATE TABLE items (
    session   TEXT NOT NULL REFERENCES sessions (id),
    seq       INTEGER NOT NULL,
    native_id TEXT NOT NULL,
    at        INTEGER NOT NULL,
    body      TEXT NOT NULL,
    PRIMARY KEY (session, seq),
    UNIQUE (session, native_id)
) STRICT;

CREATE TABLE asks (
    id          TEXT NOT NULL PRIMARY KEY,
    workspace   TEXT NOT NULL REFERENCES workspaces (id),
    door        TEXT NOT NULL,
    run         TEXT NOT NULL REFERENCES runs (id),
    session     TEXT NOT NULL REFERENCES sessions (id),
    native_id   TEXT NOT NULL,
    directory   TEXT NOT NULL,
    subject     TEXT NOT NULL,
    raw         TEXT NOT NULL,
    options     TEXT NOT NULL,
    opened_at   INTEGER NOT NULL,
    expires_at  INTEGER,
    digest      TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    likeness    TEXT NOT NULL,
    previous    TEXT REFERENCES asks (id),
    state       TEXT NOT NULL,
    ended_at    INTEGER,
    why         TEXT,
    UNIQUE (run, native_id)
) STRICT;
CREATE INDEX asks_by_state ON asks (state, id);
CREATE INDEX asks_by_session ON asks (session, id);
CREATE INDEX asks_open ON asks (session, id) WHERE state = 'open';
CREATE INDEX asks_live ON asks (run, id) WHERE state IN ('open', 'answered');
CREATE INDEX asks_by_fingerprint ON asks (fingerprint, id);
CREATE INDEX asks_expiring ON asks (state, expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX asks_repeating ON asks (previous) WHERE previous IS NOT NULL;

CREATE TABLE rules (
    id         TEXT NOT NULL PRIMARY KEY,
    workspace  TEXT NOT NULL REFERENCES workspaces (id),
    session    TEXT REFERENCES sessions (id),
    tool       TEXT NOT NULL,
    verdict    TEXT NOT NULL,
    matcher    TEXT NOT NULL,
    made_by    TEXT NOT NULL REFERENCES actors (id),
    made_at    INTEGER NOT NULL,
    made_from  TEXT REFERENCES asks (id),
    expires_at INTEGER,
    revoked_at INTEGER
) STRICT;
CREATE INDEX rules_in_force ON rules (workspace, tool) WHERE revoked_at IS NULL;

CREATE TABLE answers (
    ask     TEXT NOT NULL PRIMARY KEY REFERENCES asks (id),
    choice  TEXT NOT NULL,
    actor   TEXT NOT NULL REFERENCES actors (id),
    surface TEXT NOT NULL,
    at      INTEGER NOT NULL,
    rule    TEXT REFERENCES rules (id)
) STRICT;

-- The outbox: a row is written with the answer, or with the expiry, and worked off until it is settled.
CREATE TABLE deliveries (
    ask      TEXT NOT NULL PRIMARY KEY REFERENCES asks (id),
    state    TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    due_at   INTEGER NOT NULL,
    at       INTEGER,
    detail   TEXT
) STRICT;
CREATE INDEX deliveries_pending ON deliveries (due_at, ask) WHERE state = 'pending';
CREATE INDEX deliveries_sending ON deliveries (due_at, ask) WHERE state = 'sending';

CREATE TABLE alarms (
    id        TEXT NOT NULL PRIMARY KEY,
    workspace TEXT NOT NULL REFERENCES workspaces (id),
    session   TEXT REFERENCES sessions (id),
    ask       TEXT REFERENCES asks (id),
    at        INTEGER NOT NULL,
    message   TEXT NOT NULL
) STRICT;

CREATE TABLE events (
    seq       INTEGER NOT NULL PRIMARY KEY,
    at        INTEGER NOT NULL,
    workspace TEXT NOT NULL,
    body      TEXT NOT NULL
) STRICT;

-- One row: the number of the newest event. Whoever writes an event takes this row first, so that events
-- become visible in the order of their numbers.
CREATE TABLE event_head (seq INTEGER NOT NULL) STRICT;
INSERT INTO event_head (seq) VALUES (0);

CREATE TABLE cursors (
    consumer TEXT NOT NULL PRIMARY KEY,
    seq      INTEGER NOT NULL
) STRICT;

CREATE TABLE audit (
    workspace TEXT NOT NULL,
    seq       INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    actor     TEXT NOT NULL,
    action    TEXT NOT NULL,
    subject   TEXT NOT NULL,
    detail    TEXT NOT NULL,
    previous  TEXT NOT NULL,
    hash      TEXT NOT NULL,
    PRIMARY KEY (workspace, seq)
) STRICT;

CREATE TABLE audit_heads (
    workspace TEXT NOT NULL PRIMARY KEY,
    seq       INTEGER NOT NULL,
    hash      TEXT NOT NULL
) STRICT;
