//! Finds MariaDB's server on this machine, or unpacks Debian's packages of it into a folder of its own. Changes nothing
//! outside that folder and needs no rights.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// What the server needs and a small machine may not have.
const LIBRARIES: &[&str] =
    &["liburing2", "libnuma1", "libpcre2-8-0", "libssl3", "libsystemd0", "libcrypt1", "zlib1g", "libaio1"];

/// A server that can be started.
#[derive(Debug, Clone)]
pub(super) struct Program {
    pub(super) server: PathBuf,
    /// Where its `share` folder lies.
    pub(super) base: PathBuf,
    /// Folders of libraries that the machine itself may not have.
    pub(super) libraries: Vec<PathBuf>,
    /// A data folder with the system's tables and nothing else.
    pub(super) blank: PathBuf,
}

/// Finds or fetches the server; the first call on a machine takes a while, and others wait for it.
pub(super) fn program() -> io::Result<Program> {
    let cache = cache();
    fs::create_dir_all(&cache)?;
    let lock = File::create(cache.join("lock"))?;
    lock.lock()?;
    let mut program = match installed() {
        Some(program) => program,
        None => unpacked(&cache)?,
    };
    program.blank = cache.join(format!("blank-{}", version(&program)?));
    if !program.blank.join("done").exists() {
        make_blank(&program)?;
    }
    Ok(program)
}

/// Galera's library, which makes a cluster of several servers.
pub(super) fn galera() -> io::Result<PathBuf> {
    let system = ["/usr/lib/galera/libgalera_smm.so", "/usr/lib/libgalera_smm.so"];
    if let Some(library) = system.into_iter().map(PathBuf::from).find(|library| library.exists()) {
        return Ok(library);
    }
    let cache = cache();
    fs::create_dir_all(&cache)?;
    let lock = File::create(cache.join("lock"))?;
    lock.lock()?;
    let (root, packages) = (cache.join("galera"), cache.join("galera-packages"));
    let library = root.join("usr/lib/libgalera_smm.so");
    if !root.join("done").exists() {
        fs::create_dir_all(&packages)?;
        download(&packages, &["galera-4"])?;
        unpack(&packages, &root)?;
        fs::remove_dir_all(&packages)?;
        File::create(root.join("done"))?;
    }
    Ok(library)
}

/// A folder that survives a test run: inside cargo's own, which is marked as a cache.
fn cache() -> PathBuf {
    let marked = |folder: &&Path| folder.join("CACHEDIR.TAG").exists();
    let own = std::env::current_exe().unwrap_or_default();
    let target = own.ancestors().find(marked).map(Path::to_owned);
    target.unwrap_or_else(std::env::temp_dir).join("mariadb")
}

fn installed() -> Option<Program> {
    let path = std::env::var_os("PATH")?;
    let more = ["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from);
    let mut folders = std::env::split_paths(&path).chain(more);
    let server = folders.find_map(|folder| Some(folder.join("mariadbd")).filter(|file| file.exists()))?;
    let base = server.parent()?.parent()?.to_owned();
    share(&base)?;
    Some(Program { server, base, libraries: Vec::new(), blank: PathBuf::new() })
}

fn share(base: &Path) -> Option<PathBuf> {
    let folders = ["share/mysql", "share/mariadb"].map(|name| base.join(name));
    folders.into_iter().find(|folder| folder.join("mysql_system_tables.sql").exists())
}

fn unpacked(cache: &Path) -> io::Result<Program> {
    let root = cache.join("root");
    let base = root.join("usr");
    let libraries: Vec<PathBuf> = ["usr/lib", "lib"]
        .iter()
        .map(|folder| root.join(folder).join(format!("{}-linux-gnu", std::env::consts::ARCH)))
        .collect();
    let program = Program { server: base.join("sbin/mariadbd"), base, libraries, blank: PathBuf::new() };
    if !root.join("done").exists() {
        let packages = cache.join("packages");
        fs::create_dir_all(&packages)?;
        download(&packages, &["mariadb-server-core"])?;
        unpack(&packages, &root)?;
        if !starts(&program) {
            for library in LIBRARIES {
                // The server says by itself which one it misses, if it does.
                let _ = download(&packages, &[library]);
            }
            unpack(&packages, &root)?;
        }
        version(&program)?;
        fs::remove_dir_all(&packages)?;
        File::create(root.join("done"))?;
    }
    Ok(program)
}

fn download(into: &Path, packages: &[&str]) -> io::Result<()> {
    let mut plain = Command::new("apt-get");
    plain.current_dir(into).arg("download").args(packages);
    if checked(&mut plain).is_ok() {
        return Ok(());
    }
    // A machine whose lists of packages are empty or old, and maybe without the right to renew them.
    let state = into.join("state");
    fs::create_dir_all(state.join("lists/partial"))?;
    fs::create_dir_all(state.join("archives/partial"))?;
    let own = |action: &str| {
        let mut apt = Command::new("apt-get");
        apt.current_dir(into).args(["-o", "Debug::NoLocking=1", "-o", "APT::Sandbox::User=root"]);
        apt.arg("-o").arg(format!("Dir::State::lists={}", state.join("lists").display()));
        apt.arg("-o").arg(format!("Dir::Cache={}", state.display()));
        apt.arg(action);
        apt
    };
    checked(&mut own("update"))?;
    checked(own("download").args(packages))
}

fn unpack(packages: &Path, root: &Path) -> io::Result<()> {
    fs::create_dir_all(root)?;
    for file in fs::read_dir(packages)? {
        let file = file?.path();
        if file.extension().is_some_and(|ending| ending == "deb") {
            checked(Command::new("dpkg-deb").arg("-x").arg(&file).arg(root))?;
        }
    }
    Ok(())
}

impl Program {
    /// The server, to be given its options.
    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(&self.server);
        let theirs = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        let all = self.libraries.iter().cloned().chain(std::env::split_paths(&theirs));
        if let Ok(all) = std::env::join_paths(all) {
            command.env("LD_LIBRARY_PATH", all);
        }
        command.arg("--no-defaults").arg(format!("--basedir={}", self.base.display()));
        if let Some(share) = share(&self.base) {
            command.arg(format!("--lc-messages-dir={}", share.display()));
        }
        // It refuses to be started by root unless told so; for others the name means nothing.
        command.arg("--user=root");
        command
    }
}

fn starts(program: &Program) -> bool {
    version(program).is_ok()
}

/// `10.11.14`.
fn version(program: &Program) -> io::Result<String> {
    let told = output(program.command().arg("--version"))?;
    let text = String::from_utf8_lossy(&told.stdout).into_owned();
    let number = text.split_whitespace().skip_while(|word| *word != "Ver").nth(1);
    let number = number.and_then(|word| word.split('-').next());
    number.map(String::from).ok_or_else(|| io::Error::other(format!("no version in {text:?}")))
}

/// Makes a data folder that is copied for each server.
fn make_blank(program: &Program) -> io::Result<()> {
    let _ = fs::remove_dir_all(&program.blank);
    fs::create_dir_all(&program.blank)?;
    let share = share(&program.base).ok_or_else(|| io::Error::other("the server's tables are missing"))?;
    let script = program.blank.join("tables.sql");
    let mut text = b"create database mysql;\nuse mysql;\nset @auth_root_socket=NULL;\n".to_vec();
    for part in ["mysql_system_tables.sql", "mysql_performance_tables.sql", "mysql_system_tables_data.sql"] {
        text.extend(fs::read(share.join(part))?);
    }
    fs::write(&script, text)?;
    let mut server = program.command();
    server.args(["--bootstrap", "--innodb-log-file-size=16M", "--skip-log-bin"]);
    server.arg(format!("--datadir={}", program.blank.display())).stdin(File::open(&script)?);
    checked(&mut server)?;
    fs::remove_file(script)?;
    File::create(program.blank.join("done"))?;
    Ok(())
}

fn output(command: &mut Command) -> io::Result<Output> {
    let done = command.stdout(Stdio::piped()).stderr(Stdio::piped()).output()?;
    match done.status.success() {
        true => Ok(done),
        false => Err(io::Error::other(format!(
            "{} failed: {}",
            command.get_program().to_string_lossy(),
            String::from_utf8_lossy(&done.stderr)
        ))),
    }
}

fn checked(command: &mut Command) -> io::Result<()> {
    output(command).map(drop)
}
