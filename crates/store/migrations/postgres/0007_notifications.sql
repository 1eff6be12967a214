-- What people are told who do not look: one row for each event and each target that wants to know of it. The dead letters
-- are those with the state `dead`.
CREATE TABLE notifications (
    id        TEXT NOT NULL PRIMARY KEY,
    target    TEXT NOT NULL,
    event     BIGINT NOT NULL,
    at        BIGINT NOT NULL,
    workspace TEXT NOT NULL,
    occasion  TEXT NOT NULL,
    subject   TEXT NOT NULL,
    session   TEXT,
    state     TEXT NOT NULL,
    attempts  BIGINT NOT NULL,
    due_at    BIGINT NOT NULL,
    tried_at  BIGINT,
    ended_at  BIGINT,
    problem   TEXT,
    output    TEXT,
    UNIQUE (event, target)
);

CREATE INDEX notifications_due ON notifications (target, due_at) WHERE state = 'waiting';
CREATE INDEX notifications_ended ON notifications (state, ended_at);
