//! A running `osier serve`, and a browser that is logged in to it.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use osier_testkit::browser::{Browser, BrowserWindow};
use serde_json::Value;

/// See the module documentation. It ends with this value.
pub(crate) struct Gateway {
    process: Child,
    command: Box<dyn Fn() -> Command>,
    pub(crate) url: String,
}

impl Gateway {
    pub(crate) fn start(osier: &str, home: &Path, project: &Path) -> Gateway {
        let (osier, home, project) = (osier.to_owned(), home.to_owned(), project.to_owned());
        let command: Box<dyn Fn() -> Command> = Box::new(move || {
            let mut command = Command::new(&osier);
            command.env("OSIER_HOME", &home).env("HOME", &home).env("DEMO_KEY", "none").current_dir(&project);
            command
        });
        let mut serve = command();
        serve
            .args(["serve", "--json", "--port", "0"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut process = serve.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let started: Value = serde_json::from_str(&line).unwrap();
        Gateway { process, command, url: started["url"].as_str().unwrap().to_owned() }
    }

    /// The output of a command that must succeed.
    pub(crate) fn run(&self, args: &[&str]) -> String {
        let output = (self.command)().args(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    pub(crate) async fn browser(&self, window: BrowserWindow) -> Browser {
        let browser = Browser::start(window).await.expect("OSIER_NO_BROWSER is not set");
        let port = self.url.rsplit(':').next().unwrap();
        browser.goto(&self.run(&["token", "link", "--port", port])).await;
        browser.wait_until("document.body.dataset.connection === 'connected'").await;
        browser
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
