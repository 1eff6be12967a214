-- When somebody cancelled a turn: the next server goes on with that.
ALTER TABLE turns ADD COLUMN cancelled_at BIGINT;

-- Which version of its protocol the engine speaks in this life, where there are several.
ALTER TABLE runs ADD COLUMN protocol BIGINT NOT NULL DEFAULT 1;

-- The ask whose denial a turn gives the reason of.
ALTER TABLE turns ADD COLUMN follows TEXT REFERENCES asks (id);
