-- Which process a life is that somebody else runs: what descends from it may not answer.
ALTER TABLE runs ADD COLUMN process TEXT;
