//! A PostgreSQL server for one test process, and a database in it for one test.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use sqlx::{AssertSqlSafe, Connection, PgConnection};

/// A server that runs.
#[derive(Debug)]
pub(super) struct Server {
    /// A database of it that one may connect to in order to make others.
    url: String,
    /// The script that runs it. It ends when its standard input is closed, which the system does however this process ends.
    _script: Option<Child>,
}

/// The server of this process, started when it is first asked for.
pub(super) fn server() -> Option<&'static Server> {
    static SERVER: OnceLock<Option<Server>> = OnceLock::new();
    SERVER.get_or_init(find_or_start).as_ref()
}

fn find_or_start() -> Option<Server> {
    if let Ok(url) = std::env::var("BLKLAB_TEST_POSTGRES") {
        return Some(Server { url, _script: None });
    }
    let Some(programs) = programs() else {
        let reason = "no PostgreSQL is installed (Debian: apt-get install postgresql) and BLKLAB_TEST_POSTGRES names no server";
        assert!(std::env::var_os("BLKLAB_REQUIRE_POSTGRES").is_none_or(|value| value != "1"), "{reason}");
        // Written past the capture of the test harness, which would swallow it.
        let _ = writeln!(std::io::stderr(), "skipped the PostgreSQL half of the store tests: {reason}");
        return None;
    };
    Some(start(&programs))
}

/// The folder of the newest installed server. Debian keeps it out of the PATH.
fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let debian = versions.filter_map(|entry| Some((entry.file_name().to_str()?.parse::<u32>().ok()?, entry.path().join("bin"))));
    let newest = debian.filter(|(_, folder)| folder.join("initdb").exists()).max();
    let in_path = || std::env::split_paths(&std::env::var_os("PATH")?).find(|folder| folder.join("initdb").exists());
    newest.map(|(_, folder)| folder).or_else(in_path)
}

/// Runs a server on a socket in a folder of its own, without TCP and without syncing, until standard input ends.
const SCRIPT: &str = r#"
set -e
trap '' INT TERM HUP
folder=$(mktemp -d /tmp/blklab-postgres.XXXXXX)
trap 'rm -rf "$folder"' EXIT
log="$folder/log"
"$1/initdb" -D "$folder/data" -U blklab -A trust -E UTF8 --locale=C --no-sync >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
"$1/postgres" -D "$folder/data" -k "$folder" -c listen_addresses= -c max_connections=200 \
    -c fsync=off -c full_page_writes=off -c synchronous_commit=off </dev/null >>"$log" 2>&1 &
server=$!
tries=0
until "$1/pg_isready" -q -h "$folder"; do
    tries=$((tries + 1))
    [ "$tries" -lt 300 ] || { cat "$log" >&2; kill -QUIT "$server"; exit 1; }
    sleep 0.1
done
echo "$folder"
read -r _ || :
kill -QUIT "$server"
wait "$server" || :
"#;

fn start(programs: &std::path::Path) -> Server {
    let mut command = shell();
    command.args(["sh", "-c", SCRIPT, "sh"]).arg(programs).current_dir("/");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a shell for PostgreSQL");
    let mut folder = String::new();
    let stdout = child.stdout.take().expect("a pipe was asked for");
    BufReader::new(stdout).read_line(&mut folder).expect("the folder of PostgreSQL");
    if folder.is_empty() {
        let mut reason = String::new();
        let _ = child.stderr.take().expect("a pipe was asked for").read_to_string(&mut reason);
        panic!("PostgreSQL of {} does not start:\n{reason}", programs.display());
    }
    Server { url: format!("postgres://blklab@localhost/postgres?host={}", folder.trim_end()), _script: Some(child) }
}

/// PostgreSQL refuses to run as root: then its own user, or nobody, runs it.
#[expect(clippy::disallowed_methods, reason = "tests start their own server")]
fn shell() -> Command {
    let is_root = fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    let account = ["postgres", "nobody"].into_iter().find_map(account).filter(|_| is_root);
    match account {
        None => Command::new("env"),
        Some((uid, gid)) => {
            let mut command = Command::new("setpriv");
            command.args([format!("--reuid={uid}"), format!("--regid={gid}"), "--clear-groups".to_owned()]);
            command
        }
    }
}

/// User and group id in passwd(5).
fn account(name: &str) -> Option<(u32, u32)> {
    let passwd = fs::read_to_string("/etc/passwd").ok()?;
    let fields = passwd.lines().map(|line| line.split(':').collect::<Vec<_>>()).find(|fields| fields.first() == Some(&name))?;
    Some((fields.get(2)?.parse().ok()?, fields.get(3)?.parse().ok()?))
}

/// A database of one test.
#[derive(Debug)]
pub(super) struct Database {
    server: &'static Server,
    name: String,
}

impl Database {
    pub(super) async fn create(server: &'static Server) -> Database {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("blklab_test_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        server.run(format!("CREATE DATABASE {name}")).await;
        Database { server, name }
    }

    pub(super) fn url(&self) -> String {
        with_database(&self.server.url, &self.name)
    }
}

impl Drop for Database {
    /// A thread of its own, since the runtime of the test cannot be waited for in here, and the test may be panicking.
    fn drop(&mut self) {
        let statement = format!("DROP DATABASE {} WITH (FORCE)", self.name);
        let server = self.server;
        let dropped = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(server.run(statement));
        });
        if dropped.join().is_err() && !std::thread::panicking() {
            panic!("database {} cannot be dropped", self.name);
        }
    }
}

impl Server {
    async fn run(&self, statement: String) {
        let mut connection = PgConnection::connect(&self.url).await.expect("the test server of PostgreSQL answers");
        sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut connection).await.expect("the test user may make databases");
        connection.close().await.expect("an idle connection closes");
    }
}

/// `url` with another database.
fn with_database(url: &str, name: &str) -> String {
    let (address, parameters) = url.split_once('?').map_or((url, String::new()), |(address, rest)| (address, format!("?{rest}")));
    let (scheme, rest) = address.split_once("://").expect("a URL of PostgreSQL");
    let server = rest.split_once('/').map_or(rest, |(server, _)| server);
    format!("{scheme}://{server}/{name}{parameters}")
}

#[cfg(test)]
mod tests {
    use super::with_database;

    #[test]
    fn the_database_of_a_url_is_replaced() {
        assert_eq!(with_database("postgres://u:p@h:1/a?x=/y", "b"), "postgres://u:p@h:1/b?x=/y");
        assert_eq!(with_database("postgres://h", "b"), "postgres://h/b");
    }
}
