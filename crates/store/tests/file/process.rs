//! Other processes: this very program, started again to do one job. They tell on stderr, which nothing else writes to
//! unless something is wrong, and wait on stdin.

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

/// A process that says nothing for so long hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a process does: it appends entries and tells the id of each that was acknowledged.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) sessions: PathBuf,
    pub(crate) caches: Option<PathBuf>,
    pub(crate) id: String,
    /// Begins the ids of its entries; three characters.
    pub(crate) tag: String,
    /// How many entries in one go. It waits for a line on stdin before each go, and ends when there is none.
    pub(crate) each_go: usize,
    /// Some entries are so long that the operating system writes them in pieces.
    pub(crate) long: bool,
    /// Brings the caches up to date after every so many entries.
    pub(crate) sync_every: Option<usize>,
    /// As pi does it: a file opened for each line, and no lock.
    pub(crate) plain: bool,
    /// Adds nothing, but writes the log anew again and again.
    pub(crate) rewrites: bool,
}

impl Job {
    pub(crate) fn new(home: &Home, id: &str, tag: &str) -> Job {
        Job {
            sessions: home.sessions(),
            caches: Some(home.caches()),
            id: id.to_owned(),
            tag: tag.to_owned(),
            each_go: usize::MAX,
            long: false,
            sync_every: None,
            plain: false,
            rewrites: false,
        }
    }

    /// The line of its `at`th entry.
    fn line(&self, at: usize) -> (String, Vec<u8>) {
        let id = format!("{}{at:05}", self.tag);
        let long = match at % 8 {
            2 => 5_000,
            7 => 100_000,
            _ => 20,
        };
        let text = "said ".repeat(if self.long { long / 5 } else { 4 });
        let line = message(&id, None, at, &text);
        (id, line)
    }
}

/// The other process.
pub(crate) struct Process {
    process: std::process::Child,
    stdin: Option<ChildStdin>,
    told: Receiver<String>,
    /// The ids it got acknowledged.
    pub(crate) acked: Vec<String>,
    /// How many entries the log had after each of them.
    pub(crate) states: Vec<usize>,
    /// What else it told.
    pub(crate) said: Vec<String>,
}

impl Process {
    pub(crate) fn start(job: &Job) -> Process {
        Process::start_by(Command::new(std::env::current_exe().unwrap()), job)
    }

    /// Starts a program that runs this one with the arguments it gets.
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
        let (sender, told) = channel();
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                // Nobody listens any more once the test is over.
                let _ = sender.send(line);
            }
        });
        let stdin = process.stdin.take();
        Process { process, stdin, told, acked: Vec::new(), states: Vec::new(), said: Vec::new() }
    }

    pub(crate) fn go(&mut self) {
        self.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
    }

    /// Takes in the next thing it tells. `false` if it will never tell more.
    pub(crate) fn listen(&mut self) -> bool {
        let line = match self.told.recv_timeout(PATIENCE) {
            Ok(line) => line,
            Err(RecvTimeoutError::Disconnected) => return false,
            Err(RecvTimeoutError::Timeout) => panic!("a process hangs: {:?}", self.said),
        };
        match line.strip_prefix("ack ").and_then(|ack| ack.split_once(' ')) {
            Some((id, entries)) => {
                self.acked.push(id.to_owned());
                self.states.extend(entries.parse::<usize>());
            }
            None => self.said.push(line),
        }
        true
    }

    /// Waits until so many entries were acknowledged.
    pub(crate) fn wait_for(&mut self, acked: usize) {
        while self.acked.len() < acked {
            assert!(self.listen(), "it ended early: {}", self.said.join("\n"));
        }
    }

    /// Ends it as `kill -9` does, and takes in what it still told.
    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        while self.listen() {}
        assert_eq!(self.said, [] as [&str; 0], "it had trouble before");
    }

    /// Lets it end, and gives the acknowledged ids.
    pub(crate) fn finish(mut self) -> Vec<String> {
        self.end();
        std::mem::take(&mut self.acked)
    }

    pub(crate) fn end(&mut self) {
        drop(self.stdin.take());
        while self.listen() {}
        assert!(self.process.wait().unwrap().success(), "{}", self.said.join("\n"));
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Tells the parent, in one write that is not buffered.
fn tell(text: &str) {
    std::io::stderr().write_all(format!("{text}\n").as_bytes()).unwrap();
}

fn told_to_go() -> bool {
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
#[ignore = "the part of other tests that runs in another process"]
async fn job() {
    let job: Job = serde_json::from_str(&std::env::var(JOB).unwrap()).unwrap();
    let store = FileStore::new(&job.sessions, job.caches.clone());
    let mut at = 0;
    while told_to_go() {
        let until = at + job.each_go.min(99_999 - at);
        while at < until {
            let (id, line) = job.line(at);
            at += 1;
            let added = match (job.plain, job.rewrites) {
                (true, _) => add_plainly(&store, &job.id, line).await,
                (_, true) => write_anew(&store, &job.id).await,
                _ => {
                    let appended = append(&store, &job.id, &[line]).await;
                    appended.map(|version| version.entries).map_err(|error| format!("{error:?}"))
                }
            };
            match added {
                Ok(entries) => tell(&format!("ack {id} {entries}")),
                Err(error) => tell(&format!("failed {id}: {error}")),
            }
            if job.sync_every.is_some_and(|every| at.is_multiple_of(every)) {
                store.sync(&job.id).await.unwrap();
            }
        }
    }
}

async fn add_plainly(store: &FileStore, id: &str, mut line: Vec<u8>) -> Result<usize, String> {
    let path = store.open(id).await.unwrap().file.unwrap();
    line.push(b'\n');
    let mut file = OpenOptions::new().append(true).open(path).map_err(|error| error.to_string())?;
    file.write_all(&line).map(|()| 0).map_err(|error| error.to_string())
}

async fn write_anew(store: &FileStore, id: &str) -> Result<usize, String> {
    let version = store.open(id).await.unwrap().version;
    let lines = lines_of(store, id).await;
    let rewritten = store.rewrite(id, version, &lines).await;
    rewritten.map(|version| version.entries).map_err(|error| error.to_string())
}
