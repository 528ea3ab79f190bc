-- Hosts as migration 1 knows them. Test data: inserted after migration 1, read at the end of all migrations.

INSERT INTO meta (key, value) VALUES
    ('lab', 'old');

INSERT INTO host (name, facts, health, health_reason, enrolled, last_seen, incarnation, token_sha256, job_experiment, job_number, phase) VALUES
    ('lab-1', '{"kernel_release":"6.18.1","kernel_version":"","machine":"x86_64","cpus":4,"cpu_model":"","memory_bytes":8589934592,"os":"","command_line":"","agent_version":"","tools":["dd","fio","mkfs.ext4","mkfs.xfs"],"cgroup":""}', 'healthy', NULL, 0, 0, 'machine.1', '5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e', 1, 1, 'x1.c0.r1.a0 workload'),
    ('lab-2', '{"kernel_release":"6.18.1","kernel_version":"","machine":"x86_64","cpus":4,"cpu_model":"","memory_bytes":8589934592,"os":"","command_line":"","agent_version":"","tools":["dd","fio","mkfs.ext4","mkfs.xfs"],"cgroup":""}', 'dirty', 'umount: it''s busy', 0, 0, 'machine.1', '5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e', NULL, NULL, NULL);

INSERT INTO disk (host, id, position, class, facts, health, health_reason) VALUES
    ('lab-1', 'loop-sata-hdd', 0, 'sata-hdd', '{"kernel_name":"loop8","transport":"loop","rotational":false,"queue_depth":null,"size_bytes":1073741824,"logical_block_bytes":512,"model":"","firmware":"","serial":"","schedulers":["none","mq-deadline","kyber","bfq"],"scheduler":null,"tunables":{},"limits":""}', 'usable', NULL),
    ('lab-2', 'loop-ssd', 0, 'ssd', '{"kernel_name":"loop8","transport":"loop","rotational":false,"queue_depth":null,"size_bytes":1073741824,"logical_block_bytes":512,"model":"","firmware":"","serial":"","schedulers":["none","mq-deadline","kyber","bfq"],"scheduler":null,"tunables":{},"limits":""}', 'quarantined', 'slow');
