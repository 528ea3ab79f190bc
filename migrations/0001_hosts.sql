-- What the lab knows of itself and of its hosts.

CREATE TABLE meta (
    key TEXT PRIMARY KEY NOT NULL,
    value TEXT NOT NULL
);

CREATE TABLE host (
    name TEXT PRIMARY KEY NOT NULL,
    -- JSON: HostFacts
    facts TEXT NOT NULL,
    -- healthy, dirty, quarantined; the last two with a reason
    health TEXT NOT NULL,
    health_reason TEXT,
    enrolled BIGINT NOT NULL,
    last_seen BIGINT NOT NULL,
    -- drawn by each process of the agent
    incarnation TEXT NOT NULL,
    -- of the host's own token; the token itself is only on the host
    token_sha256 TEXT NOT NULL,
    -- what it works on, as its last heartbeat said
    job_experiment BIGINT,
    job_number BIGINT,
    phase TEXT
);

CREATE TABLE disk (
    host TEXT NOT NULL REFERENCES host (name),
    id TEXT NOT NULL,
    -- place in the host's list
    position BIGINT NOT NULL,
    class TEXT NOT NULL,
    -- JSON: DiskFacts
    facts TEXT NOT NULL,
    -- usable, refused, missing, quarantined; refused and quarantined with a reason
    health TEXT NOT NULL,
    health_reason TEXT,
    PRIMARY KEY (host, id)
);
