//! Measures the page. Each number stands beside the same one of a small session, or of a page that does nothing: a slow machine
//! makes both slower.

use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use osier_testkit::browser::{Browser, BrowserWindow};
use serde_json::Value;

use crate::gateway::Gateway;
use crate::model::ModelServer;

const ROUNDS: usize = 5;
/// The goal for the end of a large session, on an idle machine, in milliseconds.
const PAINT_GOAL: f64 = 300.0;
/// The goal for a piece of a reply, from the model to the screen: shorter than what people notice.
const DELTA_GOAL: f64 = 100.0;
/// The goals for a tree that is scrolled: 60 frames per second, and hardly any frame that is late.
const FRAME_GOAL: f64 = 17.0;
const LATE_GOAL: f64 = 0.01;
/// The goal for the tab of a large session, in bytes.
const MEMORY_GOAL: u64 = 300_000_000;
/// The pieces of a streamed reply, and the pause between two of them.
const PIECES: usize = 400;
const PIECE_PAUSE: Duration = Duration::from_millis(20);
/// How long a tree is scrolled, in milliseconds.
const SCROLL_TIME: u32 = 4_000;

/// Notes the first frame in which the end of the conversation is drawn. A frame is painted when the next one begins.
const NOTE_PAINT: &str = "(function check() {
    const last = [...document.querySelectorAll('#transcript .entry')].at(-1);
    const isShown = last && !last.querySelector('.loading') && last.getBoundingClientRect().bottom <= innerHeight + 4 && last.getBoundingClientRect().bottom > 0;
    if (isShown) requestAnimationFrame(() => (window.painted = performance.now()));
    else requestAnimationFrame(check);
  })();";

/// Notes when the end of each piece of a streamed reply is painted: `#12 ` is piece 12.
const NOTE_PIECES: &str = "window.pieces = {};
    (function check() {
      const found = document.querySelector('.draft .body')?.textContent.match(/#(\\d+)(?!.*#\\d)/s);
      if (found) requestAnimationFrame(() => (window.pieces[found[1]] ??= performance.timeOrigin + performance.now()));
      requestAnimationFrame(check);
    })();";

pub(crate) async fn run(osier: &str, home: &str, project: &str, large: &str, small: &str) {
    let (home, project) = (Path::new(home), Path::new(project));
    let model = ModelServer::start();
    model.configure(home);
    println!("window 1280 x 900, best of {ROUNDS}");
    paint(osier, home, project, large, small).await;
    streaming(osier, home, project, &model).await;
    scrolling(osier, home, project, large, small).await;
}

/// Loads the page of a session anew. Returns the milliseconds from the navigation until its end is painted.
async fn load(browser: &Browser, gateway: &Gateway, session: &str) -> f64 {
    browser.goto("about:blank").await;
    browser.goto(&format!("{}/#session={session}", gateway.url)).await;
    browser.wait_until("window.painted").await;
    browser.evaluate("return window.painted").await.as_f64().unwrap()
}

async fn paint(osier: &str, home: &Path, project: &Path, large: &str, small: &str) {
    let mut best = [f64::INFINITY; 4];
    for _ in 0..ROUNDS {
        // First in a gateway that has just started, then in one that has the session open.
        let gateway = Gateway::start(osier, home, project);
        let browser = gateway.browser(BrowserWindow::default()).await;
        browser.evaluate_on_load(NOTE_PAINT).await;
        for (at, session) in [small, large, small, large].into_iter().enumerate() {
            best[at] = best[at].min(load(&browser, &gateway, session).await);
        }
    }
    let [small_cold, large_cold, small_warm, large_warm] = best;
    println!(
        "paint the end: {large_warm:.0} ms (small session {small_warm:.0} ms, {:.1}x); goal {PAINT_GOAL} ms: {}",
        large_warm / small_warm,
        verdict(large_warm <= PAINT_GOAL)
    );
    println!(
        "paint the end, first time after the gateway started: {large_cold:.0} ms (small session {small_cold:.0} ms)"
    );
}

fn epoch_milliseconds() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64() * 1000.0
}

async fn streaming(osier: &str, home: &Path, project: &Path, model: &ModelServer) {
    let gateway = Gateway::start(osier, home, project);
    let browser = gateway.browser(BrowserWindow::default()).await;
    browser.click("#new-session").await;
    browser.wait_until("document.querySelector('dialog').open").await;
    browser.click("dialog button.primary").await;
    browser.wait_until("document.querySelector('#model').value !== ''").await;
    browser.type_into("#prompt", "stream\u{e007}").await;
    let mut reply = model.next();
    browser.evaluate(NOTE_PIECES).await;
    let mut sent = Vec::new();
    for piece in 0..PIECES {
        sent.push(epoch_milliseconds());
        reply.text(&format!("word and *word* #{piece} \n{}", if piece % 10 == 9 { "\n" } else { "" }));
        tokio::time::sleep(PIECE_PAUSE).await;
    }
    browser.wait_until(&format!("window.pieces['{}']", PIECES - 1)).await;
    let painted = browser.evaluate("return window.pieces").await;
    reply.end("stop");
    // A piece is painted with the first frame that shows it or a later one.
    let mut delays = Vec::new();
    let mut next = f64::INFINITY;
    for piece in (0..PIECES).rev() {
        next = painted[piece.to_string()].as_f64().unwrap_or(f64::INFINITY).min(next);
        delays.push(next - sent[piece]);
    }
    let frame = frames(&browser, "").await;
    let p99 = percentile(&mut delays, 0.99);
    println!(
        "delta to paint: median {:.0} ms, p99 {p99:.0} ms ({PIECES} pieces, one every {} ms; a frame takes {:.1} ms); goal {DELTA_GOAL} ms: {}",
        percentile(&mut delays, 0.5),
        PIECE_PAUSE.as_millis(),
        frame.median,
        verdict(p99 <= DELTA_GOAL)
    );
}

struct Frames {
    median: f64,
    p99: f64,
    /// Those that took longer than two of the 60 per second.
    late: usize,
    number: usize,
}

/// The times between frames while a script runs in each of them.
async fn frames(browser: &Browser, each: &str) -> Frames {
    let script = format!(
        "const done = arguments[0], times = [], end = performance.now() + {SCROLL_TIME}; let last = performance.now();
         requestAnimationFrame(function next(now) {{
           times.push(now - last); last = now; {each}
           if (now < end) requestAnimationFrame(next); else done(times.slice(2));
         }});"
    );
    let times = browser.evaluate_async(&script).await;
    let mut times: Vec<f64> = times.as_array().unwrap().iter().filter_map(Value::as_f64).collect();
    let (number, late) = (times.len(), times.iter().filter(|time| **time > 1000.0 / 30.0).count());
    Frames { median: percentile(&mut times, 0.5), p99: percentile(&mut times, 0.99), late, number }
}

async fn scrolling(osier: &str, home: &Path, project: &Path, large: &str, small: &str) {
    let gateway = Gateway::start(osier, home, project);
    let browser = gateway.browser(BrowserWindow::default()).await;
    browser.evaluate_on_load(NOTE_PAINT).await;
    load(&browser, &gateway, small).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let small_memory = browser.page_memory();
    let idle = frames(&browser, "").await;
    load(&browser, &gateway, large).await;
    let opened = Instant::now();
    browser.wait_until("/of \\d{4,}/.test(document.querySelector('#tree-status').textContent)").await;
    println!(
        "the whole tree is there {:.0} ms after the end is painted",
        opened.elapsed().as_secs_f64() * 1000.0
    );
    browser.evaluate("document.querySelector('#tree').scrollTop = 0").await;
    let scrolled = frames(&browser, "document.querySelector('#tree').scrollTop += 400;").await;
    let late = scrolled.late as f64 / scrolled.number.max(1) as f64;
    println!(
        "scroll the tree: a frame takes {:.1} ms, p99 {:.1} ms, {} of {} late (a page that does nothing: {:.1} ms, p99 {:.1} ms, {} of {} late); goal {FRAME_GOAL} ms, {:.0} % late: {}",
        scrolled.median,
        scrolled.p99,
        scrolled.late,
        scrolled.number,
        idle.median,
        idle.p99,
        idle.late,
        idle.number,
        100.0 * LATE_GOAL,
        verdict(scrolled.median <= FRAME_GOAL && late <= LATE_GOAL)
    );
    let memory = browser.page_memory();
    println!(
        "memory of the tab: {} MB (small session {} MB); goal {} MB: {}",
        memory / 1_000_000,
        small_memory / 1_000_000,
        MEMORY_GOAL / 1_000_000,
        verdict(memory <= MEMORY_GOAL)
    );
}

fn verdict(is_met: bool) -> &'static str {
    if is_met { "ok" } else { "MISS" }
}

fn percentile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let last = values.len().saturating_sub(1);
    values.get(((last as f64) * share).round() as usize).copied().unwrap_or(f64::NAN)
}
