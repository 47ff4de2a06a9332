//! The live page in a real browser, on a given `osier` binary: measured, or as pictures for the documentation. `cargo xtask bench
//! --page` and `cargo xtask screens --web` run it.
#![allow(clippy::unwrap_used, reason = "a development tool fails by panicking")]

mod bench;
mod demo;
mod gateway;
mod model;
mod scenes;
mod screens;

#[tokio::main]
async fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["bench", osier, home, project, large, small] => bench::run(osier, home, project, large, small).await,
        ["screens", osier, folder] => screens::run(osier, folder.as_ref()).await,
        _ => panic!("bench OSIER HOME PROJECT LARGE SMALL, or screens OSIER FOLDER"),
    }
}
