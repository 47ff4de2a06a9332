//! The Node sidecar: a `node` process with one extension that needs modules which only Node has. It has the rights of the user.
//!
//! Node gets its frames on descriptor 3. Everything that it sends leaves through 4, where the responses to its synchronous calls
//! arrive too, because its main thread can wait for a plain descriptor only. Descriptor 5 leads to a confined process of this
//! program, its helper, which removes types and measures text.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use osier_tools::ParentWatchdog;
use tokio::process::Command;

use super::ExtensionOptions;
use super::frame_queue::FrameOutput;
use super::launcher::{ExtensionLauncher, LaunchedProcess, NodeHelpers};
use crate::child::library_source;
use crate::grants::{Grant, Grants};
use crate::source::module_root;

/// The memory of JavaScript objects, in MB.
const MAX_HEAP: u32 = 1024;

/// The standard descriptors become 3, 4 and 5, because a program can be started with these three only.
const RENUMBER: &str = r#"exec "$0" "$@" 3<&0 4<&1 5<&2 </dev/null >/dev/null 2>/dev/null"#;

/// How to start Node for an extension.
#[derive(Debug, Clone)]
pub(crate) struct NodeCommand {
    program: PathBuf,
    options: Vec<OsString>,
    directory: PathBuf,
    variables: BTreeMap<String, String>,
}

impl NodeCommand {
    /// The command for an extension with these grants. The error says what is missing.
    pub(super) async fn new(
        options: &ExtensionOptions,
        directory: &Path,
        entry: &Path,
        grants: &Grants,
    ) -> Result<NodeCommand, String> {
        let program = find_node(options).ok_or("there is no `node` in PATH; install Node 20.6 or later")?;
        let version = node_version(&program).await.ok_or("`node --version` failed")?;
        let mut arguments = permission_options(version, options, entry, grants);
        arguments.push(format!("--max-old-space-size={MAX_HEAP}").into());
        let variables = options.visible_variables(grants);
        let variables = variables.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
        let (directory, variables) = (directory.to_owned(), variables.collect());
        Ok(NodeCommand { program, options: arguments, directory, variables })
    }

    pub(super) fn start(&self, launcher: &ExtensionLauncher) -> io::Result<LaunchedProcess> {
        let (frames, node_frames) = UnixStream::pair()?;
        let (calls, node_calls) = UnixStream::pair()?;
        let (helper_socket, node_helper) = UnixStream::pair()?;
        let helper = launcher.start_helper(helper_socket)?;
        let mut command = Command::new("/bin/sh");
        command.args(["-c", RENUMBER]).arg(&self.program).args(&self.options);
        command.arg("--eval").arg(library_source("osier:sidecar/start.js").unwrap_or_default());
        command.env_clear().envs(&self.variables).current_dir(&self.directory).kill_on_drop(true);
        // Its programs end with it.
        command.process_group(0);
        command.stdin(OwnedFd::from(node_frames));
        command.stdout(OwnedFd::from(node_calls));
        command.stderr(OwnedFd::from(node_helper));
        let child = command.spawn()?;
        let watchdog = ParentWatchdog::start(child.id());
        // The command holds Node's ends; they must close when Node ends.
        drop(command);
        let input = to_async(frames)?;
        let (output, call_input) = to_async(calls)?.into_split();
        Ok(LaunchedProcess {
            input: FrameOutput::Socket(input),
            call_input: Some(FrameOutput::HalfSocket(call_input)),
            output: Box::new(output),
            child: Some(child),
            helpers: Some(NodeHelpers { _sandbox: helper, _watchdog: watchdog }),
        })
    }
}

fn to_async(socket: UnixStream) -> io::Result<tokio::net::UnixStream> {
    socket.set_nonblocking(true)?;
    tokio::net::UnixStream::from_std(socket)
}

/// The first `node` in the user's `PATH`.
fn find_node(options: &ExtensionOptions) -> Option<PathBuf> {
    let (_, path) = options.variables.iter().find(|(name, _)| name == "PATH")?;
    std::env::split_paths(path).map(|folder| folder.join("node")).find(|file| file.is_file())
}

/// The major and the minor version.
type NodeVersion = (u32, u32);

async fn node_version(program: &Path) -> Option<NodeVersion> {
    let mut command = Command::new(program);
    let output = command.arg("--version").env_clear().kill_on_drop(true).output().await.ok()?;
    parse_version(std::str::from_utf8(&output.stdout).ok()?)
}

fn parse_version(text: &str) -> Option<NodeVersion> {
    let mut numbers = text.trim().strip_prefix('v')?.split('.').map(|part| part.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

/// Node's own permissions, as far as the code of the extension shows that it needs less than everything. They do not limit the
/// network, and Node calls them no protection against malicious code.
fn permission_options(
    (major, minor): NodeVersion,
    options: &ExtensionOptions,
    entry: &Path,
    grants: &Grants,
) -> Vec<OsString> {
    let has_permissions = major >= 24 || (major == 23 && minor >= 5) || (major == 22 && minor >= 13);
    let [reads, writes, runs] =
        [Grant::ReadFiles, Grant::WriteFiles, Grant::RunPrograms].map(|grant| grants.has(grant));
    if !has_permissions || (reads && writes && runs) {
        return Vec::new();
    }
    let mut flags: Vec<OsString> = vec!["--permission".into(), "--disable-warning=SecurityWarning".into()];
    if major == 22 && minor < 15 {
        // Without it, these versions have no loader.
        flags.push("--allow-worker".into());
    }
    let mut allow = |flag: &str, path: &Path| {
        let mut text = OsString::from(format!("--allow-fs-{flag}="));
        text.push(path);
        flags.push(text);
    };
    let everything = Path::new("*");
    match reads {
        true => allow("read", everything),
        false => {
            allow("read", &module_root(entry).join("*"));
            allow("read", &options.data_folder.join("*"));
        }
    }
    allow("write", if writes { everything } else { &options.data_folder });
    if runs {
        flags.push("--allow-child-process".into());
    }
    flags
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permissions_are_limited_to_what_the_code_shows() {
        let options = |version| {
            let grants = [Grant::Node, Grant::ReadFiles].into_iter().collect();
            let host = ExtensionOptions {
                catalog: Box::new(Vec::new()),
                launcher: ExtensionLauncher::Thread,
                mode: crate::ExtensionMode::Rpc,
                data_folder: PathBuf::from("/data"),
                protected: Vec::new(),
                themes: Vec::new(),
                variables: Vec::new(),
                flags: crate::FlagValues::default(),
                client_commands: Vec::new(),
            };
            permission_options(version, &host, Path::new("/x/index.ts"), &grants)
        };
        for version in [(22, 13), (23, 5), (24, 0), (26, 1)] {
            let flags = options(version);
            assert!(flags.contains(&"--permission".into()), "{version:?}");
            assert!(flags.contains(&"--allow-fs-read=*".into()), "{flags:?}");
            assert!(flags.contains(&"--allow-fs-write=/data".into()), "{flags:?}");
            assert!(!flags.contains(&"--allow-child-process".into()), "{flags:?}");
        }
        for version in [(20, 6), (22, 12), (23, 4)] {
            assert!(options(version).is_empty(), "{version:?}");
        }
    }

    #[test]
    fn versions_are_read() {
        assert_eq!(parse_version("v20.20.2\n"), Some((20, 20)));
        assert_eq!(parse_version("20.1"), None);
        assert_eq!(parse_version("vx"), None);
    }
}
