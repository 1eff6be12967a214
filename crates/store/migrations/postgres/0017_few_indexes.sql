-- What becomes of an ask is written three times, and each time every index that it stands in. So what waits is in one index,
-- which holds all by which it is looked for; few asks wait, and those of a session or of a run are found among them. States
-- are compared one by one, as a file has them.
DROP INDEX asks_inbox;
DROP INDEX asks_open;
DROP INDEX asks_live;
CREATE INDEX asks_live ON asks (state, id, session, run, opened_at, workspace, tool) WHERE state = 'open' OR state = 'answered';

DROP INDEX asks_over;
CREATE INDEX asks_over ON asks (state, id) WHERE state = 'expired' OR state = 'withdrawn' OR state = 'undeliverable';

-- What figures are made of, without what waits.
DROP INDEX asks_unanswered;
CREATE INDEX asks_unanswered ON asks (opened_at, workspace, tool, state) WHERE state || '' = 'expired' OR state || '' = 'withdrawn';

-- What runs out, as an expression: the index of what waits does not have it.
DROP INDEX asks_expiring;
CREATE INDEX asks_expiring ON asks (expires_at, state) WHERE state || '' = 'open' AND expires_at IS NOT NULL;
