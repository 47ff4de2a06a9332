//! A project in a temporary folder, and a way to call tools in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use expect_test::Expect;
use osier_tools::{
    CommandEnv, FileStamp, FilesRead, LiveOutput, Preview, Progress, ToolCall, ToolContext, ToolOutcome,
    ToolSet, Toolbox,
};
use serde::Deserialize;
use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::mpsc;

#[derive(Debug)]
pub(crate) struct TestProject {
    base: TempDir,
    pub(crate) ctx: ToolContext,
    pub(crate) tools: ToolSet,
}

impl TestProject {
    /// An empty project, next to an empty folder `outside` and an empty home folder.
    pub(crate) fn new() -> TestProject {
        let base = TempDir::new().unwrap();
        for folder in ["project", "outside", "home"] {
            fs::create_dir(base.path().join(folder)).unwrap();
        }
        let path = std::env::var_os("PATH").unwrap();
        let mut env =
            CommandEnv::new([("PATH".into(), path), ("HOME".into(), base.path().join("home").into())]);
        env.vars.push(("OSIER_TEST".into(), "given".into()));
        let ctx = ToolContext::new(base.path().join("project"), base.path().join("artefacts"), env);
        TestProject { base, ctx, tools: ToolSet::standard() }
    }

    /// A project with these files.
    pub(crate) fn with(files: &[(&str, &str)]) -> TestProject {
        let project = TestProject::new();
        for (path, text) in files {
            project.write_file(path, text.as_bytes());
        }
        project
    }

    /// The path of a file in the project; `../outside/x` is outside.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.base.path().join("project").join(path)
    }

    pub(crate) fn write_file(&self, path: &str, bytes: &[u8]) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub(crate) fn read_file(&self, path: &str) -> Vec<u8> {
        fs::read(self.path(path)).unwrap()
    }

    pub(crate) fn link(&self, path: &str, target: &str) {
        let target = target.replace("<base>", &self.base.path().to_string_lossy());
        std::os::unix::fs::symlink(target, self.path(path)).unwrap();
    }

    pub(crate) fn make_fifo(&self, path: &str) {
        assert!(Command::new("mkfifo").arg(self.path(path)).status().unwrap().success());
    }

    /// Makes the model know exactly the files in these result details.
    pub(crate) fn track_files(&mut self, details: &[&Value]) {
        let mut files = FilesRead::tracking();
        for details in details {
            let stamp = FileStamp::deserialize(&details["stamp"]).unwrap();
            files.insert(details["path"].as_str().unwrap(), Some(stamp));
        }
        self.ctx.files_read = Arc::new(files);
    }

    pub(crate) fn listen(&mut self) -> mpsc::Receiver<LiveOutput> {
        let (progress, listener) = Progress::channel(1000);
        self.ctx.progress = progress;
        listener
    }

    pub(crate) async fn call(&self, name: &str, arguments: Value) -> ToolOutcome {
        let call = ToolCall { id: "call".into(), name: name.into(), arguments };
        with_timeout(self.tools.run(call, &self.ctx)).await
    }

    pub(crate) async fn preview(&self, name: &str, arguments: Value) -> Result<Preview, ToolOutcome> {
        let call = ToolCall { id: "call".into(), name: name.into(), arguments };
        with_timeout(self.tools.preview(&call, &self.ctx)).await
    }

    /// The text that the model gets, with `error: ` in front of failures.
    pub(crate) async fn result_text(&self, name: &str, arguments: Value) -> String {
        let outcome = self.call(name, arguments).await;
        let kind = if outcome.is_error { "error: " } else { "" };
        self.without_temp_paths(&format!("{kind}{}\n", outcome.plain_text()))
    }

    /// Runs calls one after the other and compares each call with the text that the model gets.
    pub(crate) async fn check<const N: usize>(&self, calls: [(&str, Value); N], expect: Expect) {
        let mut transcript = String::new();
        for (name, arguments) in calls {
            let call: String = format!("> {name} {arguments}").chars().take(100).collect();
            transcript.push_str(&format!("{call}\n{}", self.result_text(name, arguments).await));
        }
        expect.assert_eq(&transcript);
    }

    /// Replaces the name of the temporary folder.
    pub(crate) fn without_temp_paths(&self, text: &str) -> String {
        text.replace(&*self.base.path().to_string_lossy(), "<base>")
    }
}

/// After this time a test counts as hanging.
const HANG_TIMEOUT: Duration = Duration::from_secs(60);

/// Fails if the work hangs.
pub(crate) async fn with_timeout<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(HANG_TIMEOUT, work).await.expect("the work hangs")
}

/// Waits until a condition is true.
pub(crate) async fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let polling = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let found = tokio::time::timeout(HANG_TIMEOUT, polling).await;
    assert!(found.is_ok(), "timed out waiting until {what}");
}

/// Collects live output until it has `count` lines.
pub(crate) async fn read_lines(listener: &mut mpsc::Receiver<LiveOutput>, count: usize) -> Vec<String> {
    let mut text = String::new();
    while text.matches('\n').count() < count {
        text.push_str(&with_timeout(listener.recv()).await.expect("the command prints more lines").text);
    }
    text.lines().map(str::to_owned).collect()
}

/// Whether a process has exited. Zombies count as exited.
pub(crate) fn is_gone(pid: &str) -> bool {
    let stat = Path::new("/proc").join(pid).join("stat");
    match fs::read_to_string(stat) {
        Err(_) => true,
        Ok(stat) => stat.rsplit(')').next().unwrap().trim_start().starts_with(['Z', 'X']),
    }
}
