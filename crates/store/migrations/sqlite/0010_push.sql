-- What Web Push needs: the key by which push services know this server, and where each paired browser wants to be told.
CREATE TABLE push_keys (
    id      INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    secret  TEXT NOT NULL,
    made_at INTEGER NOT NULL
) STRICT;

CREATE TABLE push_devices (
    token    TEXT NOT NULL PRIMARY KEY REFERENCES tokens (id),
    endpoint TEXT NOT NULL,
    p256dh   TEXT NOT NULL,
    auth     TEXT NOT NULL,
    made_at  INTEGER NOT NULL
) STRICT;
