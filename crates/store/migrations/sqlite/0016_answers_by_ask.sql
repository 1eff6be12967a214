-- An answer and a delivery belong to one ask, with which they are read: so they are kept by it, and there is no index of asks
-- beside them. A server keeps them as before.
CREATE TABLE answers_by_ask (
    ask       TEXT NOT NULL PRIMARY KEY REFERENCES asks (id),
    choice    TEXT NOT NULL,
    actor     TEXT NOT NULL REFERENCES actors (id),
    surface   TEXT NOT NULL,
    at        INTEGER NOT NULL,
    rule      TEXT REFERENCES rules (id),
    workspace TEXT,
    tool      TEXT,
    opened_at INTEGER,
    yes       INTEGER
) STRICT, WITHOUT ROWID;
INSERT INTO answers_by_ask
    SELECT ask, choice, actor, surface, at, rule, workspace, tool, opened_at, yes FROM answers ORDER BY ask;
DROP TABLE answers;
ALTER TABLE answers_by_ask RENAME TO answers;
CREATE INDEX answers_by_opening ON answers (opened_at, workspace, tool, surface, actor, yes, at);

CREATE TABLE deliveries_by_ask (
    ask      TEXT NOT NULL PRIMARY KEY REFERENCES asks (id),
    state    TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    due_at   INTEGER NOT NULL,
    at       INTEGER,
    detail   TEXT
) STRICT, WITHOUT ROWID;
INSERT INTO deliveries_by_ask SELECT ask, state, attempts, due_at, at, detail FROM deliveries ORDER BY ask;
DROP TABLE deliveries;
ALTER TABLE deliveries_by_ask RENAME TO deliveries;
CREATE INDEX deliveries_pending ON deliveries (due_at, ask) WHERE state = 'pending';
CREATE INDEX deliveries_sending ON deliveries (due_at, ask) WHERE state = 'sending';
