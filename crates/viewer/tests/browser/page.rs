//! What a reader can do with an exported page.

use osier_testkit::ScriptedSession;
use osier_testkit::browser::BrowserWindow;

use crate::support::{OpenPage, page};

/// Entries 1 to 4 are the path; 5 and 6 are a branch that starts at 2.
const TWO_BRANCHES: &str =
    "say question; reply answer; say more; reply end; move answer; say side; reply detour; move end";

#[tokio::test]
async fn the_tree_and_the_conversation_show_the_path_to_the_leaf() {
    let Some(page) = OpenPage::of_script(TWO_BRANCHES).await else { return };
    assert_eq!(page.tree().await, "question\nanswer\n  side\n  detour\nmore\nend · leaf");
    assert_eq!(page.shown().await, "1 2 3 4");
    assert_eq!(page.text("document.title").await, "A talk");
    assert_eq!(page.text("document.getElementById('back-to-leaf').hidden").await, "true");
}

#[tokio::test]
async fn an_entry_of_another_branch_opens_its_path_and_back_to_the_leaf_returns() {
    let Some(page) = OpenPage::of_script(TWO_BRANCHES).await else { return };
    page.browser.click("#rows .row:nth-child(3)").await;
    assert_eq!(page.shown().await, "1 2 6 7");
    assert_eq!(page.text("document.querySelector('.entry.selected').dataset.id").await, "00000006");
    assert!(page.text("location.hash").await.ends_with("entry=00000006"));
    page.browser.click("#back-to-leaf").await;
    assert_eq!(page.shown().await, "1 2 3 4");
}

#[tokio::test]
async fn a_link_opens_its_entry_also_in_another_branch() {
    let Some(page) = OpenPage::of_script(TWO_BRANCHES).await else { return };
    page.go("#entry=00000006").await;
    assert_eq!(page.shown().await, "1 2 6 7");
    page.go("#entry=none").await;
    assert_eq!(page.shown().await, "1 2 3 4");
    let link = page.text("document.querySelector('#entry-00000003 .permalink').getAttribute('href')").await;
    assert_eq!(link, "#entry=00000003");
}

#[tokio::test]
async fn where_branches_start_a_switch_leads_to_the_others() {
    let Some(page) = OpenPage::of_script(TWO_BRANCHES).await else { return };
    assert_eq!(page.text("document.querySelector('#entry-00000003 .switch').textContent").await, "‹1/2›");
    page.browser.click("#entry-00000003 .switch button:last-child").await;
    assert_eq!(page.shown().await, "1 2 6 7");
}

#[tokio::test]
async fn filters_show_what_the_terminal_shows() {
    let script = "say a; reply b calls read x.txt; result c; reply d; label good on d; label gone on a; unlabel a; model p/m; note reviewer n";
    let Some(page) = OpenPage::of_script(script).await else { return };
    for (filter, rows) in [
        ("default", "a\nb\n[read: x.txt]\ngood · d\n[reviewer]: n · leaf"),
        ("no-tools", "a\nb\ngood · d\n[reviewer]: n · leaf"),
        ("user-only", "a"),
        ("labeled-only", "good · d"),
    ] {
        let script = format!(
            "const filter = document.getElementById('filter'); filter.value = '{filter}'; filter.dispatchEvent(new Event('change'))"
        );
        page.browser.evaluate(&script).await;
        assert_eq!(page.tree().await, rows, "{filter}");
    }
    page.browser.evaluate("filter.value = 'all'; filter.dispatchEvent(new Event('change'))").await;
    let all = page.tree().await;
    assert!(all.contains("[label: (cleared)]") && all.contains("[model: m]"), "{all}");
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
    assert!(page.tree().await.starts_with("word word"), "the preview does not contain the word");
    page.browser.type_into("#search", "x").await;
    page.browser.wait_until("document.getElementById('tree-status').textContent === 'No entries'").await;
}

#[tokio::test]
async fn what_a_compaction_hides_is_shown() {
    let Some(page) = OpenPage::of_script("say a; reply b; say c; compact keep c \"so far\"; reply d").await
    else {
        return;
    };
    assert_eq!(page.shown().await, "1 2 3 4 5");
    assert!(
        page.text("document.querySelector('.entry.kind-compaction').textContent").await.contains("so far")
    );
}

#[tokio::test]
async fn branches_fold_and_the_keyboard_moves_and_opens() {
    let Some(page) = OpenPage::of_script(TWO_BRANCHES).await else { return };
    page.browser.click("#rows .row:nth-child(3) .fold").await;
    assert_eq!(page.tree().await, "question\nanswer\n  side\nmore\nend · leaf");
    page.browser.click("#fold-branches").await;
    page.browser.click("#fold-branches").await;
    assert_eq!(page.tree().await, "question\nanswer\n  side\n  detour\nmore\nend · leaf");
    // From the leaf, three rows up is the second entry of the side branch. Left goes to its start, and left again folds it.
    page.browser.type_into("#tree", "\u{e013}\u{e013}\u{e012}\u{e012}").await;
    assert_eq!(page.tree().await, "question\nanswer\n  side\nmore\nend · leaf");
    page.browser.type_into("#tree", "\u{e007}").await;
    assert_eq!(page.shown().await, "1 2 6 7");
    assert_eq!(
        page.text("document.getElementById('tree').getAttribute('aria-activedescendant')").await,
        "row-2"
    );
}

#[tokio::test]
async fn thinking_and_output_open_together() {
    let thinking = r#"entry {"type":"message","message":{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"b"}]}}"#;
    let Some(page) = OpenPage::of_script(&format!("say a; {thinking}; say c; {thinking}")).await else {
        return;
    };
    let open = "document.querySelectorAll('details.thinking[open]').length";
    assert_eq!(page.text(open).await, "0");
    page.browser.click("#toggle-thinking").await;
    assert_eq!(page.text(open).await, "2");
    page.browser.type_into("body", "t").await;
    assert_eq!(page.text(open).await, "0");
}

#[tokio::test]
async fn the_tree_is_closed_at_first_on_a_narrow_screen() {
    let file = page(&ScriptedSession::run(TWO_BRANCHES), "A talk");
    let window = BrowserWindow { width: 500, height: 800, dark: false };
    let Some(page) = OpenPage::open(&file, window).await else { return };
    let is_shown = "getComputedStyle(document.getElementById('sidebar')).display !== 'none'";
    assert_eq!(page.text(is_shown).await, "false");
    page.browser.click("#toggle-tree").await;
    assert_eq!(page.text(is_shown).await, "true");
    page.browser.click("#rows .row:nth-child(3)").await;
    assert_eq!(page.text(is_shown).await, "false", "the tree closes when an entry is chosen");
    assert_eq!(page.shown().await, "1 2 6 7");
    assert_eq!(
        page.text("document.documentElement.scrollWidth <= innerWidth").await,
        "true",
        "nothing is cut off"
    );
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
    assert_eq!(page.text(names).await, "");
    page.browser.evaluate("dispatchEvent(new Event('beforeprint'))").await;
    assert_eq!(page.shown().await, "1 2 3 4");
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

/// A tree that is much higher than its view has an overview.
#[tokio::test]
async fn a_large_tree_has_an_overview() {
    let Some(small) = OpenPage::of_script(TWO_BRANCHES).await else { return };
    assert_eq!(small.text("document.getElementById('overview').hidden").await, "true");
    let script: Vec<String> = (0..150).map(|number| format!("say message {number}")).collect();
    let Some(large) = OpenPage::of_script(&script.join("; ")).await else { return };
    large.browser.wait_until("!document.getElementById('overview').hidden").await;
    let color = "(() => { const canvas = document.getElementById('overview'); return canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.some((value) => value > 0); })()";
    large.settle().await;
    assert_eq!(large.text(color).await, "true");
}
