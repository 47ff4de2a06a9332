//! A private MariaDB server for tests and benchmarks. It has its own folder and a free local port, and is removed when this
//! process ends, even if it is killed.

mod certificates;
mod cluster;
mod install;

use std::fs;
use std::io::{self, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

pub use cluster::GaleraCluster;
use install::MariaDbProgram;

/// The password of the user `osier`. Tests check that it does not leak.
pub const PASSWORD: &str = "pass-4711-word";

/// How long a server may take to start, recover, or stop.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// Starts the server, waits for the end of its standard input, and kills the server. Unless the input was `keep`, the parent
/// process has died, and the data are deleted as well.
const GUARD_SCRIPT: &str = r#"folder=$1; shift
"$@" >"$folder/out.log" 2>&1 </dev/null &
word=$(cat)
kill -9 $! 2>/dev/null; wait $! 2>/dev/null
[ "$word" = keep ] || rm -rf "$folder""#;

/// A private MariaDB server.
#[derive(Debug)]
pub struct MariaDbServer {
    program: MariaDbProgram,
    folder: PathBuf,
    port: u16,
    options: Vec<String>,
    guard: Mutex<Option<Child>>,
}

impl MariaDbServer {
    /// Starts a server with extra options, such as `--max-allowed-packet=1M`.
    pub fn start(options: &[&str]) -> io::Result<MariaDbServer> {
        let server = MariaDbServer::new(install::find_or_install()?, options)?;
        server.restart()?;
        Ok(server)
    }

    /// Prepares a server with blank data, without starting it.
    fn new(program: MariaDbProgram, options: &[&str]) -> io::Result<MariaDbServer> {
        let folder = tempfile::Builder::new().prefix("osier-mariadb-").tempdir()?.keep();
        copy_folder(&program.blank_data, &folder.join("data"))?;
        certificates::write(&folder)?;
        fs::write(folder.join("users.sql"), users_sql())?;
        let port = free_port()?;
        let options = options.iter().map(ToString::to_string).collect();
        Ok(MariaDbServer { program, folder, port, options, guard: Mutex::default() })
    }

    /// The server that all tests of this process share. Each test uses its own database.
    pub fn shared() -> &'static MariaDbServer {
        static SHARED: OnceLock<MariaDbServer> = OnceLock::new();
        SHARED
            .get_or_init(|| MariaDbServer::start(&[]).expect("a private MariaDB server; see docs/stores.md"))
    }

    /// The URL of a database, with user and password.
    pub fn url(&self, database: &str) -> String {
        format!("mysql://osier:{PASSWORD}@127.0.0.1:{}/{database}", self.port)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The certificate of the authority that signed the server's certificate.
    pub fn authority(&self) -> PathBuf {
        self.folder.join("authority.pem")
    }

    /// Kills the server without a shutdown, like a power failure.
    pub fn kill(&self) -> io::Result<()> {
        let mut guard = self.guard.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(mut guard) = guard.take() else { return Ok(()) };
        if let Some(mut input) = guard.stdin.take() {
            input.write_all(b"keep")?;
        }
        guard.wait().map(drop)
    }

    /// Starts the server again after `kill`, on the same data, and waits until it responds.
    pub fn restart(&self) -> io::Result<()> {
        self.restart_with(&[])
    }

    /// Stops all threads, like a frozen virtual machine. The sockets stay open.
    pub fn freeze(&self) -> io::Result<()> {
        self.signal("-STOP")
    }

    /// Resumes a frozen server.
    pub fn thaw(&self) -> io::Result<()> {
        self.signal("-CONT")
    }

    fn signal(&self, signal: &str) -> io::Result<()> {
        let pid = fs::read_to_string(self.folder.join("pid"))?;
        match Command::new("kill").arg(signal).arg(pid.trim()).status()?.success() {
            true => Ok(()),
            false => Err(io::Error::other(format!("cannot signal process {}", pid.trim()))),
        }
    }

    fn restart_with(&self, more: &[String]) -> io::Result<()> {
        let _ = fs::remove_file(self.folder.join("pid"));
        let mut server = self.command();
        server.args(more);
        let mut guard = Command::new("sh");
        guard.arg("-c").arg(GUARD_SCRIPT).arg("guard").arg(&self.folder);
        guard.arg(server.get_program()).args(server.get_args());
        guard.envs(server.get_envs().filter_map(|(key, value)| Some((key, value?))));
        guard.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        *self.guard.lock().unwrap_or_else(PoisonError::into_inner) = Some(guard.spawn()?);
        self.wait_until_ready()
    }

    fn command(&self) -> Command {
        let file = |name: &str| self.folder.join(name).display().to_string();
        let mut server = self.program.command();
        server.arg(format!("--datadir={}", file("data"))).arg(format!("--socket={}", file("socket")));
        server.arg(format!("--pid-file={}", file("pid"))).arg(format!("--tmpdir={}", file("")));
        server.arg(format!("--init-file={}", file("users.sql"))).arg(format!("--port={}", self.port));
        server.arg(format!("--ssl-ca={}", file("authority.pem")));
        server.arg(format!("--ssl-cert={}", file("server.pem")));
        server.arg(format!("--ssl-key={}", file("server.key")));
        server.args(["--bind-address=127.0.0.1", "--innodb-buffer-pool-size=64M", "--skip-log-bin"]);
        server.args(["--innodb-log-file-size=16M", "--skip-name-resolve", "--max-connections=400"]);
        server.args(&self.options);
        // Cluster nodes look up the state transfer script in `PATH`.
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::iter::once(self.folder.clone()).chain(std::env::split_paths(&path));
        if let Ok(path) = std::env::join_paths(path) {
            server.env("PATH", path);
        }
        server
    }

    /// Waits until the server sends a greeting.
    fn wait_until_ready(&self) -> io::Result<()> {
        let started = Instant::now();
        while started.elapsed() < START_TIMEOUT {
            let greeting = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))
                .and_then(|mut stream| io::Read::read(&mut stream, &mut [0; 5]));
            if greeting.is_ok_and(|bytes| bytes > 0) {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let log = fs::read_to_string(self.folder.join("out.log")).unwrap_or_default();
        Err(io::Error::other(format!("the server did not start: {log}")))
    }
}

fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

impl Drop for MariaDbServer {
    fn drop(&mut self) {
        let _ = self.kill();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The users: `osier` for stores, `admin` with all privileges, `private` with only the required privileges and only over TLS,
/// and `reader` with read access.
fn users_sql() -> String {
    format!(
        "CREATE USER IF NOT EXISTS 'osier'@'127.0.0.1' IDENTIFIED BY '{PASSWORD}';
GRANT ALL ON `osier\\_%`.* TO 'osier'@'127.0.0.1';
CREATE USER IF NOT EXISTS 'admin'@'127.0.0.1' IDENTIFIED BY '{PASSWORD}';
GRANT ALL ON *.* TO 'admin'@'127.0.0.1' WITH GRANT OPTION;
CREATE USER IF NOT EXISTS 'private'@'127.0.0.1' IDENTIFIED BY '{PASSWORD}' REQUIRE SSL;
GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER ON `osier\\_%`.* TO 'private'@'127.0.0.1';
CREATE USER IF NOT EXISTS 'reader'@'127.0.0.1' IDENTIFIED BY '{PASSWORD}';
GRANT SELECT ON `osier\\_%`.* TO 'reader'@'127.0.0.1';
"
    )
}

fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for item in fs::read_dir(from)? {
        let item = item?;
        let target = to.join(item.file_name());
        match item.file_type()?.is_dir() {
            true => copy_folder(&item.path(), &target)?,
            false => fs::copy(item.path(), target).map(drop)?,
        }
    }
    Ok(())
}
