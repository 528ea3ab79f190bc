-- Kernels that the lab keeps, and their builds. Files are in the artifact store; rows hold digests.

CREATE TABLE kernel (
    name TEXT PRIMARY KEY NOT NULL,
    -- signature: 64 hexadecimal digits; two names may share it
    id TEXT NOT NULL,
    -- JSON: KernelRecord
    definition TEXT NOT NULL,
    created BIGINT NOT NULL
);

CREATE INDEX kernel_id ON kernel (id);

CREATE TABLE build (
    id BIGINT PRIMARY KEY NOT NULL,
    -- name of the kernel that it gives
    kernel TEXT NOT NULL,
    -- JSON: BuildRequest
    request TEXT NOT NULL,
    submitter TEXT NOT NULL,
    -- queued, building, built, failed, cancelled
    state TEXT NOT NULL,
    -- JSON: BuildState
    state_details TEXT NOT NULL,
    -- while building
    lease_host TEXT,
    lease_until BIGINT,
    attempt BIGINT NOT NULL,
    -- JSON: Blob of the last log
    log TEXT,
    created BIGINT NOT NULL,
    started BIGINT,
    finished BIGINT
);

CREATE INDEX build_queue ON build (state, id);

-- JSON: KernelRecord by name, as it was at submission
ALTER TABLE experiment ADD COLUMN kernels TEXT NOT NULL DEFAULT '{}';

-- JSON: LastBoot, as the last heartbeat said
ALTER TABLE host ADD COLUMN last_boot TEXT;

-- the kernel build it works on, as the last heartbeat said
ALTER TABLE host ADD COLUMN build BIGINT;
