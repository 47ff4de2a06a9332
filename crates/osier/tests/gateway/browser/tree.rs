//! The tree beside the conversation.

use osier_testkit::browser::BrowserWindow;
use serde_json::json;

use super::{ENTER, LivePage, REPLIES, answered};
use crate::run_support::ModelServer;
use crate::server::TestGateway;

#[tokio::test]
async fn a_prompt_continues_from_the_selected_entry() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let Some((page, _)) = answered(&model, &gateway).await else { return };
    // A message of the user: the prompt replaces it on a new branch.
    page.select("two").await;
    page.sees("Replaces on a new branch").await;
    page.prompt("another two").await;
    let request = model.next_request();
    assert!(!request.messages().iter().any(|message| message.contains("answer two")));
    request.reply("answer three");
    page.sees("answer three").await;
    page.wait("document.querySelector('.switch')?.textContent.includes('2/2')").await;
    // Any other entry: the prompt follows it.
    page.turn_ended(2).await;
    page.select("answer two").await;
    page.sees("Continues on a new branch").await;
    page.prompt("after two").await;
    let request = model.next_request();
    assert!(request.messages().iter().any(|message| message.contains("answer two")));
    request.reply("answer four");
    page.sees("answer four").await;
    let expected =
        ["one", "answer one", "another two", "answer three", "two", "answer two", "after two", "answer four"];
    page.has_rows(&expected).await;
    page.is_consistent().await;
}

/// What the user selected stays selected while the session grows, and the address names it until it is the leaf again.
#[tokio::test]
async fn a_selection_stays_while_messages_arrive() {
    let gateway = TestGateway::start();
    let (session, ids) = gateway.create_with(&["first", "second"]).await;
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.show(&session).await;
    page.select("first").await;
    page.wait(&format!("location.hash.endsWith('&entry={}')", ids[0])).await;
    let say = json!({ "message": { "role": "user", "content": "third" } });
    gateway.post(&format!("{session}/messages"), say).await;
    page.has_rows(&["first", "second", "third"]).await;
    page.wait("document.querySelector('.row.selected').textContent.includes('first') && document.querySelector('.entry.selected').textContent.includes('first')").await;
    page.refresh().await;
    page.wait("document.querySelector('.row.selected')?.textContent.includes('first')").await;
    page.click_part("[...document.querySelectorAll('#continue-from button')].find((button) => button.textContent === 'Back to the leaf')").await;
    page.wait("document.querySelector('.row.selected')?.textContent.includes('third') && !location.hash.includes('entry')").await;
    // An address without an entry leads there, too.
    page.select("first").await;
    page.evaluate("location.hash = location.hash.replace(/&entry=.*/, '')").await;
    page.wait("document.querySelector('.row.selected')?.textContent.includes('third') && document.querySelector('#continue-from').hidden").await;
    // At the leaf, the selection follows.
    let say = json!({ "message": { "role": "user", "content": "fourth" } });
    gateway.post(&format!("{session}/messages"), say).await;
    page.wait("document.querySelector('.row.selected')?.textContent.includes('fourth') && document.querySelector('#continue-from').hidden").await;
}

#[tokio::test]
async fn moves_are_undone_and_redone_and_the_message_returns_to_the_editor() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let Some((page, _)) = answered(&model, &gateway).await else { return };
    page.select("two").await;
    page.choose("Edit and continue").await;
    page.wait("document.querySelector('#prompt').value === 'two'").await;
    page.wait(&format!("{REPLIES} === 1")).await;
    page.choose_in_session("Undo the last move").await;
    page.wait(&format!("{REPLIES} === 2")).await;
    page.choose_in_session("Redo").await;
    page.wait(&format!("{REPLIES} === 1")).await;
    page.select("answer two").await;
    page.choose("Move here").await;
    page.wait(&format!("{REPLIES} === 2 && document.querySelector('#back-to-leaf').hidden")).await;
}

#[tokio::test]
async fn labels_are_edited_in_place_and_branches_deleted_and_restored() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let Some((page, _)) = answered(&model, &gateway).await else { return };
    page.select("answer one").await;
    page.evaluate("document.querySelector('#tree').focus()").await;
    page.browser.type_into("#tree", "l").await;
    page.browser.type_into(".label-input", &format!("good{ENTER}")).await;
    page.wait("document.querySelector('.row .label')?.textContent === 'good'").await;
    page.wait("document.querySelector('.entry .label')?.textContent === 'good'").await;
    page.select("two").await;
    page.choose("Delete the branch").await;
    page.confirm().await;
    page.wait("document.querySelectorAll('.row').length === 2").await;
    page.choose_value("#filter", "all").await;
    page.wait("document.querySelector('.row.deleted')").await;
    page.select("two").await;
    page.choose("Restore the branch").await;
    page.wait("!document.querySelector('.row.deleted')").await;
}

#[tokio::test]
async fn deleting_the_selected_branch_leads_back_to_the_leaf() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let Some((page, _)) = answered(&model, &gateway).await else { return };
    page.select("two").await;
    page.prompt("another two").await;
    model.next_request().reply("answer three");
    page.sees("answer three").await;
    page.turn_ended(2).await;
    page.select("answer two").await;
    page.select("two").await;
    page.sees("Replaces on a new branch").await;
    page.choose("Delete the branch").await;
    page.confirm().await;
    page.wait(
        "document.querySelector('#continue-from').hidden && document.querySelector('#back-to-leaf').hidden",
    )
    .await;
    page.wait("document.querySelector('.row.selected')?.textContent.includes('answer three')").await;
    page.wait("!document.querySelector('#transcript').textContent.includes('answer two')").await;
    page.prompt("three").await;
    let request = model.next_request();
    assert!(request.messages().iter().any(|message| message.contains("answer three")));
    request.reply("answer four");
    page.sees("answer four").await;
    page.is_consistent().await;
}

#[tokio::test]
async fn what_cannot_be_done_now_is_disabled() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let Some((page, _)) = answered(&model, &gateway).await else { return };
    page.browser.click("#session-actions").await;
    let disabled = page
        .evaluate(
            "return [...document.querySelectorAll('#menu button:disabled')].map((item) => item.textContent)",
        )
        .await;
    let expected = ["Redo", "Undo the compaction", "Continue the unfinished turn", "Show the tries"];
    assert_eq!(disabled, json!(expected));
}

#[tokio::test]
async fn two_branches_are_compared_and_a_conclusion_is_brought_over() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let Some((page, _)) = answered(&model, &gateway).await else { return };
    page.select("two").await;
    page.prompt("other").await;
    model.next_request().reply("answer other");
    page.sees("answer other").await;
    page.turn_ended(2).await;
    page.select("answer two").await;
    page.choose("Compare with the current branch").await;
    page.wait("document.querySelector('dialog.compare').open").await;
    let columns = page
        .evaluate("return [...document.querySelectorAll('.column')].map((column) => column.innerText)")
        .await;
    assert!(
        columns[0].as_str().unwrap().contains("answer two")
            && columns[1].as_str().unwrap().contains("answer other")
    );
    page.browser.click("dialog .cancel").await;
    page.choose("Bring its conclusion here").await;
    page.wait("document.querySelector('.row.leaf')?.textContent.includes('Graft from')").await;
    page.wait("document.querySelector('.entry.kind-branch_summary .who')?.textContent === 'Graft'").await;
}

#[tokio::test]
async fn a_fork_is_a_session_of_its_own() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let Some((page, session)) = answered(&model, &gateway).await else { return };
    page.select("two").await;
    page.choose("Fork from here").await;
    let id = session.rsplit('/').next().unwrap();
    page.wait(&format!("location.hash.includes('session=') && !location.hash.includes('{id}')")).await;
    page.wait(&format!("{REPLIES} === 1 && document.querySelector('#prompt').value === 'two'")).await;
}
