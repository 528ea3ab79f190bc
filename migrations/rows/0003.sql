-- A value. Test data: inserted after migration 3, read at the end of all migrations.

INSERT INTO measurement (experiment, cell, round, arm, metric, value) VALUES
    (1, 0, 0, 0, 'rate', 12345678.5);
