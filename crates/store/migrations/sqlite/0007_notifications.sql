-- What people are told who do not look: one row for each event and each target that wants to know of it. The dead letters
-- are those with the state `dead`.
CREATE TABLE notifications (
    id        TEXT NOT NULL PRIMARY KEY,
    target    TEXT NOT NULL,
    event     INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    workspace TEXT NOT NULL,
    occasion  TEXT NOT NULL,
    subject   TEXT NOT NULL,
    session   TEXT,
    state     TEXT NOT NULL,
    attempts  INTEGER NOT NULL,
    due_at    INTEGER NOT NULL,
    tried_at  INTEGER,
    ended_at  INTEGER,
    problem   TEXT,
    output    TEXT,
    UNIQUE (event, target)
) STRICT;

CREATE INDEX notifications_due ON notifications (target, due_at) WHERE state = 'waiting';
CREATE INDEX notifications_ended ON notifications (state, ended_at);
