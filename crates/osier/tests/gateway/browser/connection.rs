//! Lost connections, restarts and refreshes.

use osier_testkit::browser::BrowserWindow;

use super::{LivePage, REPLIES};
use crate::run_support::ModelServer;
use crate::server::TestGateway;

#[tokio::test]
async fn a_killed_gateway_is_found_again_and_nothing_is_lost_or_doubled() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    let session = gateway.create().await;
    page.show(&session).await;
    page.prompt("one").await;
    model.next_request().reply("answer one");
    page.wait(&format!("{REPLIES} === 1")).await;
    page.prompt("two").await;
    let mut request = model.next_request();
    request.send_text("begun");
    page.sees("begun").await;
    let port = gateway.port();
    let env = gateway.kill();
    page.wait("document.body.dataset.connection === 'lost'").await;
    let gateway = TestGateway::start_on(env, port);
    page.wait("document.body.dataset.connection === 'connected'").await;
    page.wait("!document.querySelector('.draft')").await;
    page.sees("The last turn did not finish").await;
    page.browser.click(".unfinished button").await;
    model.next_request().reply("answer two");
    page.sees("answer two").await;
    page.wait(&format!("{REPLIES} === 2")).await;
    page.is_consistent().await;
    drop(gateway);
}

#[tokio::test]
async fn a_refresh_shows_the_same_place() {
    let gateway = TestGateway::start();
    let texts: Vec<String> =
        (0..60).map(|number| format!("message number {number}\n\n{}", "text ".repeat(80))).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let (session, ids) = gateway.create_with(&texts).await;
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.show(&session).await;
    page.sees("message number 59").await;
    page.wait("document.querySelectorAll('.row').length > 5").await;
    let id = session.rsplit('/').next().unwrap();
    page.evaluate(&format!("location.hash = '#session={id}&entry={}'", ids[20])).await;
    let top = format!("document.getElementById('entry-{}').getBoundingClientRect().top", ids[20]);
    page.wait(&format!("{top} > 0 && {top} < 300")).await;
    page.evaluate("history.replaceState(null, '', location.hash.replace(/&entry=.*/, ''))").await;
    let saved = "const [, entry, top] = (localStorage.getItem('osier.scroll') ?? '').split(' ');
        return entry && Math.abs(document.getElementById(`entry-${entry}`).getBoundingClientRect().top - top) < 1";
    page.wait(&format!("(() => {{ {saved} }})()")).await;
    let before = page.evaluate(&format!("return {top}")).await;
    page.browser.client.refresh().await.unwrap();
    page.wait(&format!("Math.abs({top} - {before}) < 3")).await;
}
