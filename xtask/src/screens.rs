//! Screens of the real program: as text in the docs, and as pictures.

mod demo_home;
mod gallery;
mod pages;
mod picture;
mod scenes;
mod web;

use anyhow::Result;

use crate::args::Args;
use demo_home::DemoHome;

pub(crate) fn run(mut args: Args) -> Result<()> {
    let given = args.value("--osier")?;
    let only = args.value("--only")?;
    let is_png = args.flag("--png");
    let is_check = args.flag("--check");
    let is_web = args.flag("--web");
    args.finish()?;
    if is_web {
        return web::run(given.as_deref());
    }
    let folder = tempfile::tempdir()?;
    let demo_home = DemoHome::build(given.as_deref(), folder.path())?;
    if is_check {
        return gallery::check(&demo_home, only.as_deref());
    }
    if is_png { gallery::draw(&demo_home, only.as_deref()) } else { pages::update_pages(&demo_home) }
}
