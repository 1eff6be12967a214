-- Transcripts are searched from their newest piece back, and a piece tells when it was last rewritten: a tool call, when it
-- came to its end.
ALTER TABLE items ADD COLUMN changed_at BIGINT;
CREATE INDEX items_by_time ON items (at, session, seq);
