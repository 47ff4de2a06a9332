//! What a reader can do with an exported page.

use osier_testkit::ScriptedSession;
use osier_testkit::browser::BrowserWindow;
use serde_json::json;

use crate::colors::sample;
use crate::support::{OpenPage, page};

/// Entries 1 to 4 are the path; 5 and 6 are a branch that starts at 2.
const TWO_BRANCHES: &str =
    "say question; reply answer; say more; reply end; move answer; say side; reply detour; move end";

#[tokio::test]
async fn the_tree_and_the_conversation_show_the_path_to_the_leaf() {
    let Some(page) = OpenPage::of_script(TWO_BRANCHES).await else { return };
    page.has_tree("question\nanswer\n  side\n  detour\nmore\nend · leaf").await;
    page.shows("1 2 3 4").await;
    page.becomes("document.title", "A talk").await;
    page.becomes("document.getElementById('back-to-leaf').hidden", "true").await;
}

#[tokio::test]
async fn an_entry_of_another_branch_opens_its_path_and_back_to_the_leaf_returns() {
    let Some(page) = OpenPage::of_script(TWO_BRANCHES).await else { return };
    page.browser.click("#rows .row:nth-child(3)").await;
    page.shows("1 2 6 7").await;
    page.becomes("document.querySelector('.entry.selected').dataset.id", "00000006").await;
    page.browser.wait_until("location.hash.endsWith('entry=00000006')").await;
    page.browser.click("#back-to-leaf").await;
    page.shows("1 2 3 4").await;
}

#[tokio::test]
async fn a_link_opens_its_entry_also_in_another_branch() {
    let Some(page) = OpenPage::of_script(TWO_BRANCHES).await else { return };
    page.go("#entry=00000006").await;
    page.shows("1 2 6 7").await;
    page.go("#entry=none").await;
    page.shows("1 2 3 4").await;
    let link = page.text("document.querySelector('#entry-00000003 .permalink').getAttribute('href')").await;
    assert_eq!(link, "#entry=00000003");
}

#[tokio::test]
async fn where_branches_start_a_switch_leads_to_the_others() {
    let Some(page) = OpenPage::of_script(TWO_BRANCHES).await else { return };
    page.becomes("document.querySelector('#entry-00000003 .switch').textContent", "‹1/2›").await;
    page.browser.click("#entry-00000003 .switch button:last-child").await;
    page.shows("1 2 6 7").await;
}

/// Entries whose header is hidden can start a branch, too: the next entry leads to the others.
#[tokio::test]
async fn a_branch_that_starts_with_a_setting_has_its_switch_on_the_next_entry() {
    let script = "say question; reply answer; say more; move answer; thinking high; system rules; say side; move answer; model p/m";
    let Some(page) = OpenPage::of_script(script).await else { return };
    let shown = |id: &str| {
        format!(
            "[...document.querySelectorAll('#entry-{id} .switch')].filter((part) => part.checkVisibility()).map((part) => part.textContent).join()"
        )
    };
    let switches = "[...document.querySelectorAll('.switch')].filter((part) => part.checkVisibility()).map((part) => part.closest('.entry').innerText.split('\\n').at(-1) + ' ' + part.textContent).join()";
    // Nothing follows the change of the model, so it shows its own.
    page.becomes(switches, "Model: p/m ‹3/3›").await;
    let last = page.text("document.querySelector('.kind-model_change').dataset.id").await;
    page.browser.click(&format!("#entry-{last} .switch button:first-child")).await;
    page.becomes(switches, "side ‹2/3›").await;
    let side = page.text("document.querySelector('.entry:last-child').dataset.id").await;
    page.becomes(&shown(&side), "‹2/3›").await;
    page.browser.click(&format!("#entry-{side} .switch button:first-child")).await;
    page.becomes(switches, "more ‹1/3›").await;
}

/// Of several calls, only those without a result say so.
#[tokio::test]
async fn a_call_without_a_result_is_marked_in_an_export() {
    let script = "say a; reply b calls read x.txt, read y.txt; result c; say d; reply e calls read z.txt; result f; reply g calls read w.txt";
    let Some(page) = OpenPage::of_script(script).await else { return };
    let marked = "[...document.querySelectorAll('.call')].filter((call) => call.querySelector('.interrupted')?.textContent === 'interrupted, no result').map((call) => call.querySelector('.summary').textContent).join()";
    page.becomes(marked, "y.txt,w.txt").await;
}

#[tokio::test]
async fn filters_show_what_the_terminal_shows() {
    let script = "say a; reply b calls read x.txt; result c; reply d; label good on d; label gone on a; unlabel a; model p/m; note reviewer n";
    let Some(page) = OpenPage::of_script(script).await else { return };
    for (filter, rows) in [
        ("default", "a\nb\nread x.txt\ngood · d\nreviewer: n · leaf"),
        ("no-tools", "a\nb\ngood · d\nreviewer: n · leaf"),
        ("user-only", "a"),
        ("labeled-only", "good · d"),
    ] {
        let script = format!(
            "const filter = document.getElementById('filter'); filter.value = '{filter}'; filter.dispatchEvent(new Event('change'))"
        );
        page.browser.evaluate(&script).await;
        page.has_tree(rows).await;
    }
    page.browser.evaluate("filter.value = 'all'; filter.dispatchEvent(new Event('change'))").await;
    let all = "document.getElementById('rows').textContent";
    page.browser
        .wait_until(&format!("{all}.includes('Label: (cleared)') && {all}.includes('Model: m')"))
        .await;
    let badges = page
        .text("[...document.querySelectorAll('.row > .label')].map((label) => label.textContent).join()")
        .await;
    assert_eq!(badges, "good", "a cleared label is not shown");
}

#[tokio::test]
async fn search_finds_words_anywhere_in_an_entry() {
    let long = format!("say short; reply {} needle; say other", "word ".repeat(100));
    let Some(page) = OpenPage::of_script(&long).await else { return };
    page.browser.type_into("#search", "NEEDLE").await;
    page.browser.wait_until("document.querySelectorAll('#rows .row').length === 1").await;
    // The preview does not contain the word.
    page.browser
        .wait_until("document.querySelector('#rows .preview').textContent.startsWith('word word')")
        .await;
    page.browser.type_into("#search", "x").await;
    page.browser.wait_until("document.getElementById('tree-status').textContent === 'No entries'").await;
}

#[tokio::test]
async fn what_a_compaction_hides_is_shown() {
    let Some(page) = OpenPage::of_script("say a; reply b; say c; compact keep c \"so far\"; reply d").await
    else {
        return;
    };
    page.shows("1 2 3 4 5").await;
    page.browser
        .wait_until("document.querySelector('.entry.kind-compaction').textContent.includes('so far')")
        .await;
}

#[tokio::test]
async fn branches_fold_and_the_keyboard_moves_and_opens() {
    let Some(page) = OpenPage::of_script(TWO_BRANCHES).await else { return };
    page.browser.click("#rows .row:nth-child(3) .fold").await;
    page.has_tree("question\nanswer\n  side\nmore\nend · leaf").await;
    page.browser.click("#fold-branches").await;
    page.browser.click("#fold-branches").await;
    page.has_tree("question\nanswer\n  side\n  detour\nmore\nend · leaf").await;
    // From the leaf, three rows up is the second entry of the side branch. Left goes to its start, and left again folds it.
    page.browser.type_into("#tree", "\u{e013}\u{e013}\u{e012}\u{e012}").await;
    page.has_tree("question\nanswer\n  side\nmore\nend · leaf").await;
    page.browser.type_into("#tree", "\u{e007}").await;
    page.shows("1 2 6 7").await;
    page.becomes("document.getElementById('tree').getAttribute('aria-activedescendant')", "row-2").await;
}

#[tokio::test]
async fn thinking_and_output_open_together() {
    let thinking = r#"entry {"type":"message","message":{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"b"}]}}"#;
    let Some(page) = OpenPage::of_script(&format!("say a; {thinking}; say c; {thinking}")).await else {
        return;
    };
    let open = "document.querySelectorAll('details.thinking[open]').length";
    page.becomes(open, "0").await;
    page.browser.click("#toggle-thinking").await;
    page.becomes(open, "2").await;
    page.browser.type_into("body", "t").await;
    page.becomes(open, "0").await;
}

#[tokio::test]
async fn the_tree_is_closed_at_first_on_a_narrow_screen() {
    let file = page(&ScriptedSession::run(TWO_BRANCHES), "A talk");
    let window = BrowserWindow { width: 500, height: 800, dark: false };
    let Some(page) = OpenPage::open(&file, window).await else { return };
    let is_shown = "getComputedStyle(document.getElementById('sidebar')).display !== 'none'";
    page.becomes(is_shown, "false").await;
    page.browser.click("#toggle-tree").await;
    page.becomes(is_shown, "true").await;
    page.browser.click("#rows .row:nth-child(3)").await;
    page.becomes(is_shown, "false").await;
    page.shows("1 2 6 7").await;
    // Nothing is cut off.
    page.becomes("document.documentElement.scrollWidth <= innerWidth", "true").await;
}

#[tokio::test]
async fn the_theme_follows_the_system_until_it_is_chosen() {
    let file = page(&ScriptedSession::run("say a"), "A talk");
    let Some(page) = OpenPage::open(&file, BrowserWindow { dark: true, ..BrowserWindow::default() }).await
    else {
        return;
    };
    let color = "getComputedStyle(document.body).backgroundColor";
    let dark = page.text(color).await;
    page.browser.click("#toggle-theme").await;
    let light = page.text(color).await;
    assert_ne!(dark, light);
    page.go("").await;
    assert_eq!(page.text(color).await, light, "the choice is kept");
}

#[tokio::test]
async fn nothing_is_cut_in_print_and_every_control_has_a_name() {
    let Some(page) = OpenPage::of_script(TWO_BRANCHES).await else { return };
    let names = "[...document.querySelectorAll('button, input, select, [role]')].filter((part) => !(part.textContent.trim() || \
                 part.ariaLabel || part.title || part.getAttribute('role') === 'presentation' || part.id === 'message')).map((part) => part.outerHTML).join()";
    page.becomes(names, "").await;
    page.browser.evaluate("dispatchEvent(new Event('beforeprint'))").await;
    page.shows("1 2 3 4").await;
}

#[tokio::test]
async fn the_session_is_saved_from_the_page() {
    let session = ScriptedSession::run(TWO_BRANCHES);
    let file = page(&session, "A talk");
    let Some(page) = OpenPage::open(&file, BrowserWindow::default()).await else { return };
    let watch = "URL.createObjectURL = (blob) => { blob.text().then((text) => (window.saved = text)); return 'about:blank'; };
        HTMLAnchorElement.prototype.click = function () { window.savedName = this.download; };";
    page.browser.evaluate(watch).await;
    page.browser.click("#save-log").await;
    page.browser.wait_until("window.saved").await;
    assert!(page.text("window.savedName").await.ends_with(".jsonl"));
    let saved = page.text("window.saved").await;
    let lines: Vec<&str> = saved.lines().skip(1).collect();
    let stored: Vec<&str> = session.lines.iter().map(|line| std::str::from_utf8(line).unwrap()).collect();
    assert_eq!(lines, stored);
}

/// What does not fit beside the name of the model is left out, and not cut.
#[tokio::test]
async fn figures_are_not_cut_on_a_phone() {
    let file = page(&sample(), "A JSON flag for list");
    let Some(page) = OpenPage::open(&file, BrowserWindow { width: 500, height: 844, dark: false }).await
    else {
        return;
    };
    let phone = json!({ "width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": true });
    page.browser.devtools("Emulation.setDeviceMetricsOverride", phone).await;
    page.browser.evaluate("dispatchEvent(new Event('beforeprint'))").await;
    let cut = "[...document.querySelectorAll('.entry-header .origin')].filter((line) => [...line.children].some((part) => {
            const [box, all] = [part.getBoundingClientRect(), line.getBoundingClientRect()];
            // A part on the next line is out of view as a whole.
            return box.top < all.bottom - 1 && (box.right > all.right + 0.5 || box.bottom > all.bottom + 1);
        })).length";
    page.becomes("innerWidth", "390").await;
    page.becomes("document.querySelectorAll('.entry-header .origin').length > 3", "true").await;
    page.becomes(cut, "0").await;
    page.becomes("document.documentElement.scrollWidth <= innerWidth", "true").await;
}

/// There is no room for the buttons.
#[tokio::test]
async fn a_phone_has_a_menu_for_the_view() {
    let file = page(&sample(), "A JSON flag for list");
    let Some(page) = OpenPage::open(&file, BrowserWindow { width: 500, height: 844, dark: false }).await
    else {
        return;
    };
    page.browser.evaluate("dispatchEvent(new Event('beforeprint'))").await;
    page.becomes("document.querySelectorAll('details.thinking').length > 0 && document.querySelectorAll('details.thinking[open]').length", "0").await;
    page.browser.click("#export-actions").await;
    let items = "[...document.querySelectorAll('#menu:popover-open button')].map((item) => item.firstChild.textContent).join()";
    page.becomes(items, "Open all thinking,Open all tool output,Show hidden messages,Save as JSONL").await;
    page.browser.click("#menu button").await;
    page.becomes("document.querySelectorAll('details.thinking:not([open])').length", "0").await;
    page.becomes("document.querySelector('#menu').matches(':popover-open')", "false").await;
    page.becomes("document.documentElement.scrollWidth <= innerWidth", "true").await;
}

/// Messages that an extension hides are shown with a key, as in pi.
#[tokio::test]
async fn hidden_messages_are_shown_with_a_key() {
    let hidden =
        r#"entry {"type":"custom_message","customType":"notes","content":"nobody sees it","display":false}"#;
    let Some(page) = OpenPage::of_script(&format!("say a; {hidden}; say b")).await else { return };
    page.shows("1 3").await;
    page.browser.type_into("body", "h").await;
    page.shows("1 2 3").await;
    page.browser.wait_until("document.querySelector('#transcript').textContent.includes('nobody sees it') && document.querySelectorAll('#rows .row').length === 3").await;
    page.browser.type_into("body", "h").await;
    page.shows("1 3").await;
    page.has_tree("a\nb · leaf").await;
}

/// The tree is as wide as the reader likes, also the next time.
#[tokio::test]
async fn the_tree_is_resized() {
    let Some(page) = OpenPage::of_script(TWO_BRANCHES).await else { return };
    let width = "document.getElementById('sidebar').offsetWidth";
    let before: f64 = page.text(width).await.parse().unwrap();
    let drag = "const handle = document.getElementById('resize-tree'); handle.setPointerCapture = () => {}; handle.hasPointerCapture = () => true;
        for (const [kind, clientX] of [['pointerdown', 350], ['pointermove', 500], ['pointerup', 500]]) handle.dispatchEvent(new PointerEvent(kind, { clientX, pointerId: 1, bubbles: true, cancelable: true }))";
    page.browser.evaluate(drag).await;
    page.becomes(width, "500").await;
    page.go("").await;
    page.becomes(width, "500").await;
    page.browser.evaluate("document.getElementById('resize-tree').dispatchEvent(new MouseEvent('dblclick', { bubbles: true }))").await;
    page.becomes(width, &before.to_string()).await;
}

/// A print has everything, unless that would take forever: then it says what is missing.
#[tokio::test]
async fn a_very_long_session_prints_a_part() {
    let script: Vec<String> = (0..10_100).map(|number| format!("say {number}")).collect();
    let Some(page) = OpenPage::of_script(&script.join("; ")).await else { return };
    page.browser.evaluate("scrollTo(0, 0); dispatchEvent(new Event('beforeprint'))").await;
    page.becomes(
        "document.querySelector('.print-note').textContent.startsWith('Entries 1 to 9990 of 10100.')",
        "true",
    )
    .await;
    page.becomes("document.querySelectorAll('.group:not(.not-printed) .entry').length", "9990").await;
    page.browser.evaluate("dispatchEvent(new Event('afterprint'))").await;
    page.becomes("document.querySelector('.print-note')", "null").await;
}

/// A tree that is much higher than its view has an overview.
#[tokio::test]
async fn a_large_tree_has_an_overview() {
    let Some(small) = OpenPage::of_script(TWO_BRANCHES).await else { return };
    small.becomes("document.getElementById('overview').hidden", "true").await;
    let script: Vec<String> = (0..150).map(|number| format!("say message {number}")).collect();
    let Some(large) = OpenPage::of_script(&script.join("; ")).await else { return };
    large.browser.wait_until("!document.getElementById('overview').hidden").await;
    let color = "(() => { const canvas = document.getElementById('overview'); return canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.some((value) => value > 0); })()";
    large.becomes(color, "true").await;
}

/// A batch of sub-agents and its results are one card, and an image fills the window until Escape.
#[tokio::test]
async fn a_batch_is_one_card_and_an_image_is_enlarged() {
    let file = page(&sample(), "A JSON flag for list");
    let Some(page) = OpenPage::open(&file, BrowserWindow::default()).await else { return };
    page.browser.evaluate("dispatchEvent(new Event('beforeprint'))").await;
    page.becomes("document.querySelector('.kind-subagent_batch.merged').offsetHeight", "0").await;
    let titles = "[...document.querySelectorAll('.kind-subagent_result .task-title')].map((title) => title.textContent).join()";
    page.becomes(titles, "Find every caller of `list`,Check the documentation for `--limit`").await;
    let answers = "document.querySelector('.entry.kind-subagent_result').innerText";
    page.browser
        .wait_until(&format!(
            "{answers}.includes('Three callers') && {answers}.includes('does not exist') && !{answers}.includes('Open')"
        ))
        .await;
    let width = "document.querySelector('button.zoom').getBoundingClientRect().width === innerWidth";
    page.browser.click("button.zoom").await;
    page.becomes(width, "true").await;
    page.browser.press("\u{e00c}").await;
    page.becomes(width, "false").await;
}
