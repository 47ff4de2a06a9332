//! The page on a phone: a narrow window, touch, and a keyboard on the screen.

use osier_testkit::browser::BrowserWindow;
use serde_json::json;

use super::{ENTER, LivePage};
use crate::run_support::ModelServer;
use crate::server::TestGateway;

const IS_NARROW: &str = "document.documentElement.scrollWidth <= innerWidth";

/// A page on an emulated phone.
async fn open_phone(gateway: &TestGateway) -> Option<LivePage> {
    let page = LivePage::open(gateway, BrowserWindow { width: 500, height: 844, dark: false }).await?;
    let phone = json!({ "width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": true });
    page.browser.devtools("Emulation.setDeviceMetricsOverride", phone).await;
    page.browser.devtools("Emulation.setTouchEmulationEnabled", json!({ "enabled": true })).await;
    page.wait("matchMedia('(hover: none) and (pointer: coarse)').matches && innerWidth === 390").await;
    page.refresh_list().await;
    Some(page)
}

impl LivePage {
    async fn refresh_list(&self) {
        self.browser.refresh().await;
        self.wait("document.body.dataset.connection === 'connected'").await;
    }

    /// Everything fits into the width, and what is on top of the page can be reached.
    async fn fits(&self) {
        self.wait(IS_NARROW).await;
        let cut = "return [...document.querySelectorAll('button, select, input, textarea')].filter((control) => control.checkVisibility() && !control.closest('dialog:not([open]), table, .table')).filter((control) => {
            const box = control.getBoundingClientRect();
            return box.width > 0 && (box.left < -0.5 || box.right > innerWidth + 0.5);
          }).map((control) => control.outerHTML.slice(0, 120))";
        self.becomes(&format!("(() => {{ {cut} }})()"), json!([])).await;
    }
}

#[tokio::test]
async fn a_prompt_has_several_lines_and_images_from_the_phone() {
    let model = ModelServer::new();
    let env = model.env();
    let file = env.home().join("config.toml");
    let settings = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{settings}\nimages = true\n")).unwrap();
    let gateway = TestGateway::start_in(env, &[]);
    let Some(page) = open_phone(&gateway).await else { return };
    page.show(&gateway.create().await).await;
    page.fits().await;
    // Enter starts a new line, because there is no Shift+Enter.
    page.browser.type_into("#prompt", &format!("one{ENTER}two")).await;
    page.wait("document.querySelector('#prompt').value === 'one\\ntwo'").await;
    let picture = gateway.env.path("dot.png");
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\rIDATx\x9ccd`\xf8_\x0f\0\x02\x87\x01\x80\xeb\x47\xba\x92\0\0\0\0IEND\xaeB`\x82";
    std::fs::write(&picture, png).unwrap();
    page.browser.choose_file("#image-files", &picture).await;
    page.wait("document.querySelectorAll('#attachments img').length === 1").await;
    let text = gateway.env.path("notes.txt");
    std::fs::write(&text, "no image").unwrap();
    page.browser.choose_file("#image-files", &text).await;
    page.wait("document.querySelector('#message').textContent.includes('Only PNG')").await;
    page.fits().await;
    page.browser.click("#send").await;
    let request = model.next_request();
    assert!(
        request.text.contains("one\\ntwo") && request.text.contains("data:image/png;base64,iVBOR"),
        "{}",
        request.text
    );
    request.reply("A dot.");
    page.turn_ended(1).await;
}

/// The tree opens, an entry is chosen, the tree closes, and the conversation goes on from there.
#[tokio::test]
async fn a_whole_task_is_done_at_phone_size() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let Some(page) = open_phone(&gateway).await else { return };
    page.fits().await;
    page.show(&gateway.create().await).await;
    let send = async |text: &str| {
        page.browser.type_into("#prompt", text).await;
        page.browser.click("#send").await;
    };
    send("write a file").await;
    model.next_request().reply_with_call("write", &json!({ "path": "a/very/long/path/to/a/file/that/is/longer/than/a/phone/is/wide/notes.txt", "content": "x".repeat(300) }));
    page.wait("document.querySelector('.question .diff')").await;
    page.fits().await;
    page.browser.click(".question button.primary").await;
    model.next_request().reply("It is written.");
    page.turn_ended(2).await;
    send("and now?").await;
    model.next_request().reply("Nothing more.");
    page.turn_ended(3).await;
    page.browser.click("#toggle-tree").await;
    page.wait("document.querySelector('#sidebar').checkVisibility()").await;
    page.fits().await;
    page.click_part(
        "[...document.querySelectorAll('.row')].find((row) => row.textContent.includes('It is written'))",
    )
    .await;
    page.wait("!document.querySelector('#sidebar').checkVisibility() && document.querySelector('.entry.selected')?.textContent.includes('It is written')").await;
    page.wait("document.querySelector('#continue-from').checkVisibility()").await;
    page.fits().await;
    send("something else").await;
    let request = model.next_request();
    assert!(
        !request.messages().iter().any(|message| message.contains("Nothing more")),
        "{:?}",
        request.messages()
    );
    request.reply("Something else.");
    page.turn_ended(3).await;
    // The menus and a comparison fit, too.
    page.choose_in_session("Rename").await;
    page.wait("document.querySelector('dialog').open").await;
    page.fits().await;
    page.browser.click("dialog .cancel").await;
    page.browser.click("#toggle-tree").await;
    page.click_part(
        "[...document.querySelectorAll('.row')].find((row) => row.textContent.includes('Nothing more'))",
    )
    .await;
    page.wait("document.querySelector('.entry.selected')?.textContent.includes('Nothing more')").await;
    page.click_part("document.querySelector('.entry.selected .entry-menu')").await;
    let inside = "(({ left, right, top, bottom }) => left >= 0 && top >= 0 && right <= innerWidth && bottom <= innerHeight)(document.querySelector('#menu').getBoundingClientRect())";
    page.wait(&format!("document.querySelector('#menu').matches(':popover-open') && {inside}")).await;
    page.click_part("[...document.querySelectorAll('#menu button')].find((item) => item.textContent.startsWith('Compare with the current'))").await;
    page.wait(
        "document.querySelector('dialog.compare')?.open && document.querySelectorAll('.column').length === 2",
    )
    .await;
    page.fits().await;
    page.browser.click("dialog .cancel").await;
    page.click_part("document.querySelector('#back-to-leaf:not([hidden])')").await;
    page.sees("Something else.").await;
    // The search of the tree opens it.
    page.evaluate("document.activeElement.blur()").await;
    page.browser.press("/").await;
    page.wait(
        "document.activeElement.id === 'search' && document.querySelector('#sidebar').checkVisibility()",
    )
    .await;
}

/// The buttons that there is no room for are in the menu.
#[tokio::test]
async fn thinking_and_output_are_opened_from_the_menu() {
    let gateway = TestGateway::start();
    let session = gateway.create().await;
    let content =
        json!([{ "type": "thinking", "thinking": "a thought" }, { "type": "text", "text": "a reply" }]);
    let reply = json!({ "role": "assistant", "content": content, "provider": "p", "model": "m", "stopReason": "stop" });
    gateway.post(&format!("{session}/messages"), json!({ "message": reply })).await;
    let Some(page) = open_phone(&gateway).await else { return };
    page.show(&session).await;
    page.wait("document.querySelector('details.thinking')?.open === false").await;
    page.choose_in_session("Open all thinking").await;
    page.wait("document.querySelector('details.thinking').open").await;
    page.choose_in_session("Close all thinking").await;
    page.wait("!document.querySelector('details.thinking').open").await;
    page.choose_in_session("Open all tool output").await;
    page.choose_in_session("Show hidden messages").await;
    page.wait("document.querySelector('#message').textContent.startsWith('Showing the hidden')").await;
    page.fits().await;
}
