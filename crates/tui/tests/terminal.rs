//! The interface on a real terminal, with a real session and the built-in model.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

/// Seconds after which a program that shows nothing hangs.
const PATIENCE: i64 = 60;

struct Terminal {
    master: File,
    slave: File,
    parser: vt100::Parser,
    bytes: Vec<u8>,
    child: Child,
    folder: tempfile::TempDir,
}

impl Terminal {
    fn start(columns: u16, rows: u16) -> Terminal {
        Terminal::run("tui", columns, rows)
    }

    fn run(name: &str, columns: u16, rows: u16) -> Terminal {
        Terminal::run_with(name, columns, rows, |command| command.env("NO_COLOR", "1"))
    }

    fn run_with(name: &str, columns: u16, rows: u16, set: impl Fn(&mut Command) -> &mut Command) -> Terminal {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let device = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let slave = File::options().read(true).write(true).open(device).unwrap();
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, size).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let work = folder.path().join("code");
        std::fs::create_dir(&work).unwrap();
        std::fs::write(work.join("notes.txt"), "buy milk\n").unwrap();
        let mut command = Command::new(example(name));
        command.arg(folder.path().join("home")).current_dir(&work).env_remove("TMUX").env_remove("NO_COLOR");
        // The emulator cuts lines when it gets narrower, as xterm does.
        command.env("XTERM_VERSION", "XTerm");
        set(&mut command);
        let copy = || slave.try_clone().unwrap();
        let child = command.stdin(copy()).stdout(copy()).stderr(copy()).spawn().unwrap();
        let parser = vt100::Parser::new(rows, columns, 1000);
        Terminal { master: File::from(master), slave, parser, bytes: Vec::new(), child, folder }
    }

    fn press(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).unwrap();
    }

    /// Reads until the screen shows this.
    #[track_caller]
    fn wait_for(&mut self, wanted: &str) {
        while !self.text().contains(wanted) {
            assert!(self.read(), "{wanted:?} does not come:\n{}\n{}", self.text(), self.written());
        }
    }

    /// Reads until these bytes were written, behind a place among them; gives the place behind them.
    #[track_caller]
    fn wait_for_bytes(&mut self, wanted: &str, from: usize) -> usize {
        loop {
            let text = String::from_utf8_lossy(&self.bytes[from..]).into_owned();
            match text.find(wanted) {
                Some(at) => return from + at + wanted.len(),
                None => assert!(self.read(), "{wanted:?} does not come: {text:?}"),
            }
        }
    }

    /// More of what the program wrote; false if it is silent or gone.
    fn read(&mut self) -> bool {
        self.has_more(PATIENCE, 0) && self.take()
    }

    fn has_more(&self, tv_sec: i64, tv_nsec: i64) -> bool {
        let mut waiting = [PollFd::new(&self.master, PollFlags::IN)];
        poll(&mut waiting, Some(&Timespec { tv_sec, tv_nsec })).unwrap() > 0
    }

    fn take(&mut self) -> bool {
        let mut buffer = [0; 4096];
        let Ok(count @ 1..) = self.master.read(&mut buffer) else { return false };
        self.parser.process(&buffer[..count]);
        self.bytes.extend_from_slice(&buffer[..count]);
        true
    }

    fn text(&self) -> String {
        self.parser.screen().contents()
    }

    /// The bytes it wrote, as they can be read.
    fn written(&self) -> String {
        String::from_utf8_lossy(&self.bytes).escape_debug().to_string()
    }

    fn resize(&mut self, columns: u16, rows: u16) {
        tcsetwinsize(&self.master, Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 })
            .unwrap();
        self.parser.screen_mut().set_size(rows, columns);
        self.signal(Signal::WINCH);
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits until something holds that the screen does not tell.
    #[track_caller]
    fn until(&mut self, what: &str, mut holds: impl FnMut(&mut Terminal) -> bool) {
        for _ in 0..10 * PATIENCE {
            if holds(self) {
                return;
            }
            if self.has_more(0, 100_000_000) {
                self.take();
            }
        }
        panic!("it does not {what}:\n{}\n{}", self.text(), self.written());
    }

    /// Waits for the end; the terminal must be as it was.
    #[track_caller]
    fn end(mut self) -> Option<i32> {
        let mut status = None;
        self.until("end", |terminal| {
            status = terminal.child.try_wait().unwrap();
            status.is_some()
        });
        let code = status.unwrap().code();
        let modes = tcgetattr(&self.slave).unwrap().local_modes;
        assert!(modes.contains(LocalModes::ICANON | LocalModes::ECHO), "raw mode was left on");
        // All is written by now; it is read while somebody holds the other side, because the last to leave may take it along.
        while self.has_more(0, 200_000_000) && self.take() {}
        let text = String::from_utf8_lossy(&self.bytes).into_owned();
        for (on, off) in
            [("\x1b[?2004h", "\x1b[?2004l"), ("\x1b[?25l", "\x1b[?25h"), ("\x1b[>1u", "\x1b[<1u")]
        {
            assert!(text.rfind(on) < text.rfind(off), "{on:?} was left on by {code:?}: {text:?}");
        }
        code
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A test that failed leaves nobody behind; one that has ended is not there any more.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `cargo test` builds it beside the tests.
fn example(name: &str) -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let path = tests.parent().unwrap().parent().unwrap().join("examples").join(name);
    assert!(path.exists(), "build the examples first: cargo build -p osier-tui --examples");
    path
}

#[test]
fn one_talks_looks_at_the_tree_moves_and_leaves() {
    let mut terminal = Terminal::start(80, 24);
    terminal.wait_for("type a message, or /help");
    terminal.press("read notes.txt\r");
    terminal.wait_for("returned 1 line");
    terminal.press("/tree\r");
    terminal.wait_for("← active");
    assert!(terminal.text().contains("[read: notes.txt]"), "{}", terminal.text());
    terminal.press("\x1b[H\r");
    terminal.wait_for("Summarize the branch you are leaving?");
    terminal.press("1");
    terminal.wait_for("Moved from");
    terminal.wait_for("> read notes.txt");
    terminal.press("\x1bu");
    terminal.wait_for("Undone: moved");
    terminal.wait_for("returned 1 line");
    terminal.press("\x03");
    terminal.press("/quit\r");
    assert_eq!(terminal.end(), Some(0));
}

#[test]
fn nothing_is_changed_before_one_says_yes() {
    let mut terminal = Terminal::start(60, 20);
    terminal.wait_for("type a message");
    terminal.press("write hello to new.txt\r");
    terminal.wait_for("Allow write to create new.txt?");
    let path = terminal.folder.path().join("code").join("new.txt");
    assert!(!path.exists());
    // What is typed at once is not an answer; after a while it is.
    let (begun, mut pressed) = (Instant::now(), Instant::now());
    while !path.exists() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it does not go on:\n{}", terminal.text());
        if pressed.elapsed() > Duration::from_secs(1) {
            terminal.press("y");
            pressed = Instant::now();
        }
        assert!(terminal.read(), "it does not go on");
    }
    terminal.wait_for("Done: write new.txt");
    assert!(path.exists());
    // Whether the turn has ended by now nobody knows, so no key would surely leave.
    terminal.signal(Signal::TERM);
    assert_eq!(terminal.end(), Some(143));
}

#[test]
fn a_resize_draws_anew_and_forty_columns_will_do() {
    let mut terminal = Terminal::start(100, 30);
    terminal.wait_for("type a message");
    terminal.press("\u{4f60}\u{597d} \u{1f600}");
    terminal.wait_for("> 你好 😀");
    terminal.resize(40, 12);
    terminal.press("!");
    terminal.wait_for("> 你好 😀!");
    terminal.wait_for("code │ offline/offline │ #0 │");
    assert_eq!(terminal.text().matches("code │").count(), 1, "{}", terminal.text());
    terminal.press("\x03\x04");
    assert_eq!(terminal.end(), Some(0));
}

/// The message of the panic must be readable, and what is typed afterwards seen.
#[test]
fn a_panic_gives_the_terminal_back_before_it_is_told() {
    let mut terminal = Terminal::run("panic", 80, 24);
    terminal.wait_for("on purpose");
    let text = String::from_utf8_lossy(&terminal.bytes).into_owned();
    assert!(text.find("\x1b[?2004l") < text.find("on purpose"), "{text:?}");
    assert_eq!(terminal.end(), Some(101));
}

#[test]
fn a_panic_beside_what_draws_is_told_and_leaves_the_terminal_as_it_is() {
    let mut terminal = Terminal::run_with("panic", 120, 24, |command| command.arg("beside"));
    terminal.wait_for("in a task");
    assert_eq!(terminal.text().matches("told: panicked at").count(), 2, "{}", terminal.text());
    terminal.press("x");
    terminal.wait_for("got 120");
    assert_eq!(terminal.end(), Some(0));
}

#[test]
fn whoever_kills_it_gets_his_terminal_back() {
    let mut terminal = Terminal::start(80, 24);
    terminal.wait_for("type a message");
    terminal.signal(Signal::TERM);
    assert_eq!(terminal.end(), Some(143));
}

#[test]
fn every_signal_that_ends_it_gives_the_terminal_back() {
    for (signal, code) in [(Signal::INT, 130), (Signal::QUIT, 131), (Signal::HUP, 129)] {
        let mut terminal = Terminal::start(80, 24);
        terminal.wait_for("type a message");
        terminal.signal(signal);
        assert_eq!(terminal.end(), Some(code), "{signal:?}");
    }
}

#[test]
fn ctrl_z_gives_the_terminal_to_the_shell_and_going_on_draws_anew() {
    let mut terminal =
        Terminal::run_with("tui", 80, 24, |command| command.env("NO_COLOR", "1").process_group(0));
    terminal.wait_for("type a message");
    terminal.press("half a thought\x1a");
    let left = terminal.wait_for_bytes("\x1b[?2004l", 0);
    let child = Pid::from_child(&terminal.child);
    terminal.until("stop", |terminal| {
        let told = waitpid(Some(child), WaitOptions::UNTRACED | WaitOptions::NOHANG).unwrap();
        let status = told.map(|(_, status)| status);
        assert!(
            status.is_none_or(rustix::process::WaitStatus::stopped),
            "{status:?} instead:\n{}",
            terminal.written()
        );
        status.is_some()
    });
    let modes = tcgetattr(&terminal.slave).unwrap().local_modes;
    assert!(modes.contains(LocalModes::ICANON | LocalModes::ECHO), "the shell got a raw terminal");
    terminal.signal(Signal::CONT);
    let back = terminal.wait_for_bytes("\x1b[?2004h", left);
    terminal.wait_for_bytes("half a thought", back);
    terminal.press("!");
    terminal.wait_for("half a thought!");
    terminal.press("\x03\x04");
    assert_eq!(terminal.end(), Some(0));
}

#[test]
fn the_terminals_answer_about_its_background_is_no_text_and_no_key_is_lost() {
    let mut terminal = Terminal::run_with("tui", 80, 24, |command| {
        command.env("TERM", "xterm-256color").env_remove("COLORTERM")
    });
    terminal.press("a");
    let asked = terminal.wait_for_bytes("\x1b]11;?\x1b\\", 0);
    terminal.press("b\x1b]11;rgb:ffff/ffff/ffff\x1b\\c");
    terminal.wait_for("> abc");
    // Blue is the light theme's, cyan the dark one's.
    terminal.wait_for_bytes("\x1b[1;34m> ", asked);
    assert!(!terminal.text().contains("rgb"), "{}", terminal.text());
    terminal.press("\x03\x04");
    assert_eq!(terminal.end(), Some(0));
}

#[test]
fn no_key_is_lost_while_the_terminal_changes_its_size() {
    let mut terminal = Terminal::start(100, 30);
    terminal.wait_for("type a message");
    for round in 0..20 {
        terminal.resize(if round % 2 == 0 { 60 } else { 100 }, 30);
        terminal.press("x");
    }
    terminal.wait_for(&"x".repeat(20));
    terminal.press("\x03\x04");
    assert_eq!(terminal.end(), Some(0));
}

#[test]
fn two_escapes_that_come_at_once_open_the_tree() {
    let mut terminal = Terminal::start(80, 24);
    terminal.wait_for("type a message");
    terminal.press("read notes.txt\r");
    terminal.wait_for("returned 1 line");
    // Escape stops a turn that has not quite ended; then nothing opens, and the next two do.
    terminal.until("open the tree", |terminal| {
        terminal.press("\x1b\x1b");
        // The next two must not close what these two are about to open.
        while !terminal.text().contains("← active") && terminal.has_more(1, 0) {
            terminal.take();
        }
        terminal.text().contains("← active")
    });
    terminal.press("\x03");
    // A key that comes when the terminal is no longer raw would make it throw away what was just written.
    terminal.until("close the tree", |terminal| !terminal.text().contains("← active"));
    terminal.signal(Signal::TERM);
    assert_eq!(terminal.end(), Some(143));
}
