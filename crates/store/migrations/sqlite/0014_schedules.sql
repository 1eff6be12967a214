-- Scheduled prompts, each as JSON: what the configuration says of it, how far it is dealt with, and how the last one went.
CREATE TABLE schedules (
    name TEXT NOT NULL PRIMARY KEY,
    body TEXT NOT NULL
) STRICT;
