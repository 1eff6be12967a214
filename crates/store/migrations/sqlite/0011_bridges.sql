-- Chat bridges. Which thread of a chat is which session; `thread` is empty for a channel as a whole.
CREATE TABLE bridge_threads (
    bridge     TEXT NOT NULL,
    channel    TEXT NOT NULL,
    thread     TEXT NOT NULL,
    route      TEXT NOT NULL,
    session    TEXT,
    engine     TEXT,
    model      TEXT,
    turn       TEXT,
    message    TEXT,
    changed_at INTEGER NOT NULL,
    PRIMARY KEY (bridge, channel, thread)
) STRICT;

CREATE INDEX bridge_threads_session ON bridge_threads (session);

-- How far a bridge has followed its platform, in the platform's own words.
CREATE TABLE bridge_cursors (
    bridge TEXT NOT NULL PRIMARY KEY,
    cursor TEXT NOT NULL
) STRICT;

-- What came in, once each; `turn` is the turn that a message becomes, so that it becomes one only.
CREATE TABLE bridge_inbox (
    bridge  TEXT NOT NULL,
    id      TEXT NOT NULL,
    number  INTEGER NOT NULL,
    channel TEXT NOT NULL,
    thread  TEXT NOT NULL,
    body    TEXT NOT NULL,
    turn    TEXT NOT NULL,
    state   TEXT NOT NULL,
    PRIMARY KEY (bridge, id)
) STRICT;

CREATE INDEX bridge_inbox_waiting ON bridge_inbox (bridge, number) WHERE state = 'waiting';

-- What is said in chats: how it is to be (`body`, `version`), and how far the platform has it (`message`, `sent_version`).
CREATE TABLE bridge_messages (
    id           TEXT NOT NULL PRIMARY KEY,
    bridge       TEXT NOT NULL,
    key          TEXT NOT NULL,
    number       INTEGER NOT NULL,
    channel      TEXT NOT NULL,
    thread       TEXT NOT NULL,
    kind         TEXT NOT NULL,
    subject      TEXT,
    token        TEXT,
    route        TEXT NOT NULL,
    body         TEXT NOT NULL,
    version      INTEGER NOT NULL,
    sent_version INTEGER NOT NULL,
    former       TEXT,
    message      TEXT,
    state        TEXT NOT NULL,
    attempts     INTEGER NOT NULL,
    doubt        INTEGER NOT NULL,
    due_at       INTEGER NOT NULL,
    problem      TEXT,
    UNIQUE (bridge, key)
) STRICT;

CREATE INDEX bridge_messages_open ON bridge_messages (bridge, number) WHERE state = 'open';
CREATE INDEX bridge_messages_subject ON bridge_messages (subject);
CREATE INDEX bridge_messages_message ON bridge_messages (bridge, channel, message);
CREATE INDEX bridge_messages_token ON bridge_messages (token);
