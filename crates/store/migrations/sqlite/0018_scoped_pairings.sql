-- A one-time code can be for one workspace, as the token that comes of it.
ALTER TABLE pairings ADD COLUMN workspace TEXT REFERENCES workspaces (id);
