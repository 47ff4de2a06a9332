//! A real browser for tests of pages: Debian's Chromium, driven by its WebDriver, with a temporary profile and free ports.
//! Both end with the test, even if it is killed.
//!
//! `cargo xtask test` installs them. If `OSIER_NO_BROWSER` is set, tests that need a browser print `NOT RUN`.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fantoccini::elements::Element;
use fantoccini::error::CmdError;
use fantoccini::wd::WebDriverCompatibleCommand;
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use tempfile::TempDir;

/// The driver and the browser are one process group, which ends when this script's input ends. The script closes its own output,
/// so that the output ends if the driver does.
const GUARD_SCRIPT: &str = r#""$@" & exec >/dev/null; cat; kill -s KILL -- -$$"#;

/// A condition that is not true by then fails the test.
const CONDITION_TIMEOUT: Duration = Duration::from_secs(60);
/// How long the browser may take to load a page or to run a script.
const BROWSER_TIMEOUT: Duration = Duration::from_secs(90);
/// A driver that takes longer to answer fails the test: without a limit, the test would never end.
const DRIVER_TIMEOUT: Duration = Duration::from_secs(120);
/// Before keys that the page did not take are sent again.
const PRESS_PAUSE: Duration = Duration::from_millis(20);

const FLAGS: &[&str] = &[
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    // What scripts do not catch is in the log.
    "--enable-logging",
];

/// The window of a browser.
#[derive(Debug, Clone, Copy)]
pub struct BrowserWindow {
    pub width: u32,
    pub height: u32,
    /// The system prefers dark pages.
    pub dark: bool,
}

impl Default for BrowserWindow {
    fn default() -> BrowserWindow {
        BrowserWindow { width: 1280, height: 900, dark: false }
    }
}

/// A running browser with one window.
#[derive(Debug)]
pub struct Browser {
    pub client: Client,
    driver: Child,
    profile: TempDir,
    /// The scripts of the page may fail.
    expects_errors: AtomicBool,
}

impl Browser {
    /// Starts a browser. `None` if tests shall run without one.
    pub async fn start(window: BrowserWindow) -> Option<Browser> {
        if std::env::var_os("OSIER_NO_BROWSER").is_some() {
            // Directly to standard error, which the test harness does not capture.
            let _ = std::io::stderr().write_all(b"NOT RUN: a test that needs a browser\n");
            return None;
        }
        let (driver, port) = start_driver();
        let profile = TempDir::new().expect("a temporary folder");
        let mut flags: Vec<String> = FLAGS.iter().map(ToString::to_string).collect();
        flags.push(format!("--window-size={},{}", window.width, window.height));
        flags.push(format!("--user-data-dir={}", profile.path().display()));
        if window.dark {
            flags.push("--force-dark-mode".to_owned());
        }
        let capabilities = json!({
            "goog:chromeOptions": { "args": flags },
            "goog:loggingPrefs": { "browser": "ALL" },
            "timeouts": { "pageLoad": BROWSER_TIMEOUT.as_millis(), "script": BROWSER_TIMEOUT.as_millis() },
            // Dialogs stay open, so that tests notice them.
            "unhandledPromptBehavior": "ignore",
        });
        let Value::Object(capabilities) = capabilities else { unreachable!("an object") };
        let mut builder = ClientBuilder::new(HttpConnector::new());
        let address = format!("http://127.0.0.1:{port}");
        let client = limited("start", builder.capabilities(capabilities).connect(&address)).await;
        let client = client.expect("a browser session");
        Some(Browser { client, driver, profile, expects_errors: AtomicBool::new(false) })
    }

    /// Without this, an error that the scripts of a page do not catch fails the test at its end.
    pub fn expect_errors(&self) {
        self.expects_errors.store(true, Ordering::Relaxed);
    }

    /// What the scripts of the pages did not catch so far.
    pub fn uncaught_errors(&self) -> Vec<String> {
        let log =
            std::fs::read(self.profile.path().join("chrome_debug.log")).expect("the log of the browser");
        let log = String::from_utf8_lossy(&log);
        log.lines()
            .filter(|line| line.contains(":CONSOLE:") && line.contains("\"Uncaught "))
            .map(str::to_owned)
            .collect()
    }

    /// Opens an address.
    pub async fn goto(&self, address: &str) {
        run(&format!("goto {address}"), self.client.goto(address)).await;
    }

    /// Loads the page again.
    pub async fn refresh(&self) {
        run("refresh", self.client.refresh()).await;
    }

    /// Evaluates the body of a JavaScript function.
    pub async fn evaluate(&self, script: &str) -> Value {
        run(script, self.client.execute(script, Vec::new())).await
    }

    /// Evaluates the body of a JavaScript function whose last argument is called with the result.
    pub async fn evaluate_async(&self, script: &str) -> Value {
        run(script, self.client.execute_async(script, Vec::new())).await
    }

    /// Waits until an expression is true.
    pub async fn wait_until(&self, expression: &str) {
        let script = format!(
            "const done = arguments[arguments.length - 1], end = Date.now() + {};
             (function check() {{
               let isTrue = false;
               try {{ isTrue = Boolean({expression}); }} catch {{}}
               if (isTrue || Date.now() > end) done(isTrue); else setTimeout(check, 20);
             }})();",
            CONDITION_TIMEOUT.as_millis()
        );
        if self.evaluate_async(&script).await != Value::Bool(true) {
            let shown = self.evaluate("return document.body?.innerText.slice(-4000)").await;
            panic!("never true: {expression}\nthe page shows: {}", shown.as_str().unwrap_or_default());
        }
    }

    /// Clicks an element as soon as nothing covers it. The place is found and clicked in one step of the page: it may move or be
    /// replaced at any time, and a click of the driver would then hit something else.
    pub async fn click(&self, selector: &str) {
        self.wait_until(&format!("({PRESS})({})", json!(selector))).await;
    }

    /// Types into an element. Special keys are the characters of `fantoccini::key::Key`. An element that the page replaces or shows
    /// meanwhile is found again.
    pub async fn type_into(&self, selector: &str, keys: &str) {
        let visible = format!("document.querySelector({})?.checkVisibility()", json!(selector));
        let type_keys = async {
            loop {
                self.wait_until(&visible).await;
                let Ok(element) = self.client.find(Locator::Css(selector)).await else { continue };
                if took_keys(&element, keys).await {
                    return;
                }
            }
        };
        limited(selector, type_keys).await;
    }

    /// Chooses a file in an input for files, which may be hidden.
    pub async fn choose_file(&self, selector: &str, file: &Path) {
        let input = run(selector, self.client.find(Locator::Css(selector))).await;
        run(selector, input.send_keys(file.to_str().expect("a path of a test"))).await;
    }

    /// Types into the element that has the focus. The page may move the focus, or replace the element, meanwhile.
    pub async fn press(&self, keys: &str) {
        let type_keys = async {
            while !took_keys(&run("active element", self.client.active_element()).await, keys).await {
                tokio::time::sleep(PRESS_PAUSE).await;
            }
        };
        limited(keys, type_keys).await;
    }

    /// Evaluates a script in every page from now on, before its own scripts.
    pub async fn evaluate_on_load(&self, script: &str) {
        self.devtools("Page.addScriptToEvaluateOnNewDocument", json!({ "source": script })).await;
    }

    /// Sends a command of the DevTools protocol.
    pub async fn devtools(&self, command: &'static str, params: Value) -> Value {
        run(command, self.client.issue_cmd(DevToolsCommand { command, params })).await
    }

    /// The memory of the pages, in bytes: what their processes have in use and share with no other.
    pub fn page_memory(&self) -> u64 {
        let group = self.driver.id();
        let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        processes.map(|process| page_process_memory(&process.path(), group)).sum()
    }

    pub async fn screenshot(&self) -> Vec<u8> {
        run("screenshot", self.client.screenshot()).await
    }
}

/// Types into an element, unless the page replaces or hides it: then nothing was typed.
async fn took_keys(element: &Element, keys: &str) -> bool {
    match element.send_keys(keys).await {
        Ok(()) => true,
        Err(error) if error.is_stale_element_reference() || error.is_element_not_interactable() => false,
        Err(error) => panic!("{error} in {keys:?}"),
    }
}

/// Waits for the driver, but not forever.
async fn limited<T>(what: &str, command: impl Future<Output = T>) -> T {
    let answer = tokio::time::timeout(DRIVER_TIMEOUT, command).await;
    answer.unwrap_or_else(|_| panic!("the browser did not answer: {what}"))
}

/// Runs a command that must succeed.
async fn run<T>(what: &str, command: impl Future<Output = Result<T, CmdError>>) -> T {
    limited(what, command).await.unwrap_or_else(|error| panic!("{error} in {what}"))
}

/// See [`Browser::devtools`].
#[derive(Debug)]
struct DevToolsCommand {
    command: &'static str,
    params: Value,
}

impl WebDriverCompatibleCommand for DevToolsCommand {
    fn endpoint(&self, base: &url::Url, session: Option<&str>) -> Result<url::Url, url::ParseError> {
        base.join(&format!("session/{}/goog/cdp/execute", session.unwrap_or_default()))
    }

    fn method_and_body(&self, _: &url::Url) -> (http::Method, Option<String>) {
        (http::Method::POST, Some(json!({ "cmd": self.command, "params": self.params }).to_string()))
    }
}

/// 0 for a process that shows no page or is of another group.
fn page_process_memory(process: &Path, group: u32) -> u64 {
    let read = |name: &str| std::fs::read_to_string(process.join(name)).unwrap_or_default();
    // After the name in parentheses: state, parent, group.
    let stat = read("stat");
    let group_of = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(2)).map(str::to_owned);
    if group_of != Some(group.to_string()) || !read("cmdline").contains("--type=renderer") {
        return 0;
    }
    let usage = read("smaps_rollup");
    let kilobytes = |name: &str| -> u64 {
        let line = usage.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        line.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or(0)
    };
    (kilobytes("Private_Clean:") + kilobytes("Private_Dirty:")) * 1024
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The guard kills the group when its input ends.
        drop(self.driver.stdin.take());
        let _ = self.driver.wait();
        if !std::thread::panicking() && !self.expects_errors.load(Ordering::Relaxed) {
            let errors = self.uncaught_errors();
            assert!(errors.is_empty(), "the page did not catch: {errors:#?}");
        }
    }
}

/// Starts the driver on a free port. One that another program takes meanwhile makes it end, so it is tried again.
fn start_driver() -> (Child, u16) {
    let advice = "cannot start chromedriver; run `cargo xtask test`, or install chromium and chromium-driver, or set OSIER_NO_BROWSER=1";
    (0..3).find_map(|_| try_start_driver()).expect(advice)
}

/// `None` if the driver ends before it listens.
fn try_start_driver() -> Option<(Child, u16)> {
    let mut guard = Command::new("sh");
    guard.args(["-c", GUARD_SCRIPT, "guard", "chromedriver", "--port=0"]).process_group(0);
    guard.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut guard = guard.spawn().expect("sh");
    let output = guard.stdout.take().expect("a pipe");
    let port = BufReader::new(output).lines().map_while(Result::ok).find_map(|line| {
        let (_, port) = line.split_once("started successfully on port ")?;
        port.trim_end_matches('.').parse().ok()
    });
    Some((guard, port?))
}

/// Presses an element with the mouse, and returns whether it could: it must be enabled and in view, with nothing before it.
const PRESS: &str = r"(selector) => {
  const part = document.querySelector(selector);
  if (!part?.checkVisibility() || part.disabled) return false;
  const inView = () => { const box = part.getBoundingClientRect(); return [box.left + box.width / 2, box.top + box.height / 2]; };
  const isFree = ([x, y]) => { const top = document.elementFromPoint(x, y); return top !== null && (part.contains(top) || top.closest('label')?.contains(part)); };
  if (!isFree(inView())) part.scrollIntoView({ block: 'center', behavior: 'instant' });
  if (!isFree(inView())) return false;
  const [clientX, clientY] = inView();
  const options = { bubbles: true, cancelable: true, composed: true, clientX, clientY, button: 0, pointerId: 1, isPrimary: true };
  const pressed = part.dispatchEvent(new PointerEvent('pointerdown', options)) && part.dispatchEvent(new MouseEvent('mousedown', options));
  if (pressed) (part.closest('a[href], button, input, select, textarea, summary, [tabindex]') ?? document.activeElement)?.focus({ preventScroll: true });
  part.dispatchEvent(new PointerEvent('pointerup', options));
  part.dispatchEvent(new MouseEvent('mouseup', options));
  part.click();
  return true;
}";

/// An expression for the text of a page that has too little contrast: less than 4.5:1. Empty if there is none.
pub const LOW_CONTRAST: &str = r"(() => {
  const context = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgba = (color) => { context.clearRect(0, 0, 1, 1); context.fillStyle = color; context.fillRect(0, 0, 1, 1); const [r, g, b, a] = context.getImageData(0, 0, 1, 1).data; return [r, g, b, a / 255]; };
  const over = (top, below) => [0, 1, 2].map((at) => top[at] * top[3] + below[at] * (1 - top[3]));
  const light = ([r, g, b]) => [r, g, b].map((value) => { const part = value / 255; return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4; }).reduce((sum, part, at) => sum + part * [0.2126, 0.7152, 0.0722][at], 0);
  const background = (part) => { let color = [0, 0, 0, 0]; const all = []; for (let at = part; at; at = at.parentElement) all.unshift(rgba(getComputedStyle(at).backgroundColor)); return all.reduce((below, top) => over(top, below), [255, 255, 255]); };
  const found = new Set();
  for (const part of document.querySelectorAll('body *')) {
    const hasText = [...part.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    const style = getComputedStyle(part);
    if (!hasText || part.closest('script, noscript, #message, .skip, .visually-hidden, [hidden], button:disabled') || part.closest('.copy')) continue;
    let opacity = 1;
    for (let at = part; at; at = at.parentElement) opacity *= Number(getComputedStyle(at).opacity);
    // It is shown when it is needed.
    if (opacity === 0) continue;
    const below = background(part);
    const [red, green, blue, alpha] = rgba(style.color);
    const text = over([red, green, blue, alpha * opacity], below);
    const [a, b] = [light(text), light(below)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) found.add(`${part.tagName}.${part.className} ${ratio.toFixed(2)}`);
  }
  return [...found].join('\n');
})()";
