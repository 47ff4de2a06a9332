//! Pictures of the page and of an export: every screen at desktop and phone size, light and dark.

use std::path::Path;

use osier_testkit::browser::{Browser, BrowserWindow};
use serde_json::json;

use crate::demo::{DEMO_SESSION, DemoHome};
use crate::gateway::Gateway;
use crate::model::ModelServer;
use crate::scenes;

struct Size {
    name: &'static str,
    width: u32,
    height: u32,
    is_phone: bool,
}

const SIZES: [Size; 2] = [
    Size { name: "desktop", width: 1280, height: 860, is_phone: false },
    Size { name: "phone", width: 390, height: 844, is_phone: true },
];

/// What a scene shows: a script, and what is true when it is there.
const SCENES: &[(&str, &str, &str)] = &[
    ("session", "scrollTo(0, document.body.scrollHeight)", "document.querySelector('.entry .markdown')"),
    (
        "code",
        "document.querySelector('#entry-000a1128').scrollIntoView()",
        "document.querySelector('#entry-000a1128 .table, #entry-000a1128 pre')",
    ),
    (
        "diff",
        "document.querySelector('#entry-000a10b9').scrollIntoView()",
        "document.querySelector('#entry-000a10b9 .diff')",
    ),
    (
        "thinking",
        "document.querySelector('#entry-000a106f details.thinking').open = true; document.querySelector('#entry-000a104a').scrollIntoView()",
        "document.querySelector('details.thinking[open]')",
    ),
    (
        "subagents",
        "document.querySelectorAll('.subagents details').forEach((part) => (part.open = true)); document.querySelector('.entry.kind-subagent_batch').scrollIntoView()",
        "document.querySelector('.subagents')",
    ),
    (
        "continue",
        "location.hash = location.hash.replace(/&.*/, '') + '&entry=000a104a'",
        "!document.querySelector('#continue-from').hidden",
    ),
    (
        "menu",
        "document.querySelector('#entry-000a14c5 .entry-menu').click()",
        "document.querySelector('#menu:popover-open')",
    ),
];

pub(crate) struct Pictures<'a> {
    pub(crate) browser: &'a Browser,
    folder: &'a Path,
    suffix: String,
}

impl Pictures<'_> {
    pub(crate) async fn take(&self, name: &str) {
        self.browser.wait_until("!document.querySelector('#message').matches('.shown')").await;
        // What a model answers now has the time of the picture; pictures of another day would differ.
        let times = "document.querySelectorAll('.entry time').forEach((time) => { if (time.dateTime > '2026-02') time.textContent = '09:14'; })";
        self.browser.evaluate(times).await;
        let script = "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => done(true), 250)));";
        self.browser.evaluate_async(script).await;
        let file = self.folder.join(format!("{name}-{}.png", self.suffix));
        std::fs::write(file, self.browser.screenshot().await).unwrap();
    }

    pub(crate) async fn show(&self, script: &str, until: &str) {
        self.browser.evaluate(script).await;
        self.browser.wait_until(until).await;
    }

    /// Chooses an action in the menu that a script opens.
    pub(crate) async fn choose(&self, open: &str, action: &str) {
        let item = format!(
            "[...document.querySelectorAll('#menu button')].find((item) => item.textContent.startsWith('{action}'))"
        );
        self.show(open, &item).await;
        self.browser.evaluate(&format!("{item}.click()")).await;
    }

    pub(crate) async fn close_dialog(&self) {
        self.show("document.querySelector('dialog').close()", "!document.querySelector('dialog').open").await;
    }
}

pub(crate) async fn run(osier: &str, folder: &Path) {
    std::fs::create_dir_all(folder).unwrap();
    for size in &SIZES {
        for theme in ["light", "dark"] {
            take_all(osier, folder, size, theme).await;
        }
    }
}

async fn take_all(osier: &str, folder: &Path, size: &Size, theme: &str) {
    let demo = DemoHome::build(osier, &std::env::temp_dir().join("osier-screens"));
    let model = ModelServer::start();
    model.configure(&demo.home);
    let gateway = Gateway::start(osier, &demo.home, &demo.project);
    let browser = gateway
        .browser(BrowserWindow { width: size.width, height: size.height, dark: theme == "dark" })
        .await;
    let metrics = json!({ "width": size.width, "height": size.height, "deviceScaleFactor": 1.5, "mobile": size.is_phone });
    browser.devtools("Emulation.setDeviceMetricsOverride", metrics).await;
    browser
        .devtools(
            "Emulation.setEmulatedMedia",
            json!({ "features": [{ "name": "prefers-color-scheme", "value": theme }] }),
        )
        .await;
    browser.devtools("Emulation.setLocaleOverride", json!({ "locale": "en-GB" })).await;
    browser.devtools("Emulation.setTimezoneOverride", json!({ "timezoneId": "UTC" })).await;
    browser.refresh().await;
    let pictures = Pictures { browser: &browser, folder, suffix: format!("{}-{theme}", size.name) };
    browser.wait_until("document.querySelectorAll('.session-link').length === 5").await;
    pictures.take("sessions").await;
    take_search(&pictures).await;
    take_session(&pictures, size).await;
    // Before models answer.
    let export = demo.home.join("talk.html");
    gateway.run(&["sessions", "export", DEMO_SESSION, "--output", export.to_str().unwrap()]);
    take_compare(&pictures).await;
    take_dialog(&pictures).await;
    scenes::take_turn(&pictures, &model).await;
    scenes::take_empty(&pictures).await;
    scenes::take_delegation(&pictures, &model).await;
    scenes::take_explore(&pictures, &model).await;
    take_banner(&pictures, size).await;
    take_read_only(&pictures, &gateway).await;
    take_logged_out(&pictures, &gateway).await;
    take_export(&pictures, size, &export).await;
    drop(gateway);
    let _ = std::fs::remove_dir_all(std::env::temp_dir().join("osier-screens"));
}

/// The list while it is searched.
async fn take_search(pictures: &Pictures<'_>) {
    pictures.browser.type_into("#session-search", "test").await;
    pictures.browser.wait_until("document.querySelector('.hit mark')").await;
    pictures.take("search").await;
    let clear = "const search = document.querySelector('#session-search'); search.value = ''; search.dispatchEvent(new Event('input'))";
    pictures.show(clear, "document.querySelectorAll('.session-link').length === 5").await;
}

async fn take_session(pictures: &Pictures<'_>, size: &Size) {
    pictures
        .show(
            &format!("location.hash = '#session={DEMO_SESSION}'"),
            "document.querySelectorAll('.row').length > 9 && document.querySelector('#model').value !== ''",
        )
        .await;
    // Everything is drawn once, so that every entry can be scrolled to.
    pictures
        .show("dispatchEvent(new Event('beforeprint'))", "!document.querySelector('.body.loading')")
        .await;
    for (name, script, until) in SCENES {
        pictures.show(script, until).await;
        pictures.take(name).await;
    }
    pictures.show("document.querySelector('#menu').hidePopover()", "true").await;
    pictures
        .show(
            "document.querySelector('#session-actions').click()",
            "document.querySelector('#menu:popover-open')",
        )
        .await;
    pictures.take("session-menu").await;
    pictures.show("document.querySelector('#menu').hidePopover()", "true").await;
    if size.is_phone {
        pictures.browser.click("#toggle-tree").await;
        pictures.take("tree").await;
        pictures.browser.click("#toggle-tree").await;
    }
}

async fn take_compare(pictures: &Pictures<'_>) {
    choose(pictures, "000a1250", "Compare with the current branch").await;
    pictures.browser.wait_until("document.querySelector('dialog.compare').open").await;
    pictures.take("compare").await;
    pictures.browser.click("dialog .cancel").await;
}

async fn take_dialog(pictures: &Pictures<'_>) {
    choose(pictures, "000a1250", "Move here and summarize").await;
    pictures.browser.wait_until("document.querySelector('dialog').open").await;
    pictures.take("dialog").await;
    pictures.browser.click("dialog .cancel").await;
    pictures
        .show(
            "document.querySelector('#back-to-leaf').click()",
            "document.querySelector('#back-to-leaf').hidden",
        )
        .await;
}

/// Opens the menu of an entry through its address, and chooses an action.
async fn choose(pictures: &Pictures<'_>, entry: &str, action: &str) {
    let open = format!("document.querySelector('#entry-{entry} .entry-menu')");
    pictures.show(&format!("location.hash = '#session={DEMO_SESSION}&entry={entry}'"), &open).await;
    pictures.choose(&format!("{open}.click()"), action).await;
}

/// What a lost connection shows, also while the tree is open.
async fn take_banner(pictures: &Pictures<'_>, size: &Size) {
    let open = format!("location.hash = '#session={DEMO_SESSION}'");
    pictures.show(&open, "document.querySelectorAll('.row').length > 9").await;
    if size.is_phone {
        pictures.browser.click("#toggle-tree").await;
    }
    let lost = "const banner = document.querySelector('#connection'); banner.textContent = 'Connection lost. Connecting again…'; banner.hidden = false; dispatchEvent(new Event('resize'))";
    pictures.show(lost, "document.querySelector('#connection').checkVisibility()").await;
    pictures.take("banner").await;
    pictures
        .show(
            "document.querySelector('#connection').hidden = true; dispatchEvent(new Event('resize'))",
            "true",
        )
        .await;
}

async fn take_read_only(pictures: &Pictures<'_>, gateway: &Gateway) {
    let port = gateway.url.rsplit(':').next().unwrap();
    let link = gateway.run(&["token", "create", DEMO_SESSION, "--expires", "2h", "--link", "--port", port]);
    pictures.browser.goto(&link).await;
    pictures.browser.wait_until("document.querySelectorAll('.row').length > 9").await;
    pictures.take("read-only").await;
}

async fn take_export(pictures: &Pictures<'_>, size: &Size, file: &Path) {
    pictures.browser.goto(&format!("file://{}", file.display())).await;
    pictures.browser.wait_until("document.body.classList.contains('ready')").await;
    // The folder of the demo is another one on every machine.
    let directory = "document.querySelectorAll('.session dd').forEach((part) => { if (part.textContent.endsWith('/code/list')) part.textContent = '/home/dev/list'; }); scrollTo(0, 0)";
    pictures.show(directory, "true").await;
    pictures.take("export").await;
    if size.is_phone {
        pictures.browser.click("#toggle-tree").await;
        pictures.take("export-tree").await;
    }
}

/// What a browser without a login sees.
async fn take_logged_out(pictures: &Pictures<'_>, gateway: &Gateway) {
    pictures.browser.client.delete_all_cookies().await.unwrap();
    pictures.browser.goto("about:blank").await;
    pictures.browser.goto(&gateway.url).await;
    pictures.browser.wait_until("document.querySelector('#logged-out')?.checkVisibility()").await;
    pictures.take("logged-out").await;
}
