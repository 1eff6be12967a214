-- What agents tell of sessions besides what is said in them, and what people chose for sessions.

CREATE TABLE session_settings (
    session    TEXT NOT NULL PRIMARY KEY REFERENCES sessions (id),
    told       TEXT NOT NULL,
    changed_at INTEGER NOT NULL
) STRICT;

-- Of what was chosen for a setting, the newest stands that the agent did not refuse. `run` is the newest life of the
-- agent that took it.
CREATE TABLE choices (
    session TEXT NOT NULL REFERENCES sessions (id),
    setting TEXT NOT NULL,
    at      INTEGER NOT NULL,
    value   TEXT NOT NULL,
    actor   TEXT NOT NULL REFERENCES actors (id),
    run     TEXT REFERENCES runs (id),
    refused TEXT,
    PRIMARY KEY (session, setting, at)
) STRICT;

ALTER TABLE turns ADD COLUMN mode TEXT;
