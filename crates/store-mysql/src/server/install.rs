//! Finds a MariaDB server on this machine, or unpacks Debian's packages into a cache folder. Changes nothing outside that
//! folder and needs no privileges.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Libraries that the server needs and a minimal machine may lack.
const LIBRARIES: &[&str] =
    &["liburing2", "libnuma1", "libpcre2-8-0", "libssl3", "libsystemd0", "libcrypt1", "zlib1g", "libaio1"];

/// An installed server.
#[derive(Debug, Clone)]
pub(super) struct MariaDbProgram {
    pub(super) server: PathBuf,
    /// The folder that contains `share`.
    pub(super) base: PathBuf,
    /// Folders of libraries that the machine itself may lack.
    pub(super) libraries: Vec<PathBuf>,
    /// A data folder that contains only the system tables.
    pub(super) blank_data: PathBuf,
}

/// Finds or downloads the server. The first call on a machine takes a while, and concurrent calls wait for it.
pub(super) fn find_or_install() -> io::Result<MariaDbProgram> {
    let cache = cache_folder();
    fs::create_dir_all(&cache)?;
    let lock = File::create(cache.join("lock"))?;
    lock.lock()?;
    let mut program = match find_installed() {
        Some(program) => program,
        None => install_packages(&cache)?,
    };
    program.blank_data = cache.join(format!("blank-{}", program_version(&program)?));
    if !program.blank_data.join("done").exists() {
        create_blank_data(&program)?;
    }
    Ok(program)
}

/// The Galera library, which connects several servers into a cluster.
pub(super) fn galera_library() -> io::Result<PathBuf> {
    let system = ["/usr/lib/galera/libgalera_smm.so", "/usr/lib/libgalera_smm.so"];
    if let Some(library) = system.into_iter().map(PathBuf::from).find(|library| library.exists()) {
        return Ok(library);
    }
    let cache = cache_folder();
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

/// A folder that persists between test runs: inside cargo's target folder, which is marked as a cache.
fn cache_folder() -> PathBuf {
    let marked = |folder: &&Path| folder.join("CACHEDIR.TAG").exists();
    let own = std::env::current_exe().unwrap_or_default();
    let target = own.ancestors().find(marked).map(Path::to_owned);
    target.unwrap_or_else(std::env::temp_dir).join("mariadb")
}

fn find_installed() -> Option<MariaDbProgram> {
    let path = std::env::var_os("PATH")?;
    let more = ["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from);
    let mut folders = std::env::split_paths(&path).chain(more);
    let server = folders.find_map(|folder| Some(folder.join("mariadbd")).filter(|file| file.exists()))?;
    let base = server.parent()?.parent()?.to_owned();
    share_folder(&base)?;
    Some(MariaDbProgram { server, base, libraries: Vec::new(), blank_data: PathBuf::new() })
}

fn share_folder(base: &Path) -> Option<PathBuf> {
    let folders = ["share/mysql", "share/mariadb"].map(|name| base.join(name));
    folders.into_iter().find(|folder| folder.join("mysql_system_tables.sql").exists())
}

fn install_packages(cache: &Path) -> io::Result<MariaDbProgram> {
    let root = cache.join("root");
    let base = root.join("usr");
    let libraries: Vec<PathBuf> = ["usr/lib", "lib"]
        .iter()
        .map(|folder| root.join(folder).join(format!("{}-linux-gnu", std::env::consts::ARCH)))
        .collect();
    let program =
        MariaDbProgram { server: base.join("sbin/mariadbd"), base, libraries, blank_data: PathBuf::new() };
    if !root.join("done").exists() {
        let packages = cache.join("packages");
        fs::create_dir_all(&packages)?;
        download(&packages, &["mariadb-server-core"])?;
        unpack(&packages, &root)?;
        if !can_start(&program) {
            for library in LIBRARIES {
                // If a library is still missing, the server reports it below.
                let _ = download(&packages, &[library]);
            }
            unpack(&packages, &root)?;
        }
        program_version(&program)?;
        fs::remove_dir_all(&packages)?;
        File::create(root.join("done"))?;
    }
    Ok(program)
}

fn download(into: &Path, packages: &[&str]) -> io::Result<()> {
    let mut plain = Command::new("apt-get");
    plain.current_dir(into).arg("download").args(packages);
    if run_checked(&mut plain).is_ok() {
        return Ok(());
    }
    // The package lists may be empty or outdated, and updating them may require privileges, so use private ones.
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
    run_checked(&mut own("update"))?;
    run_checked(own("download").args(packages))
}

fn unpack(packages: &Path, root: &Path) -> io::Result<()> {
    fs::create_dir_all(root)?;
    for file in fs::read_dir(packages)? {
        let file = file?.path();
        if file.extension().is_some_and(|ending| ending == "deb") {
            run_checked(Command::new("dpkg-deb").arg("-x").arg(&file).arg(root))?;
        }
    }
    Ok(())
}

impl MariaDbProgram {
    /// The command that runs the server, without its options.
    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(&self.server);
        let theirs = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        let all = self.libraries.iter().cloned().chain(std::env::split_paths(&theirs));
        if let Ok(all) = std::env::join_paths(all) {
            command.env("LD_LIBRARY_PATH", all);
        }
        command.arg("--no-defaults").arg(format!("--basedir={}", self.base.display()));
        if let Some(share) = share_folder(&self.base) {
            command.arg(format!("--lc-messages-dir={}", share.display()));
        }
        // Required to run as root; ignored for other users.
        command.arg("--user=root");
        command
    }
}

fn can_start(program: &MariaDbProgram) -> bool {
    program_version(program).is_ok()
}

/// The version number, such as `10.11.14`.
fn program_version(program: &MariaDbProgram) -> io::Result<String> {
    let output = run_for_output(program.command().arg("--version"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let number = text.split_whitespace().skip_while(|word| *word != "Ver").nth(1);
    let number = number.and_then(|word| word.split('-').next());
    number.map(String::from).ok_or_else(|| io::Error::other(format!("no version in {text:?}")))
}

/// Creates the data folder that is copied for each server.
fn create_blank_data(program: &MariaDbProgram) -> io::Result<()> {
    let _ = fs::remove_dir_all(&program.blank_data);
    fs::create_dir_all(&program.blank_data)?;
    let share = share_folder(&program.base)
        .ok_or_else(|| io::Error::other("the system table scripts of the server are missing"))?;
    let script = program.blank_data.join("tables.sql");
    let mut text = b"create database mysql;\nuse mysql;\nset @auth_root_socket=NULL;\n".to_vec();
    for part in ["mysql_system_tables.sql", "mysql_performance_tables.sql", "mysql_system_tables_data.sql"] {
        text.extend(fs::read(share.join(part))?);
    }
    fs::write(&script, text)?;
    let mut server = program.command();
    server.args(["--bootstrap", "--innodb-log-file-size=16M", "--skip-log-bin"]);
    server.arg(format!("--datadir={}", program.blank_data.display())).stdin(File::open(&script)?);
    run_checked(&mut server)?;
    fs::remove_file(script)?;
    File::create(program.blank_data.join("done"))?;
    Ok(())
}

fn run_for_output(command: &mut Command) -> io::Result<Output> {
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

fn run_checked(command: &mut Command) -> io::Result<()> {
    run_for_output(command).map(drop)
}
