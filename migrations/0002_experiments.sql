-- Experiments with their cells, jobs and trials. Ids are the integers of x12, x12.c3, x12.j7, x12.c3.r5.a1.

CREATE TABLE experiment (
    id BIGINT PRIMARY KEY NOT NULL,
    -- JSON: Experiment
    definition TEXT NOT NULL,
    -- JSON: Workload by name
    workloads TEXT NOT NULL,
    -- the bits of a u64
    seed BIGINT NOT NULL,
    state TEXT NOT NULL,
    submitter TEXT NOT NULL,
    created BIGINT NOT NULL,
    started BIGINT,
    finished BIGINT,
    -- JSON: list of Impossible
    impossible TEXT NOT NULL,
    file_name TEXT NOT NULL,
    file_text TEXT NOT NULL
);

CREATE INDEX experiment_state ON experiment (state, id);

CREATE TABLE cell (
    experiment BIGINT NOT NULL REFERENCES experiment (id),
    number BIGINT NOT NULL,
    -- JSON: Cell
    definition TEXT NOT NULL,
    PRIMARY KEY (experiment, number)
);

CREATE TABLE job (
    experiment BIGINT NOT NULL REFERENCES experiment (id),
    number BIGINT NOT NULL,
    host TEXT NOT NULL,
    -- JSON: Kernel
    kernel TEXT NOT NULL,
    round BIGINT NOT NULL,
    state TEXT NOT NULL,
    -- both set while leased
    lease_host TEXT,
    lease_until BIGINT,
    PRIMARY KEY (experiment, number)
);

-- The next queued job of a host is the first entry of its range; all leased jobs are one range too.
CREATE INDEX job_queue ON job (state, host, experiment, round, number);

CREATE TABLE trial (
    experiment BIGINT NOT NULL,
    cell BIGINT NOT NULL,
    round BIGINT NOT NULL,
    arm BIGINT NOT NULL,
    job BIGINT NOT NULL,
    -- place in the job
    position BIGINT NOT NULL,
    -- the bits of a u64
    seed BIGINT NOT NULL,
    state TEXT NOT NULL,
    -- JSON: Failure, while failed
    failure TEXT,
    -- attempts begun
    attempt BIGINT NOT NULL,
    started BIGINT,
    ended BIGINT,
    -- JSON: TrialDetails of the last report
    details TEXT,
    PRIMARY KEY (experiment, cell, round, arm),
    UNIQUE (experiment, job, position),
    FOREIGN KEY (experiment, cell) REFERENCES cell (experiment, number),
    FOREIGN KEY (experiment, job) REFERENCES job (experiment, number)
);

CREATE INDEX trial_state ON trial (experiment, state);

-- Every report that came in, also those that did not count.
CREATE TABLE attempt (
    experiment BIGINT NOT NULL,
    cell BIGINT NOT NULL,
    round BIGINT NOT NULL,
    arm BIGINT NOT NULL,
    attempt BIGINT NOT NULL,
    -- JSON: Outcome
    outcome TEXT NOT NULL,
    started BIGINT NOT NULL,
    ended BIGINT NOT NULL,
    -- JSON: TrialDetails
    details TEXT NOT NULL,
    PRIMARY KEY (experiment, cell, round, arm, attempt),
    FOREIGN KEY (experiment, cell, round, arm) REFERENCES trial (experiment, cell, round, arm)
);
