INSERT INTO kernel (name, id, definition, created)
VALUES
    ('debian-6.1', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', '{"name":"debian-6.1","id":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","release":"6.1.0-40-amd64","build_id":"0123456789abcdef0123456789abcdef01234567","source":{"from":"package","package":"linux-image-6.1.0-40-amd64","version":"6.1.153-1"},"toolchain":"gcc-12","image":{"sha256":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","bytes":8000000},"modules":null,"config":null,"log":null,"created":1000}', 1000);

INSERT INTO build (id, kernel, request, submitter, state, state_details, lease_host, lease_until, attempt, log, created, started, finished)
VALUES
    (1, 'patched', '{"name":"patched","repo":"/srv/linux.git","commit":"v6.1","patches":[],"base":{"target":"tinyconfig"},"fragments":[],"salt":null}', 'someone', 'building', '{"state":"leased","host":"lab-1","until":47000}', 'lab-1', 47000, 1, NULL, 1000, 2000, NULL);
