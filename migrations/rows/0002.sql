-- An experiment in the middle of its life. Test data: inserted after migration 2, read at the end of all migrations.

INSERT INTO experiment (id, definition, workloads, seed, state, submitter, created, started, finished, impossible, file_name, file_text) VALUES
    (1, '{"name":"bfq-question","title":"Is bfq slower than none?","question":"","source":"","compare":"scheduler","baseline":"none","rounds":3,"seed":null,"aa_cells":0,"matrix":{"kernels":["as-booted"],"schedulers":[{"name":"none","tunables":{},"label":"none"},{"name":"bfq","tunables":{},"label":"bfq"}],"tunables":[{"values":{},"label":"default"}],"filesystems":[{"label":"ext4","format":{"use":"made","type":"ext4","mkfs":[],"mount":""}}],"disk_classes":["sata-hdd"],"workloads":["reader"],"parameters":{}},"parameters":{},"parameters_by_disk_class":{},"alpha":0.05}', '{"reader":{"name":"reader","version":1,"title":"One reader","description":"","needs":{"tools":["dd"],"target":"mounted","space":["{size}"]},"parameters":{"size":{"default":"8 MiB","help":"size of the file"}},"prepare":[{"name":"prepare-1","command":{"builtin":{"name":"write-file","with":{"path":"{dir}/a","size":"{size}"}}},"io_priority":null,"timeout_s":600}],"background":[],"tasks":[{"name":"reader","command":{"argv":["dd","if={dir}/a","of=/dev/null","bs=1M"]},"io_priority":null,"timeout_s":600}],"metrics":[{"name":"rate","source":{"parsed":{"load":"reader","parser":"dd","field":"bytes_per_second"}},"unit":"B/s","better":"higher","smallest_effect_pct":5.0,"role":"primary"},{"name":"time","source":{"elapsed":{"load":"reader"}},"unit":"s","better":"lower","smallest_effect_pct":5.0,"role":"explaining"}]}}', -2, 'running', 'someone', 1000, 2000, NULL, '[]', 'experiment.toml', '
name = "bfq-question"
title = "Is bfq slower than none?"
compare = "scheduler"
rounds = 6

[matrix]
scheduler = ["none", "bfq"]
filesystem = ["ext4"]
disk_class = ["sata-hdd"]
workload = ["reader"]
');

INSERT INTO cell (experiment, number, definition) VALUES
    (1, 0, '{"number":0,"kind":"compare","workload":"reader","disk_class":"sata-hdd","host":"lab-1","disk":"loop-sata-hdd","labels":{},"arms":[{"label":"none","setting":{"kernel":"as-booted","scheduler":{"name":"none","tunables":{},"label":"none"},"tunables":{"values":{},"label":"default"},"filesystem":{"label":"ext4","format":{"use":"made","type":"ext4","mkfs":[],"mount":""}},"parameters":{}}},{"label":"bfq","setting":{"kernel":"as-booted","scheduler":{"name":"bfq","tunables":{},"label":"bfq"},"tunables":{"values":{},"label":"default"},"filesystem":{"label":"ext4","format":{"use":"made","type":"ext4","mkfs":[],"mount":""}},"parameters":{}}}]}');

INSERT INTO job (experiment, number, host, kernel, round, state, lease_host, lease_until) VALUES
    (1, 0, 'lab-1', '"as-booted"', 0, 'done', NULL, NULL),
    (1, 1, 'lab-1', '"as-booted"', 1, 'leased', 'lab-1', 47000),
    (1, 2, 'lab-1', '"as-booted"', 2, 'queued', NULL, NULL);

INSERT INTO trial (experiment, cell, round, arm, job, position, seed, state, failure, attempt, started, ended, details) VALUES
    (1, 0, 0, 1, 0, 0, 2820640648585961889, 'failed', '{"fault":"workload","step":"task reader","message":"exit status 1"}', 1, 2100, 2900, '{"phases":[["mkfs",12],["workload",700]],"window_ms":[100,800],"elapsed_s":{"reader":0.7},"environment":[["uname","6.18.1"]],"outputs":[{"name":"reader.err","sha256":"abababababababababababababababababababababababababababababababab","bytes":80,"truncated_bytes":0}],"cpu":{"user_pct":1.5,"system_pct":2.5,"iowait_pct":90.0},"warnings":["one line is cut"]}'),
    (1, 0, 0, 0, 0, 1, 2820640648585961889, 'completed', NULL, 1, 2100, 2900, '{"phases":[["mkfs",12],["workload",700]],"window_ms":[100,800],"elapsed_s":{"reader":0.7},"environment":[["uname","6.18.1"]],"outputs":[{"name":"reader.err","sha256":"abababababababababababababababababababababababababababababababab","bytes":80,"truncated_bytes":0}],"cpu":{"user_pct":1.5,"system_pct":2.5,"iowait_pct":90.0},"warnings":["one line is cut"]}'),
    (1, 0, 1, 1, 1, 0, 5824148583555332031, 'queued', NULL, 0, NULL, NULL, NULL),
    (1, 0, 1, 0, 1, 1, 5824148583555332031, 'running', NULL, 1, NULL, NULL, NULL),
    (1, 0, 2, 1, 2, 0, 8418048133726769650, 'queued', NULL, 0, NULL, NULL, NULL),
    (1, 0, 2, 0, 2, 1, 8418048133726769650, 'queued', NULL, 0, NULL, NULL, NULL);

INSERT INTO attempt (experiment, cell, round, arm, attempt, outcome, started, ended, details) VALUES
    (1, 0, 0, 0, 1, '{"result":"completed"}', 2100, 2900, '{"phases":[["mkfs",12],["workload",700]],"window_ms":[100,800],"elapsed_s":{"reader":0.7},"environment":[["uname","6.18.1"]],"outputs":[{"name":"reader.err","sha256":"abababababababababababababababababababababababababababababababab","bytes":80,"truncated_bytes":0}],"cpu":{"user_pct":1.5,"system_pct":2.5,"iowait_pct":90.0},"warnings":["one line is cut"]}'),
    (1, 0, 0, 1, 1, '{"result":"failed","fault":"workload","step":"task reader","message":"exit status 1"}', 2100, 2900, '{"phases":[["mkfs",12],["workload",700]],"window_ms":[100,800],"elapsed_s":{"reader":0.7},"environment":[["uname","6.18.1"]],"outputs":[{"name":"reader.err","sha256":"abababababababababababababababababababababababababababababababab","bytes":80,"truncated_bytes":0}],"cpu":{"user_pct":1.5,"system_pct":2.5,"iowait_pct":90.0},"warnings":["one line is cut"]}');
