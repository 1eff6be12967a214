-- Where browsers are signed in and when a token was last used, roughly: it is written every few minutes at most.
ALTER TABLE tokens ADD COLUMN device TEXT;
ALTER TABLE tokens ADD COLUMN seen_at INTEGER;

-- What figures are made of stands with the answer, and with an ask that has none: so a day is counted from two indexes that
-- hold all of it, and neither JSON is read nor a table looked at.
ALTER TABLE asks ADD COLUMN tool TEXT;
UPDATE asks SET tool = json_extract(subject, '$.tool');
ALTER TABLE answers ADD COLUMN workspace TEXT;
ALTER TABLE answers ADD COLUMN tool TEXT;
ALTER TABLE answers ADD COLUMN opened_at INTEGER;
ALTER TABLE answers ADD COLUMN yes INTEGER;
UPDATE answers SET workspace = asks.workspace, tool = asks.tool, opened_at = asks.opened_at, yes = CASE
    WHEN json_extract(choice, '$.answer') = 'deny' THEN 0
    WHEN json_extract(choice, '$.kind') IN ('deny', 'deny_always') THEN 0
    ELSE 1
END FROM asks WHERE asks.id = answers.ask;

CREATE INDEX answers_by_opening ON answers (opened_at, workspace, tool, surface, actor, yes, at);
CREATE INDEX asks_unanswered ON asks (opened_at, workspace, tool, state) WHERE state || '' IN ('open', 'expired', 'withdrawn');

-- How each chain of the audit was found when it was last followed.
CREATE TABLE verifications (
    workspace TEXT NOT NULL PRIMARY KEY,
    at        INTEGER NOT NULL,
    entries   INTEGER NOT NULL,
    broken    TEXT
) STRICT;
