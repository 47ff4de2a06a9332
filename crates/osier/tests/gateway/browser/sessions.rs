//! The list of sessions, and use without a mouse.

use osier_testkit::browser::BrowserWindow;
use serde_json::json;

use super::{ENTER, ESCAPE, LivePage};
use crate::run_support::ModelServer;
use crate::server::TestGateway;
use crate::support::TestEnv;

const TAB: &str = "\u{e004}";
const DOWN: &str = "\u{e015}";

#[tokio::test]
async fn sessions_are_found_renamed_and_deleted() {
    let gateway = TestGateway::start();
    for text in ["about apples", "about pears"] {
        gateway.create_with(&[text]).await;
    }
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.wait("document.querySelectorAll('.session-link').length === 2").await;
    page.browser.type_into("#session-search", "apples").await;
    page.wait("document.querySelectorAll('.session-link').length === 1").await;
    page.browser.click("#sessions button").await;
    page.choose_open("Rename").await;
    page.wait("document.querySelector('dialog').open").await;
    page.browser.type_into("dialog input", &format!("Fruit{ENTER}")).await;
    page.wait("document.querySelector('.session-title')?.textContent === 'Fruit'").await;
    page.browser.click("#sessions button").await;
    page.choose_open("Delete").await;
    page.confirm().await;
    page.wait("document.querySelectorAll('.session-link').length === 0").await;
    let left = gateway.get("/api/sessions").await["sessions"].as_array().unwrap().len();
    assert_eq!(left, 1);
}

/// A search shows the lines that match, and each leads to its entry.
#[tokio::test]
async fn a_search_shows_the_lines_that_match() {
    let gateway = TestGateway::start();
    let long = format!("first line\n{} plums <b>and</b> pears\nlast line", "word ".repeat(60));
    gateway.create_with(&["about apples", &long, "the end"]).await;
    gateway.create_with(&["about stone-fruit"]).await;
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.wait("document.querySelectorAll('.session-link').length === 2").await;
    page.browser.type_into("#session-search", "plums PEARS").await;
    let hit = "document.querySelector('#sessions .hit')";
    page.wait(&format!("document.querySelectorAll('#sessions > li').length === 1 && {hit}")).await;
    page.becomes(
        &format!("[...{hit}.querySelectorAll('mark')].map((mark) => mark.textContent)"),
        json!(["plums", "pears"]),
    )
    .await;
    page.wait(&format!("{hit}.textContent.startsWith('You') && {hit}.querySelector('.match').textContent.startsWith('…') && {hit}.querySelector('.match').textContent.includes('plums <b>and</b> pears')")).await;
    // With the lines around it.
    page.becomes(
        &format!("[...{hit}.querySelectorAll('.hit-line:not(.match)')].map((line) => line.textContent)"),
        json!(["first line", "last line"]),
    )
    .await;
    // The arrows reach it, and Enter opens the entry.
    page.browser.type_into("#session-search", DOWN).await;
    page.browser.press(DOWN).await;
    page.wait("document.activeElement.matches('.hit')").await;
    page.browser.press(ENTER).await;
    page.wait("document.querySelector('.entry.selected')?.textContent.includes('plums') && !document.querySelector('#continue-from').hidden").await;
    // A pattern shows its lines as well, and an empty search shows none.
    page.evaluate("location.hash = '#'").await;
    page.wait("document.querySelector('.session-link')").await;
    let search = |text: &str| {
        format!(
            "const search = document.querySelector('#session-search'); search.value = {text:?}; search.dispatchEvent(new Event('input'))"
        )
    };
    page.evaluate(&search("stone-fruit")).await;
    page.wait("document.querySelector('#sessions .hit mark')?.textContent === 'stone-fruit'").await;
    page.evaluate(&search("re:pl.ms")).await;
    page.wait(&format!("document.querySelectorAll('#sessions > li').length === 1 && {hit}")).await;
    // An error is below the field, and there are no results.
    page.evaluate(&search("re:[")).await;
    let problem = "document.querySelector('#list-problems')";
    page.wait(&format!("!{problem}.hidden && {problem}.textContent.includes('regular expression') && !document.querySelector('#sessions > li')")).await;
    page.evaluate(&search("")).await;
    page.wait(&format!(
        "document.querySelectorAll('#sessions > li').length === 2 && !{hit} && {problem}.hidden"
    ))
    .await;
}

/// Without a login nothing works, so the page shows only how to log in.
#[tokio::test]
async fn a_browser_that_is_logged_out_sees_only_how_to_log_in() {
    let gateway = TestGateway::start();
    let (session, _) = gateway.create_with(&["a secret"]).await;
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.show(&session).await;
    page.sees("a secret").await;
    page.browser.client.delete_all_cookies().await.unwrap();
    page.browser.refresh().await;
    page.wait("document.querySelector('#logged-out').innerText.includes('osier token link')").await;
    page.wait("document.body.innerText.trim() === document.querySelector('#logged-out').innerText.trim()")
        .await;
    let controls = "[...document.querySelectorAll('button, input, select, textarea, a')].filter((control) => control.checkVisibility()).map((control) => control.id)";
    page.becomes(controls, json!(["log-in-again"])).await;
    // After another login the same address shows the session.
    let link = gateway.env.args(&["token", "link", "--port", &gateway.port().to_string()]);
    let address = page.evaluate("return location.href").await;
    page.browser.goto(link.out.trim()).await;
    page.browser.goto(address.as_str().unwrap()).await;
    page.sees("a secret").await;
}

/// The titles in the list, with `> ` before forks.
const TITLES: &str = "[...document.querySelectorAll('#sessions > li')].map((item) => (item.matches('.fork') ? '> ' : '') + item.querySelector('.session-title').textContent)";

#[tokio::test]
async fn sessions_are_listed_as_threads_and_filtered_by_store_agent_and_name() {
    let env = TestEnv::new();
    std::fs::create_dir_all(env.home()).unwrap();
    let archive = env.path("archive");
    std::fs::write(env.home().join("config.toml"), format!("[stores.archive]\nfolder = {archive:?}\n"))
        .unwrap();
    let gateway = TestGateway::start_in(env, &[]);
    let (apples, _) = gateway.create_with(&["about apples", "and pears"]).await;
    let fork = gateway.post(&format!("{apples}/fork"), json!({ "position": "current" })).await;
    let say = json!({ "message": { "role": "user", "content": "about plums" } });
    gateway.post(&format!("/api/sessions/{}/messages", fork["id"].as_str().unwrap()), say.clone()).await;
    for body in [
        json!({ "agentId": "helper", "title": "Helped" }),
        json!({ "store": "archive", "title": "Archived" }),
    ] {
        gateway.post("/api/sessions", body).await;
    }
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    let lists = async |titles: &[&str]| {
        let mut titles = titles.to_vec();
        titles.sort_unstable();
        page.wait(&format!("JSON.stringify({TITLES}.sort()) === JSON.stringify({})", json!(titles))).await;
    };
    lists(&["about apples", "> about apples", "Helped", "Archived"]).await;
    // The fork follows its session.
    page.wait(&format!("(({TITLES}).indexOf('> about apples') - ({TITLES}).indexOf('about apples')) === 1"))
        .await;
    page.choose_value("#session-store", "archive").await;
    lists(&["Archived"]).await;
    page.wait("document.querySelector('.session-facts').textContent.includes('archive')").await;
    page.choose_value("#session-store", "").await;
    page.choose_value("#session-agent", "helper").await;
    lists(&["Helped"]).await;
    page.choose_value("#session-agent", "").await;
    page.browser.click("#session-named").await;
    lists(&["Helped", "Archived"]).await;
    page.browser.click("#session-named").await;
    // Search finds a text in a message.
    page.browser.type_into("#session-search", "plums").await;
    page.wait("document.querySelectorAll('.session-link').length === 1").await;
    // A session of another store opens from the list.
    page.evaluate("document.querySelector('#session-search').value = ''; document.querySelector('#session-search').dispatchEvent(new Event('input'))").await;
    page.click_part("[...document.querySelectorAll('.session-link')].find((link) => link.textContent.includes('Archived'))").await;
    page.wait("document.querySelector('#title').textContent === 'Archived' && document.querySelector('#model').value !== ''").await;
}

#[tokio::test]
async fn everything_is_reached_with_the_keyboard() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    let press = async |keys: &str| page.browser.press(keys).await;
    page.wait("document.activeElement.id === 'session-search'").await;
    page.press_until_focused(TAB, "new-session").await;
    press(ENTER).await;
    page.wait("document.querySelector('dialog').open").await;
    press(ENTER).await;
    page.wait("document.activeElement.id === 'prompt'").await;
    press(&format!("hello{ENTER}")).await;
    model.next_request().reply("Hello.");
    page.sees("Hello.").await;
    page.evaluate("document.querySelector('#tree').focus()").await;
    press(&format!("{DOWN}m")).await;
    page.wait(
        "document.querySelector('#menu').matches(':popover-open') && document.activeElement.closest('#menu')",
    )
    .await;
    press(ESCAPE).await;
    page.wait("!document.querySelector('#menu').matches(':popover-open')").await;
    // The focus is where it was.
    page.wait("document.activeElement.id === 'tree'").await;
    press("p").await;
    page.wait("document.activeElement.id === 'prompt'").await;
}

#[tokio::test]
async fn controls_have_names_and_nothing_is_wider_than_a_phone() {
    let gateway = TestGateway::start();
    let (session, _) = gateway.create_with(&["a very long word: ".repeat(30).as_str(), "two"]).await;
    let phone = BrowserWindow { width: 390, height: 800, dark: false };
    let Some(page) = LivePage::open(&gateway, phone).await else { return };
    page.show(&session).await;
    let unnamed = "return [...document.querySelectorAll('button, select, input, textarea, a')].filter((control) =>
        !(control.textContent.trim() || control.ariaLabel || control.labels?.length || control.title)).map((control) => control.outerHTML)";
    assert_eq!(page.evaluate(unnamed).await, json!([]));
    let is_narrow = "document.documentElement.scrollWidth <= innerWidth";
    page.wait(is_narrow).await;
    page.browser.click("#toggle-tree").await;
    page.wait("document.querySelector('#toggle-tree').ariaExpanded === 'true'").await;
    page.wait(is_narrow).await;
}

#[tokio::test]
async fn content_cannot_run_scripts() {
    let gateway = TestGateway::start();
    let attack = "<img src=x onerror=\"window.attacked=1\"><script>window.attacked=1</script>[x](javascript:window.attacked=1)";
    let (session, ids) = gateway.create_with(&[attack]).await;
    let label = json!({ "label": attack });
    let label =
        gateway.request(reqwest::Method::PUT, &format!("{session}/entries/{}/label", ids[0])).json(&label);
    assert!(label.send().await.unwrap().status().is_success());
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.show(&session).await;
    page.wait("document.querySelector('.entry .label')").await;
    let found = "return [window.attacked ?? null, document.querySelectorAll('#transcript :is(script, img), a[href^=javascript]').length]";
    assert_eq!(page.evaluate(found).await, json!([null, 0]));
}

#[tokio::test]
async fn what_was_typed_stays_with_its_session() {
    let gateway = TestGateway::start();
    let (first, _) = gateway.create_with(&["about apples"]).await;
    let (second, _) = gateway.create_with(&["about pears"]).await;
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.show(&first).await;
    page.browser.type_into("#prompt", "cut the apples").await;
    page.show(&second).await;
    page.sees("about pears").await;
    page.wait("document.querySelector('#prompt').value === ''").await;
    page.show(&first).await;
    page.sees("about apples").await;
    page.wait("document.querySelector('#prompt').value === 'cut the apples'").await;
}

/// Other programs may have written anything.
#[tokio::test]
async fn sessions_that_name_each_other_as_parents_are_listed() {
    let gateway = TestGateway::start();
    for text in ["one", "two", "three"] {
        gateway.create_with(&[text]).await;
    }
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.wait("document.querySelectorAll('.session-link').length === 3").await;
    let circle = "const parse = JSON.parse;
        JSON.parse = (text) => {
          const frame = parse(text), sessions = frame.reply?.sessions;
          sessions?.forEach((card, at) => { if (at < 2) card.parentSessionId = sessions[1 - at].id; });
          return frame;
        };
        document.querySelector('#sessions').replaceChildren();
        document.querySelector('#session-search').dispatchEvent(new Event('input'));";
    page.evaluate(circle).await;
    page.becomes(TITLES, json!(["one", "three", "> two"])).await;
}
