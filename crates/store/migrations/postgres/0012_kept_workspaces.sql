-- Workspaces that somebody added while a server ran: the next server serves them too.
ALTER TABLE workspaces ADD COLUMN kept BIGINT NOT NULL DEFAULT 0;
