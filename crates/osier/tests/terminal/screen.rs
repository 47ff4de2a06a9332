//! A terminal of 80 by 24, or of another size, with `osier` on it.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use osier_testkit::ScriptedSession;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use crate::run_support::{Server, osier};
use crate::support::World;

/// A test that waits longer has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long a key may go unseen before it is pressed again.
const AGAIN: Duration = Duration::from_secs(1);

/// Longer than the pause before a key that answers a question.
const ALONE: Duration = Duration::from_millis(400);

/// What stands in an editor that waits for the first words.
pub(crate) const READY: &str = "type a message, or /help";

/// As a terminal sends it that tells keys apart: no other key can be part of it.
pub(crate) const ESCAPE: &str = "\x1b[27u";
/// As any other sends it.
pub(crate) const PLAIN_ESCAPE: &str = "\x1b";
pub(crate) const CTRL_C: &str = "\x03";
pub(crate) const CTRL_D: &str = "\x04";
const CTRL_U: &str = "\x15";
pub(crate) const UP: &str = "\x1b[A";

/// See the module.
pub(crate) struct Screen {
    master: File,
    slave: File,
    parser: vt100::Parser,
    /// Everything that was written, as it was.
    pub(crate) bytes: Vec<u8>,
    child: Child,
}

/// `osier` in a world, on a terminal without colours.
pub(crate) fn open(world: &World, args: &[&str]) -> Screen {
    Screen::start(osier(world, args), 80, 24)
}

/// Goes on with the session of a script, as if the server had been its model all the time.
pub(crate) fn with_script(server: &Server, script: &str) -> (World, Screen) {
    let world = server.world();
    let file = String::from_utf8(ScriptedSession::run(script).file()).unwrap();
    let ours = r#""provider":"local","model":"test""#;
    world.write("s.jsonl", file.replace(r#""provider":"anthropic","model":"claude""#, ours));
    let screen = open(&world, &["--session", "s.jsonl"]);
    (world, screen)
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
        // The emulator cuts lines when it gets narrower, as xterm does.
        let child = command.env("XTERM_VERSION", "XTerm").spawn().unwrap();
        let parser = vt100::Parser::new(rows, columns, 1000);
        Screen { master: File::from(master), slave, parser, bytes: Vec::new(), child }
    }

    pub(crate) fn press(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).unwrap();
    }

    /// Types a line and ends it.
    pub(crate) fn say(&mut self, line: &str) {
        self.press(line);
        self.press("\r");
    }

    /// What a person sees.
    pub(crate) fn text(&self) -> String {
        self.parser.screen().contents()
    }

    /// What has scrolled off, line by line.
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

    /// What a person sees, line by line, without what differs from run to run.
    pub(crate) fn shown(&self, world: &World) -> String {
        let lines: Vec<String> = self.text().lines().map(|line| line.trim_end().to_owned()).collect();
        world.named(&lines.join("\n")) + "\n"
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
        self.wait_until(&format!("anything but {unwanted}"), |text| !text.contains(unwanted));
    }

    /// Reads until the screen is as it should be.
    #[track_caller]
    pub(crate) fn wait_until(&mut self, what: &str, is_so: impl Fn(&str) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while self.is_drawing() || !is_so(&self.text()) {
            let is_late = !self.read(deadline.saturating_duration_since(Instant::now()));
            assert!(!is_late, "{what:?} does not come:\n{}", self.text());
        }
    }

    /// Whether the program has begun a frame that has not arrived completely.
    fn is_drawing(&self) -> bool {
        let last = |mark: &[u8]| self.bytes.windows(mark.len()).rposition(|bytes| bytes == mark);
        last(b"\x1b[?2026h") > last(b"\x1b[?2026l")
    }

    /// Presses a key until the screen shows that it was taken.
    #[track_caller]
    pub(crate) fn insist(&mut self, key: &str, is_taken: impl Fn(&str) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !is_taken(&self.text()) {
            assert!(Instant::now() < deadline, "{key:?} is not taken:\n{}", self.text());
            self.press(key);
            let next = Instant::now() + AGAIN;
            while !is_taken(&self.text()) && self.read(next.saturating_duration_since(Instant::now())) {}
        }
    }

    /// Answers the question whether a tool may do something.
    #[track_caller]
    pub(crate) fn answer(&mut self, key: &str) {
        self.wait_for("Allow ");
        self.answer_until(key, |text| !text.contains("Allow "));
    }

    /// Answers by a key that counts only if no other is pressed for a while before and after it. One that came too early is
    /// in the draft, from where it is erased.
    #[track_caller]
    pub(crate) fn answer_until(&mut self, key: &str, is_taken: impl Fn(&str) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !is_taken(&self.text()) {
            assert!(Instant::now() < deadline, "{key:?} is not taken:\n{}", self.text());
            self.press(CTRL_U);
            self.read_for(ALONE);
            self.press(key);
            let next = Instant::now() + AGAIN;
            while !is_taken(&self.text()) && self.read(next.saturating_duration_since(Instant::now())) {}
        }
    }

    fn read_for(&mut self, time: Duration) {
        let end = Instant::now() + time;
        while self.read(end.saturating_duration_since(Instant::now())) {}
    }

    /// More of what the program wrote; false if nothing came in time.
    fn read(&mut self, patience: Duration) -> bool {
        let patience = Timespec {
            tv_sec: patience.as_secs().try_into().unwrap(),
            tv_nsec: patience.subsec_nanos().into(),
        };
        let mut waiting = [PollFd::new(&self.master, PollFlags::IN)];
        if poll(&mut waiting, Some(&patience)).unwrap() == 0 {
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

    /// Leaves by the key for it, also if a turn has not quite ended.
    #[track_caller]
    pub(crate) fn leave(mut self) -> String {
        self.press(CTRL_D);
        let deadline = Instant::now() + PATIENCE;
        let asks = |screen: &Screen| screen.text().contains("Quit while a");
        while self.child.try_wait().unwrap().is_none() && !asks(&self) && Instant::now() < deadline {
            self.read(Duration::from_millis(20));
        }
        if asks(&self) {
            self.press("2");
        }
        let (code, rest) = self.end();
        assert_eq!(code, Some(0), "{rest}");
        rest
    }

    /// Waits for the end, of which it gives the exit code and the last screen. The terminal must be as it was before.
    #[track_caller]
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            self.read(Duration::from_millis(20));
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < deadline, "it does not end:\n{}", self.text());
        };
        let modes = tcgetattr(&self.slave).unwrap().local_modes;
        drop(std::mem::replace(&mut self.slave, File::open("/dev/null").unwrap()));
        while self.read(PATIENCE) {}
        // Whoever is killed outright cannot tidy up.
        if status.code().is_some() {
            assert!(modes.contains(LocalModes::ICANON | LocalModes::ECHO), "raw mode was left on");
            self.everything_is_off();
        }
        (status.code(), self.text())
    }

    #[track_caller]
    fn everything_is_off(&self) {
        let text = String::from_utf8_lossy(&self.bytes).into_owned();
        let pairs = [("\x1b[?2004h", "\x1b[?2004l"), ("\x1b[?25l", "\x1b[?25h"), ("\x1b[>1u", "\x1b[<1u")];
        for (on, off) in pairs {
            assert!(text.rfind(on) <= text.rfind(off), "{on:?} was left on");
        }
    }
}

fn size(columns: u16, rows: u16) -> Winsize {
    Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}

/// A test that fails leaves no process behind.
impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
