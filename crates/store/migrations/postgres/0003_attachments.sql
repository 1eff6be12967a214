-- What comes along with the prompts of turns. The bytes are apart, so that lists of attachments read none of them.
CREATE TABLE attachments (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    turn       TEXT COLLATE "C" NOT NULL REFERENCES turns (id),
    place      BIGINT NOT NULL,
    kind       TEXT COLLATE "C" NOT NULL,
    name       TEXT COLLATE "C" NOT NULL,
    media_type TEXT COLLATE "C",
    size       BIGINT NOT NULL,
    UNIQUE (turn, place)
);

CREATE TABLE attachment_bytes (
    attachment TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES attachments (id),
    bytes      BYTEA NOT NULL
);

-- What the session's agent takes along with a prompt, as its present or last life said.
ALTER TABLE sessions ADD COLUMN takes TEXT COLLATE "C";
