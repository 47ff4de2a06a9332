//! Runs `osier` on a pseudo-terminal, by default of 80 by 24.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use osier_testkit::ScriptedSession;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use crate::run_support::{ModelServer, osier_command};
use crate::support::TestEnv;

/// How long a test waits before it fails.
const TIMEOUT: Duration = Duration::from_secs(60);

/// How long to wait before pressing a key again.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// Longer than the pause that is required before a key that answers a question.
const ANSWER_PAUSE: Duration = Duration::from_millis(400);

/// The placeholder of an empty editor in a new session.
pub(crate) const READY: &str = "type a message, or /help";

/// Escape in the Kitty keyboard protocol, where it is not ambiguous.
pub(crate) const ESCAPE: &str = "\x1b[27u";
/// Escape in other terminals.
pub(crate) const PLAIN_ESCAPE: &str = "\x1b";
pub(crate) const CTRL_C: &str = "\x03";
pub(crate) const CTRL_D: &str = "\x04";
const CTRL_U: &str = "\x15";
pub(crate) const UP: &str = "\x1b[A";
pub(crate) const DOWN: &str = "\x1b[B";
pub(crate) const ALT_A: &str = "\x1ba";
pub(crate) const ALT_C: &str = "\x1bc";
pub(crate) const ALT_T: &str = "\x1bt";
pub(crate) const ALT_U: &str = "\x1bu";

/// The pseudo-terminal, its emulator and the program.
pub(crate) struct Screen {
    master: File,
    slave: File,
    parser: vt100::Parser,
    /// All output of the program.
    pub(crate) bytes: Vec<u8>,
    child: Child,
}

/// Starts `osier` on a terminal without colors.
pub(crate) fn open(env: &TestEnv, args: &[&str]) -> Screen {
    Screen::start(osier_command(env, args), 80, 24)
}

/// Opens the session of a script, as if the server had been its model from the start.
pub(crate) fn with_script(server: &ModelServer, script: &str) -> (TestEnv, Screen) {
    let env = server.env();
    let file = String::from_utf8(ScriptedSession::run(script).file()).unwrap();
    let ours = r#""provider":"local","model":"test""#;
    env.write("s.jsonl", file.replace(r#""provider":"anthropic","model":"claude""#, ours));
    let screen = open(&env, &["--session", "s.jsonl"]);
    (env, screen)
}

impl Screen {
    pub(crate) fn start(mut command: Command, columns: u16, rows: u16) -> Screen {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let device = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let slave = File::options().read(true).write(true).open(device).unwrap();
        tcsetwinsize(&master, size(columns, rows)).unwrap();
        let copy = || slave.try_clone().unwrap();
        command.stdin(copy()).stdout(copy()).stderr(copy());
        if command.get_envs().all(|(name, _)| name != "COLORTERM" && name != "TERM") {
            command.env("NO_COLOR", "1").env("TERM", "xterm-256color");
        }
        // The emulator truncates lines when it gets narrower, as xterm does.
        let child = command.env("XTERM_VERSION", "XTerm").spawn().unwrap();
        let parser = vt100::Parser::new(rows, columns, 1000);
        Screen { master: File::from(master), slave, parser, bytes: Vec::new(), child }
    }

    /// The most memory that the program has had so far, in bytes.
    #[cfg(target_os = "linux")]
    pub(crate) fn most_memory(&self) -> usize {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
        most.unwrap().parse::<usize>().unwrap() * 1024
    }

    pub(crate) fn press(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).unwrap();
    }

    /// Types a line and presses Enter.
    pub(crate) fn submit(&mut self, line: &str) {
        self.press(line);
        self.press("\r");
    }

    /// The visible text.
    pub(crate) fn text(&self) -> String {
        self.parser.screen().contents()
    }

    /// The lines that have scrolled off.
    pub(crate) fn scrollback(&mut self) -> Vec<String> {
        let screen = self.parser.screen_mut();
        screen.set_scrollback(usize::MAX);
        let above = screen.scrollback();
        let columns = screen.size().1;
        let mut lines = Vec::new();
        for offset in (1..=above).rev() {
            screen.set_scrollback(offset);
            lines.extend(screen.rows(0, columns).next());
        }
        screen.set_scrollback(0);
        lines
    }

    /// The visible lines, with placeholders for what differs between runs.
    pub(crate) fn stable_text(&self, env: &TestEnv) -> String {
        let lines: Vec<String> = self.text().lines().map(|line| line.trim_end().to_owned()).collect();
        env.with_stable_names(&lines.join("\n")) + "\n"
    }

    pub(crate) fn parser(&self) -> &vt100::Screen {
        self.parser.screen()
    }

    #[track_caller]
    pub(crate) fn wait_for(&mut self, wanted: &str) {
        self.wait_until(wanted, |text| text.contains(wanted));
    }

    #[track_caller]
    pub(crate) fn wait_gone(&mut self, unwanted: &str) {
        self.wait_until(&format!("{unwanted} to disappear"), |text| !text.contains(unwanted));
    }

    /// Reads until the screen fulfills a condition.
    #[track_caller]
    pub(crate) fn wait_until(&mut self, what: &str, is_so: impl Fn(&str) -> bool) {
        let deadline = Instant::now() + TIMEOUT;
        while self.is_drawing() || !is_so(&self.text()) {
            let is_late = !self.read(deadline.saturating_duration_since(Instant::now()));
            assert!(!is_late, "timeout waiting for {what:?}:\n{}", self.text());
        }
    }

    /// Reads until the program has printed these bytes.
    #[track_caller]
    pub(crate) fn wait_for_bytes(&mut self, wanted: &str) {
        let deadline = Instant::now() + TIMEOUT;
        while !self.has_printed(wanted) {
            let is_late = !self.read(deadline.saturating_duration_since(Instant::now()));
            assert!(!is_late, "timeout waiting for the bytes {wanted:?}:\n{}", self.text());
        }
    }

    pub(crate) fn has_printed(&self, wanted: &str) -> bool {
        self.bytes.windows(wanted.len()).any(|bytes| bytes == wanted.as_bytes())
    }

    /// Whether only a part of the current frame has arrived.
    fn is_drawing(&self) -> bool {
        let last = |mark: &[u8]| self.bytes.windows(mark.len()).rposition(|bytes| bytes == mark);
        last(b"\x1b[?2026h") > last(b"\x1b[?2026l")
    }

    /// Presses a key repeatedly until the screen shows its effect.
    #[track_caller]
    pub(crate) fn press_until(&mut self, key: &str, is_taken: impl Fn(&str) -> bool) {
        let deadline = Instant::now() + TIMEOUT;
        while !is_taken(&self.text()) {
            assert!(Instant::now() < deadline, "{key:?} has no effect:\n{}", self.text());
            self.press(key);
            let next = Instant::now() + RETRY_DELAY;
            while !is_taken(&self.text()) && self.read(next.saturating_duration_since(Instant::now())) {}
        }
    }

    /// Answers an approval question.
    #[track_caller]
    pub(crate) fn answer(&mut self, key: &str) {
        self.wait_for("Allow ");
        self.answer_until(key, |text| !text.contains("Allow "));
    }

    /// Answers with a key, which counts only after and before a pause. A key that was too early is in the draft; it is erased before
    /// the next try.
    #[track_caller]
    pub(crate) fn answer_until(&mut self, key: &str, is_taken: impl Fn(&str) -> bool) {
        let deadline = Instant::now() + TIMEOUT;
        while !is_taken(&self.text()) {
            assert!(Instant::now() < deadline, "{key:?} has no effect:\n{}", self.text());
            self.press(CTRL_U);
            self.read_for(ANSWER_PAUSE);
            self.press(key);
            let next = Instant::now() + RETRY_DELAY;
            while !is_taken(&self.text()) && self.read(next.saturating_duration_since(Instant::now())) {}
        }
    }

    fn read_for(&mut self, time: Duration) {
        let end = Instant::now() + time;
        while self.read(end.saturating_duration_since(Instant::now())) {}
    }

    /// Reads more output. Returns false on timeout and at the end.
    fn read(&mut self, timeout: Duration) -> bool {
        let timeout = Timespec {
            tv_sec: timeout.as_secs().try_into().unwrap(),
            tv_nsec: timeout.subsec_nanos().into(),
        };
        let mut waiting = [PollFd::new(&self.master, PollFlags::IN)];
        if poll(&mut waiting, Some(&timeout)).unwrap() == 0 {
            return false;
        }
        let mut buffer = [0; 4096];
        let Ok(count @ 1..) = self.master.read(&mut buffer) else { return false };
        self.parser.process(&buffer[..count]);
        self.bytes.extend_from_slice(&buffer[..count]);
        true
    }

    pub(crate) fn resize(&mut self, columns: u16, rows: u16) {
        tcsetwinsize(&self.master, size(columns, rows)).unwrap();
        self.parser.screen_mut().set_size(rows, columns);
        self.signal(Signal::WINCH);
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Quits with Ctrl+D, even if a turn is still running. Returns the last screen.
    #[track_caller]
    pub(crate) fn quit(mut self) -> String {
        self.press(CTRL_D);
        let deadline = Instant::now() + TIMEOUT;
        let asks = |screen: &Screen| screen.text().contains("Quit while a");
        while self.child.try_wait().unwrap().is_none() && !asks(&self) && Instant::now() < deadline {
            self.read(Duration::from_millis(20));
        }
        if asks(&self) {
            self.press("2");
        }
        let (code, rest) = self.wait_for_exit();
        assert_eq!(code, Some(0), "{rest}");
        rest
    }

    /// Waits for the exit, and returns the exit code and the last screen. Checks that the terminal is restored.
    #[track_caller]
    pub(crate) fn wait_for_exit(mut self) -> (Option<i32>, String) {
        let deadline = Instant::now() + TIMEOUT;
        let status = loop {
            self.read(Duration::from_millis(20));
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < deadline, "timeout waiting for the exit:\n{}", self.text());
        };
        let modes = tcgetattr(&self.slave).unwrap().local_modes;
        drop(std::mem::replace(&mut self.slave, File::open("/dev/null").unwrap()));
        while self.read(TIMEOUT) {}
        // A killed process cannot restore the terminal.
        if status.code().is_some() {
            assert!(modes.contains(LocalModes::ICANON | LocalModes::ECHO), "raw mode was left on");
            self.assert_modes_restored();
        }
        (status.code(), self.text())
    }

    #[track_caller]
    fn assert_modes_restored(&self) {
        let text = String::from_utf8_lossy(&self.bytes).into_owned();
        let pairs = [
            ("\x1b[?2004h", "\x1b[?2004l"),
            ("\x1b[?1004h", "\x1b[?1004l"),
            ("\x1b[?25l", "\x1b[?25h"),
            ("\x1b[>1u", "\x1b[<1u"),
        ];
        for (on, off) in pairs {
            assert!(text.rfind(on) <= text.rfind(off), "{on:?} was left on");
        }
    }
}

fn size(columns: u16, rows: u16) -> Winsize {
    Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}

/// Does not leave a process behind when a test fails.
impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
