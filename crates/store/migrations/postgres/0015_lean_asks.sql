-- An ask changes its state twice, and with each state its place in every index that has states in it. So the indexes of states
-- hold what is looked for by its state: what waits for an answer, and what ended without one. Most asks are neither.
DROP INDEX asks_by_state;
CREATE INDEX asks_inbox ON asks (id) WHERE state = 'open';
CREATE INDEX asks_over ON asks (state, id) WHERE state IN ('expired', 'withdrawn', 'undeliverable');

DROP INDEX asks_expiring;
CREATE INDEX asks_expiring ON asks (expires_at) WHERE state = 'open' AND expires_at IS NOT NULL;
