//! Checks the stores: whether the home folder exists, is private and writable, has free space, and supports file locks.

use std::fs::{self, File, TryLockError};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use osier_engine::ConfiguredStore;
use osier_settings::MySqlStore;
use osier_store::file::DEFAULT_NAME;
use osier_store::{SessionFilter, Store};
use rustix::fs::{Access, access};

use super::{CheckStatus, DoctorCheck};
use crate::home::Home;
use crate::layout::pluralize;

const AREA: &str = "store";
const DOCS: &str = "see docs/stores.md";
const MEGABYTE: u64 = 1 << 20;

pub(super) async fn checks(home: &Home) -> Vec<DoctorCheck> {
    let folder = &home.folder;
    if !folder.exists() {
        return vec![check_creatable(home)];
    }
    let mut checks = vec![check_writable(home)];
    checks.extend(check_free_space(folder));
    for name in ["", "sessions", "cache"] {
        checks.extend(check_folder_mode(&folder.join(name), home));
    }
    for store in home.engine.stores() {
        let listed = check_sessions(store).await;
        let is_reached = listed.status == CheckStatus::Ok;
        checks.push(listed);
        let database = home.databases.iter().find(|database| database.name() == store.name());
        if let Some(database) = database.filter(|_| is_reached) {
            checks.extend(check_servers(database).await);
        }
    }
    checks
}

fn check_creatable(home: &Home) -> DoctorCheck {
    let display_path = home.display_path(&home.folder);
    let parent = home.folder.ancestors().find(|above| above.exists()).unwrap_or(Path::new("/"));
    // Try it: permissions alone say nothing on special file systems such as /proc.
    let trial = parent.join(format!(".osier-doctor-{}", std::process::id()));
    match fs::create_dir(&trial).and_then(|()| fs::remove_dir(&trial)) {
        Ok(()) => DoctorCheck::ok(AREA, format!("{display_path} is created with the first session")),
        Err(error) => DoctorCheck::fail(
            AREA,
            format!("cannot create {display_path} in {}: {error}", home.display_path(parent)),
            "set OSIER_HOME to a folder you can write to",
        ),
    }
}

/// Appends to a file under a lock, as sessions do, and checks that a second lock is refused.
fn check_writable(home: &Home) -> DoctorCheck {
    let display_path = home.display_path(&home.folder);
    match locked_append(&home.folder) {
        Ok(true) => DoctorCheck::ok(AREA, format!("{display_path} is writable, and file locks work")),
        Ok(false) => DoctorCheck::fail(
            AREA,
            format!("file locks do not work on the file system of {display_path}"),
            "set OSIER_HOME to a local disk, or never open a session twice",
        ),
        Err(error) => DoctorCheck::fail(
            AREA,
            format!("cannot write to {display_path}: {error}"),
            "fix its permissions, or set OSIER_HOME",
        ),
    }
}

fn locked_append(folder: &Path) -> std::io::Result<bool> {
    let file = tempfile::Builder::new().prefix(".doctor-").tempfile_in(folder)?;
    let mut first = File::options().append(true).open(file.path())?;
    first.lock()?;
    first.write_all(b"{}\n")?;
    first.sync_data()?;
    let second = File::options().append(true).open(file.path())?;
    match second.try_lock() {
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(error),
        Ok(()) => Ok(false),
    }
}

fn check_free_space(folder: &Path) -> Option<DoctorCheck> {
    let metadata = rustix::fs::statvfs(folder).ok()?;
    let free = metadata.f_bavail.saturating_mul(metadata.f_frsize) / MEGABYTE;
    let said = format!("{free} MB free");
    match free {
        0..10 => Some(DoctorCheck::fail(
            AREA,
            said,
            "free up disk space, or Osier will soon be unable to save sessions",
        )),
        10..200 => Some(DoctorCheck::warn(AREA, said, "free up disk space")),
        _ => None,
    }
}

/// Warns if other users can read the sessions.
fn check_folder_mode(path: &Path, home: &Home) -> Option<DoctorCheck> {
    let metadata = fs::metadata(path).ok()?;
    let display_path = home.display_path(path);
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Some(DoctorCheck::warn(
            AREA,
            format!("{display_path} belongs to another user"),
            "set OSIER_HOME to a folder of your own",
        ));
    }
    if let Err(error) = access(path, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK) {
        return Some(DoctorCheck::fail(
            AREA,
            format!("cannot access {display_path}: {error}"),
            format!("chmod 700 {display_path}"),
        ));
    }
    let mode = metadata.permissions().mode() & 0o777;
    (mode & 0o077 != 0).then(|| {
        DoctorCheck::warn(
            AREA,
            format!("{display_path} is readable by other users (mode {mode:03o})"),
            format!("chmod 700 {display_path}"),
        )
    })
}

/// Reports the servers of a database, whether this user can write there, and unsafe options.
async fn check_servers(store: &MySqlStore) -> Vec<DoctorCheck> {
    let name = store.name();
    let reports = match store.inspect_servers().await {
        Ok(reports) => reports,
        Err(error) => return vec![DoctorCheck::fail(AREA, error.to_string(), DOCS)],
    };
    let mut checks = Vec::new();
    for (host, report) in reports {
        let location = format!("store {name}: {host}");
        let report = match report {
            Ok(report) => report,
            Err(error) => {
                checks.push(DoctorCheck::warn(AREA, format!("{location}: {error}"), DOCS));
                continue;
            }
        };
        checks.push(match report.write_error {
            None => DoctorCheck::ok(AREA, format!("{location} is {}; you can write", report.description)),
            Some(error) => {
                let said = format!("{location} is {}; you can only read: {error}", report.description);
                DoctorCheck::warn(AREA, said, DOCS)
            }
        });
        for (what, advice) in report.warnings {
            checks.push(DoctorCheck::warn(AREA, format!("{location}: {what}"), advice));
        }
    }
    checks
}

/// Checks that the sessions of a store can be listed. Requests only one from a database, which may contain very many.
async fn check_sessions(store: &ConfiguredStore) -> DoctorCheck {
    let files = store.folder().is_some();
    let filter = SessionFilter { limit: (!files).then_some(1), ..SessionFilter::default() };
    let location =
        if store.name() == DEFAULT_NAME { String::new() } else { format!("store {}: ", store.name()) };
    match store.store().list(&filter).await {
        Err(error) if !files => DoctorCheck::fail(AREA, error.to_string(), DOCS),
        Err(error) => DoctorCheck::fail(
            AREA,
            format!("{location}cannot list the sessions: {error}"),
            "fix the permissions of the folder",
        ),
        Ok(_) if !files => DoctorCheck::ok(AREA, format!("{location}reachable")),
        Ok(page) => match page.unreadable.first() {
            None => DoctorCheck::ok(
                AREA,
                format!("{location}{}", pluralize(page.cards.len(), "session", "sessions")),
            ),
            Some(first) => DoctorCheck::warn(
                AREA,
                format!(
                    "{location}{} cannot be read, such as {first}",
                    pluralize(page.unreadable.len(), "session", "sessions")
                ),
                "run `osier sessions verify FILE` for details",
            ),
        },
    }
}
