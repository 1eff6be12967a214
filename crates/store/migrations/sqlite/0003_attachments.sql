-- What comes along with the prompts of turns. The bytes are apart, so that lists of attachments read none of them.
CREATE TABLE attachments (
    id         TEXT NOT NULL PRIMARY KEY,
    turn       TEXT NOT NULL REFERENCES turns (id),
    place      INTEGER NOT NULL,
    kind       TEXT NOT NULL,
    name       TEXT NOT NULL,
    media_type TEXT,
    size       INTEGER NOT NULL,
    UNIQUE (turn, place)
) STRICT;

CREATE TABLE attachment_bytes (
    attachment TEXT NOT NULL PRIMARY KEY REFERENCES attachments (id),
    bytes      BLOB NOT NULL
) STRICT;

-- What the session's agent takes along with a prompt, as its present or last life said.
ALTER TABLE sessions ADD COLUMN takes TEXT;
