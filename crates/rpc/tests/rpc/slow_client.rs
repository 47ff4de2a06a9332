//! A client that does not read.

use std::time::Duration;

use osier_model::scripted::ScriptedTurn;
use serde_json::json;
use tokio::io::AsyncReadExt;

use crate::support::{TestProgram, types};

/// The turn ends although nobody reads. Later the client gets the entries that it missed.
#[tokio::test]
async fn a_client_that_does_not_read_delays_no_turn_and_misses_no_message() {
    let mut program = TestProgram::with_pipes(256).await;
    let long = ScriptedTurn::new();
    program.push((0..3000).fold(long, |turn, number| turn.text(format!("word {number} "))));
    program.send(&json!({ "type": "prompt", "message": "Hi" })).await;
    let client = program.client.clone();
    // Nothing is read from here until the turn has ended.
    while client.last_reply().await.unwrap().is_none() {
        tokio::task::yield_now().await;
    }
    let events = program.until("agent_settled").await;
    let ends: Vec<&str> = types(&events).into_iter().filter(|name| *name == "message_end").collect();
    assert_eq!(ends.len(), 3, "the system prompt, the prompt and the reply");
    let text: String = (0..3000).map(|number| format!("word {number} ")).collect();
    assert_eq!(program.data("get_last_assistant_text", json!({})).await["text"], text.trim());
}

/// Sends invalid commands whose answers are long, and closes the input. From then on, time passes when nothing else happens.
async fn program_with_long_answers(count: usize) -> TestProgram {
    let mut program = TestProgram::with_pipes(256).await;
    for _ in 0..count {
        let command = json!({ "type": "bogus", "id": "x".repeat(LONG) });
        let sending = tokio::time::timeout(Duration::from_secs(60), program.send(&command));
        sending.await.expect("the server reads");
    }
    program.close_input();
    tokio::time::pause();
    program
}

const LONG: usize = 400 << 10;

#[tokio::test]
async fn the_server_ends_after_the_input_although_nobody_reads_its_last_answer() {
    program_with_long_answers(1).await.ended().await;
}

/// Together the answers are longer than what may wait for the client.
#[tokio::test]
async fn the_server_ends_after_the_input_although_nobody_reads_its_answers() {
    program_with_long_answers(8).await.ended().await;
}

#[tokio::test]
async fn a_client_that_reads_slowly_gets_all_answers_after_the_end_of_the_input() {
    let mut program = program_with_long_answers(1).await;
    let mut output = program.take_output();
    let mut received = 0;
    loop {
        tokio::time::sleep(Duration::from_secs(5)).await;
        match output.read(&mut [0; 256]).await.unwrap() {
            0 => break,
            count => received += count,
        }
    }
    assert!(received > LONG, "{received} bytes arrived");
    program.ended().await;
}
