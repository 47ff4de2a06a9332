//! A world with two stores.

use std::fs;

use crate::support::World;

/// A world with a second file store, called `archive`.
pub(crate) fn two_stores() -> World {
    let world = World::new();
    configure(&world, "[stores.archive]\nfolder = '../archive'\n");
    world
}

pub(crate) fn configure(world: &World, settings: &str) {
    fs::create_dir_all(world.home()).unwrap();
    fs::write(world.home().join("config.toml"), settings).unwrap();
}

pub(crate) fn create_session(world: &World, line: &str) -> String {
    world.json(&format!("append {line}"))["session"].as_str().unwrap().to_owned()
}
