//! Other processes: this test program, started again to run one job. They report on stderr, which is otherwise empty
//! unless there is an error, and wait on stdin.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use osier_store::{FileStore, Store};
use serde::{Deserialize, Serialize};

use crate::support::{Home, append, lines_of, message};

const JOB: &str = "OSIER_TEST_JOB";

/// A process without output for this long hangs.
const OUTPUT_TIMEOUT: Duration = Duration::from_secs(60);

/// The job of a process: it appends entries and reports the id of each acknowledged one.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) sessions: PathBuf,
    pub(crate) caches: Option<PathBuf>,
    pub(crate) id: String,
    /// The prefix of the ids of its entries; three characters.
    pub(crate) tag: String,
    /// The number of entries per round. It waits for a line on stdin before each round, and exits at the end of
    /// input.
    pub(crate) per_round: usize,
    /// Whether some entries are so long that the operating system may split the write.
    pub(crate) long: bool,
    /// Updates the caches after this many entries.
    pub(crate) sync_every: Option<usize>,
    /// Appends like pi: opens the file for each line and takes no lock.
    pub(crate) plain: bool,
    /// Rewrites the log repeatedly instead of appending.
    pub(crate) rewrites: bool,
}

impl Job {
    pub(crate) fn new(home: &Home, id: &str, tag: &str) -> Job {
        Job {
            sessions: home.sessions(),
            caches: Some(home.caches()),
            id: id.to_owned(),
            tag: tag.to_owned(),
            per_round: usize::MAX,
            long: false,
            sync_every: None,
            plain: false,
            rewrites: false,
        }
    }

    /// The line of the entry at index `at`.
    fn line(&self, at: usize) -> (String, Vec<u8>) {
        let id = format!("{}{at:05}", self.tag);
        let long = match at % 8 {
            2 => 5_000,
            7 => 100_000,
            _ => 20,
        };
        let text = "text ".repeat(if self.long { long / 5 } else { 4 });
        let line = message(&id, None, at, &text);
        (id, line)
    }
}

/// A running process.
pub(crate) struct Process {
    process: std::process::Child,
    stdin: Option<ChildStdin>,
    output: Receiver<String>,
    /// The ids of the acknowledged entries.
    pub(crate) acked: Vec<String>,
    /// The number of entries in the log after each of them.
    pub(crate) states: Vec<usize>,
    /// Its other output.
    pub(crate) messages: Vec<String>,
}

impl Process {
    pub(crate) fn start(job: &Job) -> Process {
        Process::start_by(Command::new(std::env::current_exe().unwrap()), job)
    }

    /// Starts a program that runs this test program with its arguments.
    pub(crate) fn start_by(mut program: Command, job: &Job) -> Process {
        let mut process = program
            .args(["--ignored", "--exact", "process::job"])
            .env(JOB, serde_json::to_string(job).unwrap())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stderr = BufReader::new(process.stderr.take().unwrap());
        let (sender, output) = channel();
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                // The receiver is gone once the test is over.
                let _ = sender.send(line);
            }
        });
        let stdin = process.stdin.take();
        Process { process, stdin, output, acked: Vec::new(), states: Vec::new(), messages: Vec::new() }
    }

    pub(crate) fn start_round(&mut self) {
        self.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
    }

    /// Reads the next line of output. `false` at the end of output.
    pub(crate) fn read_output(&mut self) -> bool {
        let line = match self.output.recv_timeout(OUTPUT_TIMEOUT) {
            Ok(line) => line,
            Err(RecvTimeoutError::Disconnected) => return false,
            Err(RecvTimeoutError::Timeout) => panic!("a process hangs: {:?}", self.messages),
        };
        match line.strip_prefix("ack ").and_then(|ack| ack.split_once(' ')) {
            Some((id, entries)) => {
                self.acked.push(id.to_owned());
                self.states.extend(entries.parse::<usize>());
            }
            None => self.messages.push(line),
        }
        true
    }

    /// Waits until this many entries were acknowledged.
    pub(crate) fn wait_for(&mut self, acked: usize) {
        while self.acked.len() < acked {
            assert!(self.read_output(), "the process exited early: {}", self.messages.join("\n"));
        }
    }

    /// Kills it like `kill -9`, and reads the rest of its output.
    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        while self.read_output() {}
        assert_eq!(self.messages, [] as [&str; 0], "it reported an error before");
    }

    /// Lets it exit, and returns the acknowledged ids.
    pub(crate) fn finish(mut self) -> Vec<String> {
        self.end();
        std::mem::take(&mut self.acked)
    }

    pub(crate) fn end(&mut self) {
        drop(self.stdin.take());
        while self.read_output() {}
        assert!(self.process.wait().unwrap().success(), "{}", self.messages.join("\n"));
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Sends a line to the parent in one unbuffered write.
fn send(text: &str) {
    std::io::stderr().write_all(format!("{text}\n").as_bytes()).unwrap();
}

fn wait_for_round() -> bool {
    let mut byte = [0];
    loop {
        match std::io::stdin().read(&mut byte).unwrap() {
            0 => return false,
            _ if byte == *b"\n" => return true,
            _ => {}
        }
    }
}

#[tokio::test]
#[ignore = "runs in the processes that other tests start"]
async fn job() {
    let job: Job = serde_json::from_str(&std::env::var(JOB).unwrap()).unwrap();
    let store = FileStore::new(&job.sessions, job.caches.clone());
    let mut at = 0;
    while wait_for_round() {
        let until = at + job.per_round.min(99_999 - at);
        while at < until {
            let (id, line) = job.line(at);
            at += 1;
            let added = match (job.plain, job.rewrites) {
                (true, _) => append_without_lock(&store, &job.id, line).await,
                (_, true) => rewrite_log(&store, &job.id).await,
                _ => {
                    let appended = append(&store, &job.id, &[line]).await;
                    appended.map(|version| version.entries).map_err(|error| format!("{error:?}"))
                }
            };
            match added {
                Ok(entries) => send(&format!("ack {id} {entries}")),
                Err(error) => send(&format!("failed {id}: {error}")),
            }
            if job.sync_every.is_some_and(|every| at.is_multiple_of(every)) {
                store.sync(&job.id).await.unwrap();
            }
        }
    }
}

async fn append_without_lock(store: &FileStore, id: &str, mut line: Vec<u8>) -> Result<usize, String> {
    let path = store.open(id).await.unwrap().file.unwrap();
    line.push(b'\n');
    let mut file = OpenOptions::new().append(true).open(path).map_err(|error| error.to_string())?;
    file.write_all(&line).map(|()| 0).map_err(|error| error.to_string())
}

async fn rewrite_log(store: &FileStore, id: &str) -> Result<usize, String> {
    let version = store.open(id).await.unwrap().version;
    let lines = lines_of(store, id).await;
    let rewritten = store.rewrite(id, version, &lines).await;
    rewritten.map(|version| version.entries).map_err(|error| error.to_string())
}
