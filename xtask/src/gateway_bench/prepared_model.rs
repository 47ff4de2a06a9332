//! A model on this machine: a server for chat completions that streams one reply, piece by piece.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

const END: &str =
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

/// Starts a server whose replies have this many pieces, and configures it as `prepared/model` in a home.
pub(crate) async fn start(home: &Path, pieces: usize, interval: Duration) -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    std::fs::create_dir_all(home)?;
    let config = format!(
        "model = \"prepared/model\"\n[providers.prepared]\napi = \"openai-completions\"\nbase_url = \"http://{address}/v1\"\n\
         [[providers.prepared.models]]\nid = \"model\"\ncontext_window = 1000000\n"
    );
    std::fs::write(home.join("config.toml"), config)?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream, pieces, interval));
        }
    });
    Ok(())
}

async fn answer(stream: TcpStream, pieces: usize, interval: Duration) -> Result<()> {
    stream.set_nodelay(true)?;
    let mut stream = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        let line = line.trim().to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse()?;
        }
        if line.is_empty() {
            break;
        }
    }
    tokio::io::copy(&mut (&mut stream).take(length), &mut tokio::io::sink()).await?;
    stream
        .write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
        .await?;
    for number in 0..pieces {
        let piece = format!(
            "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"word {number} \"}}}}]}}\n\n"
        );
        stream.write_all(piece.as_bytes()).await?;
        if !interval.is_zero() {
            tokio::time::sleep(interval).await;
        }
    }
    stream.write_all(END.as_bytes()).await?;
    Ok(())
}
