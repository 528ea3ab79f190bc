-- Values derived from the raw outputs of trials; they can be derived again.

CREATE TABLE measurement (
    experiment BIGINT NOT NULL,
    cell BIGINT NOT NULL,
    round BIGINT NOT NULL,
    arm BIGINT NOT NULL,
    metric TEXT NOT NULL,
    -- in the unit of the metric
    value DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (experiment, cell, round, arm, metric),
    FOREIGN KEY (experiment, cell, round, arm) REFERENCES trial (experiment, cell, round, arm)
);
