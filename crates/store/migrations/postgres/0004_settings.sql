-- What agents tell of sessions besides what is said in them, and what people chose for sessions.

CREATE TABLE session_settings (
    session    TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES sessions (id),
    told       TEXT COLLATE "C" NOT NULL,
    changed_at BIGINT NOT NULL
);

-- Of what was chosen for a setting, the newest stands that the agent did not refuse. `run` is the newest life of the
-- agent that took it.
CREATE TABLE choices (
    session TEXT COLLATE "C" NOT NULL REFERENCES sessions (id),
    setting TEXT COLLATE "C" NOT NULL,
    at      BIGINT NOT NULL,
    value   TEXT COLLATE "C" NOT NULL,
    actor   TEXT COLLATE "C" NOT NULL REFERENCES actors (id),
    run     TEXT COLLATE "C" REFERENCES runs (id),
    refused TEXT COLLATE "C",
    PRIMARY KEY (session, setting, at)
);

ALTER TABLE turns ADD COLUMN mode TEXT COLLATE "C";
