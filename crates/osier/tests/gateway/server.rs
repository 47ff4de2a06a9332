//! A running gateway and a client of it.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::{Method, RequestBuilder, Response, StatusCode};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::run_support::{RunningCommand, osier_command};
use crate::support::{CommandOutput, TestEnv};

/// A test that waits longer fails.
const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// `osier serve` in a test environment.
pub(crate) struct TestGateway {
    pub(crate) env: Arc<TestEnv>,
    running: RunningCommand,
    port: u16,
    /// Such as `http://127.0.0.1:41234`.
    pub(crate) url: String,
    /// A one-time link.
    pub(crate) link: String,
    pub(crate) token: String,
    http: reqwest::Client,
}

/// A client that follows no redirects.
pub(crate) fn http_client() -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let none = reqwest::redirect::Policy::none();
    reqwest::Client::builder().redirect(none).timeout(TEST_TIMEOUT).build().unwrap()
}

impl TestGateway {
    pub(crate) fn start() -> TestGateway {
        TestGateway::start_in(TestEnv::new(), &[])
    }

    /// With more arguments.
    pub(crate) fn start_in(env: impl Into<Arc<TestEnv>>, args: &[&str]) -> TestGateway {
        TestGateway::serve(env.into(), &[&["--port", "0"], args].concat())
    }

    /// On the port of a gateway that has ended. Meanwhile the system may have given it to a connection of another program.
    pub(crate) fn start_on(env: Arc<TestEnv>, port: u16) -> TestGateway {
        let deadline = Instant::now() + TEST_TIMEOUT;
        loop {
            let command = osier_command(&env, &["serve", "--json", "--port", &port.to_string()]);
            match TestGateway::try_run(env.clone(), command) {
                Ok(gateway) => return gateway,
                Err(failed) => {
                    let is_taken = failed.err.contains("cannot listen on");
                    assert!(is_taken && Instant::now() < deadline, "{failed:?}");
                }
            }
        }
    }

    /// With all details in its log.
    pub(crate) fn start_with_log(env: TestEnv) -> TestGateway {
        let mut command = osier_command(&env, &["serve", "--json", "--port", "0"]);
        command.env("OSIER_LOG", "debug");
        TestGateway::run(env.into(), command)
    }

    fn serve(env: Arc<TestEnv>, args: &[&str]) -> TestGateway {
        let command = osier_command(&env, &[&["serve", "--json"], args].concat());
        TestGateway::run(env, command)
    }

    pub(crate) fn run(env: Arc<TestEnv>, command: Command) -> TestGateway {
        TestGateway::try_run(env, command).unwrap_or_else(|failed| panic!("{failed:?}"))
    }

    /// The output of a gateway that does not start.
    fn try_run(env: Arc<TestEnv>, mut command: Command) -> Result<TestGateway, CommandOutput> {
        // Files of the page as somebody works on them, without a build.
        command.envs(std::env::var_os("OSIER_WEB_FILES").map(|folder| ("OSIER_WEB_FILES", folder)));
        let mut running = RunningCommand::start(command);
        let Some(started) = running.out.find_until("\n") else { return Err(running.wait()) };
        let started: Value = serde_json::from_str(&started).unwrap();
        let text = |key: &str| started[key].as_str().unwrap().to_owned();
        let port = text("address").parse::<SocketAddr>().unwrap().port();
        let token = fs::read_to_string(env.home().join("gateway-token")).unwrap().trim().to_owned();
        let (url, link) = (text("url"), text("link"));
        Ok(TestGateway { env, running, port, url, link, token, http: http_client() })
    }

    /// Another gateway with the same home folder.
    pub(crate) fn start_beside(&self) -> TestGateway {
        TestGateway::start_in(self.env.clone(), &[])
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// A request without a token.
    pub(crate) fn plain(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.url))
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.plain(method, path).bearer_auth(&self.token)
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        ok(self.request(Method::GET, path).send().await.unwrap()).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Value {
        ok(self.request(Method::POST, path).json(&body).send().await.unwrap()).await
    }

    /// The status and the code of a request that must fail.
    pub(crate) async fn fails(&self, method: Method, path: &str, body: Value) -> (u16, String) {
        failed(self.request(method, path).json(&body).send().await.unwrap()).await
    }

    /// Creates a session and returns the path of its resources.
    pub(crate) async fn create(&self) -> String {
        let session = self.post("/api/sessions", json!({})).await;
        format!("/api/sessions/{}", session["id"].as_str().unwrap())
    }

    /// A session with these user messages, and the ids of their entries.
    pub(crate) async fn create_with(&self, texts: &[&str]) -> (String, Vec<String>) {
        let session = self.create().await;
        let mut ids = Vec::new();
        for text in texts {
            let message = json!({ "message": { "role": "user", "content": text } });
            let stored = self.post(&format!("{session}/messages"), message).await;
            ids.push(stored["id"].as_str().unwrap().to_owned());
        }
        (session, ids)
    }

    /// The ids of the active path.
    pub(crate) async fn active_path(&self, session: &str) -> Value {
        self.get(&format!("{session}/snapshot?withoutContext=true")).await["activePath"].clone()
    }

    /// Sends raw bytes and returns the raw response.
    pub(crate) fn raw(&self, request: &str) -> String {
        let mut socket = TcpStream::connect(("127.0.0.1", self.port())).unwrap();
        socket.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
        socket.write_all(request.as_bytes()).unwrap();
        let mut response = Vec::new();
        // The gateway may close the connection before it has read everything.
        let _ = socket.read_to_end(&mut response);
        String::from_utf8_lossy(&response).into_owned()
    }

    /// The resident memory of the gateway in kilobytes, and how many files and connections it has open.
    pub(crate) fn resources(&self) -> (usize, usize) {
        let process = std::path::PathBuf::from(format!("/proc/{}", self.running.child.id()));
        let status = fs::read_to_string(process.join("status")).unwrap();
        let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB"));
        (memory.unwrap().parse().unwrap(), fs::read_dir(process.join("fd")).unwrap().count())
    }

    pub(crate) fn stop(self) -> (CommandOutput, Arc<TestEnv>) {
        self.running.signal(Signal::INT);
        (self.running.wait(), self.env)
    }

    /// Ends it like a power failure.
    pub(crate) fn kill(self) -> Arc<TestEnv> {
        self.running.signal(Signal::KILL);
        self.running.wait();
        self.env
    }
}

pub(crate) async fn ok(response: Response) -> Value {
    let (status, url) = (response.status(), response.url().clone());
    let text = response.text().await.unwrap();
    assert!(status.is_success(), "{url}: {status} {text}");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{url}: {error} in {text}"))
}

pub(crate) async fn failed(response: Response) -> (u16, String) {
    let (status, url) = (response.status(), response.url().clone());
    assert!(status != StatusCode::OK && !status.is_success(), "{url}: {status}");
    let error: Value = response.json().await.unwrap();
    assert!(error["message"].as_str().is_some_and(|text| !text.is_empty()), "{error}");
    (status.as_u16(), error["code"].as_str().unwrap().to_owned())
}
