//! The interface on a real terminal, with a real session and the built-in model.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

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

/// A program that writes nothing for this many seconds has failed.
const TIMEOUT_SECONDS: i64 = 60;

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
        // The emulator truncates lines when it gets narrower, as xterm does.
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

    /// Reads until the screen shows a text.
    #[track_caller]
    fn wait_for(&mut self, wanted: &str) {
        while !self.text().contains(wanted) {
            assert!(self.read(), "timeout waiting for {wanted:?}:\n{}\n{}", self.text(), self.written());
        }
    }

    /// Reads until these bytes appear after an offset, and returns the offset after them.
    #[track_caller]
    fn wait_for_bytes(&mut self, wanted: &str, from: usize) -> usize {
        loop {
            let text = String::from_utf8_lossy(&self.bytes[from..]).into_owned();
            match text.find(wanted) {
                Some(at) => return from + at + wanted.len(),
                None => assert!(self.read(), "timeout waiting for {wanted:?}: {text:?}"),
            }
        }
    }

    /// Reads more output. Returns false on timeout and at the end.
    fn read(&mut self) -> bool {
        self.wait_for_output(TIMEOUT_SECONDS, 0) && self.read_available()
    }

    fn wait_for_output(&self, tv_sec: i64, tv_nsec: i64) -> bool {
        let mut waiting = [PollFd::new(&self.master, PollFlags::IN)];
        poll(&mut waiting, Some(&Timespec { tv_sec, tv_nsec })).unwrap() > 0
    }

    fn read_available(&mut self) -> bool {
        let mut buffer = [0; 4096];
        let Ok(count @ 1..) = self.master.read(&mut buffer) else { return false };
        self.parser.process(&buffer[..count]);
        self.bytes.extend_from_slice(&buffer[..count]);
        true
    }

    fn text(&self) -> String {
        self.parser.screen().contents()
    }

    /// All output, with escape sequences made readable.
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

    /// Waits for a condition that the screen does not show.
    #[track_caller]
    fn wait_until(&mut self, what: &str, mut holds: impl FnMut(&mut Terminal) -> bool) {
        for _ in 0..10 * TIMEOUT_SECONDS {
            if holds(self) {
                return;
            }
            if self.wait_for_output(0, 100_000_000) {
                self.read_available();
            }
        }
        panic!("timeout waiting to {what}:\n{}\n{}", self.text(), self.written());
    }

    /// Waits for the exit, and checks that the terminal is restored.
    #[track_caller]
    fn end(mut self) -> Option<i32> {
        let mut status = None;
        self.wait_until("exit", |terminal| {
            status = terminal.child.try_wait().unwrap();
            status.is_some()
        });
        let code = status.unwrap().code();
        let modes = tcgetattr(&self.slave).unwrap().local_modes;
        assert!(modes.contains(LocalModes::ICANON | LocalModes::ECHO), "raw mode was left on");
        // Read the remaining output while the slave is still open: closing it may discard the output.
        while self.wait_for_output(0, 200_000_000) && self.read_available() {}
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
        // Do not leave a process behind when a test fails; errors mean that it has already exited.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The path of an example, which `cargo test` builds next to the tests.
fn example(name: &str) -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let path = tests.parent().unwrap().parent().unwrap().join("examples").join(name);
    assert!(path.exists(), "build the examples first: cargo build -p osier-tui --examples");
    path
}

#[test]
fn a_session_with_a_prompt_the_tree_a_move_and_undo() {
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
fn the_interface_asks_the_hooks_once_about_each_operation() {
    let mut terminal = Terminal::start(80, 24);
    terminal.wait_for("type a message, or /help");
    terminal.press("read notes.txt\r");
    terminal.wait_for("returned 1 line");
    terminal.press("/tree\r");
    terminal.wait_for("← active");
    terminal.press("\x1b[H\r");
    terminal.wait_for("Summarize the branch you are leaving?");
    terminal.press("1");
    terminal.wait_for("Moved from");
    terminal.press("\x1bu");
    terminal.wait_for("Undone: moved");
    terminal.press("\x03");
    terminal.press("/quit\r");
    let call = "turn_start context before_provider_request after_provider_response";
    let expected = format!(
        "hooks session_opened session_start input before_agent_start agent_start {call} tool_call tool_result turn_end \
         {call} turn_end agent_end session_before_tree session_tree session_before_tree session_tree"
    );
    terminal.wait_for_bytes(&expected, 0);
    assert_eq!(terminal.end(), Some(0));
}

#[test]
fn a_refused_operation_changes_nothing_on_the_screen() {
    let mut terminal = Terminal::run_with("tui", 80, 24, |command| {
        command.env("NO_COLOR", "1").env("REFUSE", "tool_call,session_before_tree")
    });
    terminal.wait_for("type a message, or /help");
    terminal.press("read notes.txt\r");
    terminal.wait_for("refused");
    terminal.press("/tree\r");
    terminal.wait_for("← active");
    terminal.press("\x1b[H\r");
    terminal.wait_for("Summarize the branch you are leaving?");
    terminal.press("1");
    terminal.wait_for("The move was refused");
    assert!(!terminal.written().contains("buy milk"), "{}", terminal.text());
    terminal.signal(Signal::TERM);
    assert_eq!(terminal.end(), Some(143));
}

#[test]
fn nothing_is_written_before_it_is_allowed() {
    let mut terminal = Terminal::start(60, 20);
    terminal.wait_for("type a message");
    terminal.press("write hello to new.txt\r");
    terminal.wait_for("Allow write to create new.txt?");
    let path = terminal.folder.path().join("code").join("new.txt");
    assert!(!path.exists());
    // A key pressed too early is not an answer, so press it again.
    let (started, mut pressed) = (Instant::now(), Instant::now());
    while !path.exists() {
        assert!(started.elapsed() < Duration::from_secs(60), "timeout:\n{}", terminal.text());
        if pressed.elapsed() > Duration::from_secs(1) {
            terminal.press("y");
            pressed = Instant::now();
        }
        assert!(terminal.read(), "timeout");
    }
    terminal.wait_for("Done: write new.txt");
    assert!(path.exists());
    // The turn may still be running, so quit with a signal instead of a key.
    terminal.signal(Signal::TERM);
    assert_eq!(terminal.end(), Some(143));
}

#[test]
fn a_resize_redraws_and_forty_columns_are_enough() {
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

/// The panic message must be readable, and the shell must echo input again.
#[test]
fn a_panic_restores_the_terminal_before_its_message_is_printed() {
    let mut terminal = Terminal::run("panic", 80, 24);
    terminal.wait_for("on purpose");
    let text = String::from_utf8_lossy(&terminal.bytes).into_owned();
    assert!(text.find("\x1b[?2004l") < text.find("on purpose"), "{text:?}");
    assert_eq!(terminal.end(), Some(101));
}

#[test]
fn a_background_panic_is_reported_and_keeps_raw_mode() {
    let mut terminal = Terminal::run_with("panic", 120, 24, |command| command.arg("background"));
    terminal.wait_for("in a task");
    assert_eq!(terminal.text().matches("reported: panicked at").count(), 2, "{}", terminal.text());
    terminal.press("x");
    terminal.wait_for("got 120");
    assert_eq!(terminal.end(), Some(0));
}

#[test]
fn sigterm_restores_the_terminal() {
    let mut terminal = Terminal::start(80, 24);
    terminal.wait_for("type a message");
    terminal.signal(Signal::TERM);
    assert_eq!(terminal.end(), Some(143));
}

#[test]
fn every_exit_signal_restores_the_terminal() {
    for (signal, code) in [(Signal::INT, 130), (Signal::QUIT, 131), (Signal::HUP, 129)] {
        let mut terminal = Terminal::start(80, 24);
        terminal.wait_for("type a message");
        terminal.signal(signal);
        assert_eq!(terminal.end(), Some(code), "{signal:?}");
    }
}

#[test]
fn ctrl_z_restores_the_terminal_and_continuing_redraws() {
    let mut terminal =
        Terminal::run_with("tui", 80, 24, |command| command.env("NO_COLOR", "1").process_group(0));
    terminal.wait_for("type a message");
    terminal.press("half a thought\x1a");
    let left = terminal.wait_for_bytes("\x1b[?2004l", 0);
    let child = Pid::from_child(&terminal.child);
    terminal.wait_until("stop", |terminal| {
        let waited = waitpid(Some(child), WaitOptions::UNTRACED | WaitOptions::NOHANG).unwrap();
        let status = waited.map(|(_, status)| status);
        assert!(
            status.is_none_or(rustix::process::WaitStatus::stopped),
            "{status:?} instead:\n{}",
            terminal.written()
        );
        status.is_some()
    });
    let modes = tcgetattr(&terminal.slave).unwrap().local_modes;
    assert!(modes.contains(LocalModes::ICANON | LocalModes::ECHO), "raw mode was left on");
    terminal.signal(Signal::CONT);
    let back = terminal.wait_for_bytes("\x1b[?2004h", left);
    terminal.wait_for_bytes("half a thought", back);
    terminal.press("!");
    terminal.wait_for("half a thought!");
    terminal.press("\x03\x04");
    assert_eq!(terminal.end(), Some(0));
}

#[test]
fn the_background_color_reply_is_not_typed_and_no_key_is_lost() {
    let mut terminal = Terminal::run_with("tui", 80, 24, |command| {
        command.env("TERM", "xterm-256color").env_remove("COLORTERM")
    });
    terminal.press("a");
    let asked = terminal.wait_for_bytes("\x1b]11;?\x1b\\", 0);
    terminal.press("b\x1b]11;rgb:ffff/ffff/ffff\x1b\\c");
    terminal.wait_for("> abc");
    // The light theme uses blue, the dark theme cyan.
    terminal.wait_for_bytes("\x1b[1;38;5;25m> ", asked);
    assert!(!terminal.text().contains("rgb"), "{}", terminal.text());
    terminal.press("\x03\x04");
    assert_eq!(terminal.end(), Some(0));
}

#[test]
fn no_key_is_lost_while_the_terminal_is_resized() {
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
fn two_escapes_in_one_read_open_the_tree() {
    let mut terminal = Terminal::start(80, 24);
    terminal.wait_for("type a message");
    terminal.press("read notes.txt\r");
    terminal.wait_for("returned 1 line");
    // If the turn is still running, Escape stops it and opens nothing; then try again.
    terminal.wait_until("open the tree", |terminal| {
        terminal.press("\x1b\x1b");
        // Wait, because two more escapes would close the tree again.
        while !terminal.text().contains("← active") && terminal.wait_for_output(1, 0) {
            terminal.read_available();
        }
        terminal.text().contains("← active")
    });
    terminal.press("\x03");
    // A key that arrives after raw mode ended would discard pending output.
    terminal.wait_until("close the tree", |terminal| !terminal.text().contains("← active"));
    terminal.signal(Signal::TERM);
    assert_eq!(terminal.end(), Some(143));
}
