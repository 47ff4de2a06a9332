//! Fetches API keys and keeps them secret.
//!
//! A key is fetched when a request first needs it, is held in memory that is wiped on drop, and never appears in errors or
//! `Debug` output.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use tokio::io::AsyncReadExt;
use tokio::process::Command;

use crate::environment::Environment;

/// A command that waits for a password must not block a turn forever.
const KEY_COMMAND_TIMEOUT: Duration = Duration::from_secs(20);
/// The maximum size of a key file and of the output of a key command.
const MAX_KEY_BYTES: u64 = 64 << 10;

/// Where a key comes from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum KeySource {
    /// The server needs no key.
    #[default]
    None,
    /// The first of these variables that is set.
    Env(Vec<String>),
    /// The output of a shell command.
    Command(String),
    /// The content of a file that only its owner may read.
    File(PathBuf),
}

/// A key, or a hint that says what to do about a missing key.
pub type KeyResult = Result<Option<SecretString>, String>;

impl KeySource {
    /// The key, or `None` if the server needs no key. May run a command.
    pub async fn fetch(&self, environment: &Environment) -> KeyResult {
        self.fetch_with_timeout(environment, KEY_COMMAND_TIMEOUT).await
    }

    async fn fetch_with_timeout(&self, environment: &Environment, limit: Duration) -> KeyResult {
        match self {
            KeySource::None => Ok(None),
            KeySource::Env(names) => match names.iter().find_map(|name| environment.var(name)) {
                Some(key) => Ok(Some(secret(key))),
                None => Err(format!("set {}", names.join(" or "))),
            },
            KeySource::Command(command) => run_key_command(command, limit).await.map(Some),
            KeySource::File(path) => read_key_file(&environment.expand_path(path)).map(Some),
        }
    }

    /// The keys that are available without running a command. Used to redact them in output.
    pub fn available_keys(&self, environment: &Environment) -> Vec<SecretString> {
        match self {
            KeySource::Env(names) => {
                names.iter().filter_map(|name| environment.var(name)).map(secret).collect()
            }
            KeySource::File(path) => read_key_file(&environment.expand_path(path)).into_iter().collect(),
            KeySource::None | KeySource::Command(_) => Vec::new(),
        }
    }

    /// Checks that a key is configured, without running a command. The error says what is missing.
    pub fn check_configured(&self, environment: &Environment) -> Result<(), String> {
        match self {
            KeySource::None | KeySource::Command(_) => Ok(()),
            KeySource::Env(names) if names.iter().any(|name| environment.var(name).is_some()) => Ok(()),
            KeySource::Env(names) => Err(format!("set {}", names.join(" or "))),
            KeySource::File(path) => check_key_file(&environment.expand_path(path)),
        }
    }
}

fn secret(text: String) -> SecretString {
    SecretString::from(text.trim().to_owned())
}

fn read_key_file(path: &Path) -> Result<SecretString, String> {
    check_key_file(path)?;
    let mut text = String::new();
    std::fs::File::open(path)
        .and_then(|file| {
            std::io::Read::read_to_string(&mut std::io::Read::take(file, MAX_KEY_BYTES), &mut text)
        })
        .map_err(|error| format!("cannot read the key file {}: {error}", path.display()))?;
    let key = secret(text);
    if key.expose_secret().is_empty() {
        Err(format!("the key file {} is empty", path.display()))
    } else {
        Ok(key)
    }
}

/// Refuses a key file that other users can read.
fn check_key_file(path: &Path) -> Result<(), String> {
    let shown = path.display();
    let metadata =
        std::fs::metadata(path).map_err(|error| format!("cannot read the key file {shown}: {error}"))?;
    if !metadata.is_file() || metadata.len() > MAX_KEY_BYTES {
        return Err(format!("cannot read the key file {shown}: not a regular file, or larger than 64 KiB"));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = metadata.permissions().mode();
        if mode & 0o077 != 0 {
            return Err(format!(
                "the key file {shown} can be read by others (mode {:03o}); run `chmod 600 {shown}`",
                mode & 0o777
            ));
        }
    }
    Ok(())
}

async fn run_key_command(command: &str, limit: Duration) -> Result<SecretString, String> {
    let mut shell = Command::new("sh");
    shell
        .arg("-c")
        .arg(command)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    #[cfg(unix)]
    shell.process_group(0);
    let mut child = shell.spawn().map_err(|error| format!("cannot run the key command: {error}"))?;
    let _group = KillGroupOnDrop(child.id());
    let mut printed = Vec::new();
    let running = async {
        if let Some(stdout) = child.stdout.take() {
            stdout.take(MAX_KEY_BYTES).read_to_end(&mut printed).await?;
        }
        child.wait().await
    };
    match tokio::time::timeout(limit, running).await {
        Err(_) => Err(format!("the key command took longer than {} s", limit.as_secs_f64())),
        Ok(Err(error)) => Err(format!("cannot run the key command: {error}")),
        Ok(Ok(status)) if !status.success() => Err(format!("the key command failed ({status})")),
        Ok(Ok(_)) => {
            let text = String::from_utf8_lossy(&printed);
            let key = secret(text.trim().lines().next().unwrap_or_default().to_owned());
            if key.expose_secret().is_empty() {
                Err("the key command printed nothing".to_owned())
            } else {
                Ok(key)
            }
        }
    }
}

/// Kills the command and its child processes when dropped: after a timeout, or when the request is canceled.
struct KillGroupOnDrop(Option<u32>);

impl Drop for KillGroupOnDrop {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Some(group) = self.0.and_then(|group| rustix::process::Pid::from_raw(group.cast_signed())) {
            // Usually the processes have already ended.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn shown(found: KeyResult) -> Result<String, String> {
        found.map(|key| key.map_or_else(String::new, |key| key.expose_secret().to_owned()))
    }

    #[tokio::test]
    async fn first_set_variable_is_used() {
        let environment = Environment::new(|name| match name {
            "A" => Some("  ".to_owned()),
            "B" => Some("key-b\n".to_owned()),
            _ => None,
        });
        let env = |names: &[&str]| KeySource::Env(names.iter().map(|name| (*name).to_owned()).collect());
        assert_eq!(shown(env(&["A", "B"]).fetch(&environment).await), Ok("key-b".to_owned()));
        assert_eq!(shown(env(&["A", "C"]).fetch(&environment).await), Err("set A or C".to_owned()));
        assert_eq!(env(&["A"]).check_configured(&environment), Err("set A".to_owned()));
    }

    #[tokio::test]
    async fn key_file_readable_by_others_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("key");
        std::fs::write(&path, "sk-file\n").unwrap();
        let environment = Environment::empty().with_home(home.path());
        let source = KeySource::File(PathBuf::from("~/key"));
        let set = |mode| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        set(0o600);
        assert_eq!(shown(source.fetch(&environment).await), Ok("sk-file".to_owned()));
        for mode in [0o640, 0o604, 0o644, 0o620] {
            set(mode);
            let error = shown(source.fetch(&environment).await).unwrap_err();
            assert!(error.contains("can be read by others") && error.contains("chmod 600"), "{error}");
            assert!(source.check_configured(&environment).is_err());
        }
        assert!(shown(KeySource::File(PathBuf::from("~/none")).fetch(&environment).await).is_err());
    }

    #[tokio::test]
    async fn key_command_gives_its_first_line_and_times_out() {
        let fetch = |command: &str, millis| {
            let source = KeySource::Command(command.to_owned());
            async move {
                shown(source.fetch_with_timeout(&Environment::empty(), Duration::from_millis(millis)).await)
            }
        };
        assert_eq!(fetch("echo key-1; echo more", 5_000).await, Ok("key-1".to_owned()));
        assert!(fetch("yes", 30_000).await.unwrap_err().contains("failed"), "endless output is cut off");
        assert_eq!(fetch("true", 5_000).await, Err("the key command printed nothing".to_owned()));
        assert!(fetch("echo secret; exit 3", 5_000).await.unwrap_err().contains("failed"));
        assert_eq!(
            fetch("sleep 30 & wait", 50).await,
            Err("the key command took longer than 0.05 s".to_owned())
        );
    }
}
