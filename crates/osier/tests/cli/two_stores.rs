//! A world with two stores.

use std::fs;

use crate::support::TestEnv;

/// A world with a second file store, called `archive`.
pub(crate) fn two_stores() -> TestEnv {
    let env = TestEnv::new();
    configure(&env, "[stores.archive]\nfolder = '../archive'\n");
    env
}

pub(crate) fn configure(env: &TestEnv, settings: &str) {
    fs::create_dir_all(env.home()).unwrap();
    fs::write(env.home().join("config.toml"), settings).unwrap();
}

pub(crate) fn create_session(env: &TestEnv, line: &str) -> String {
    env.json(&format!("append {line}"))["session"].as_str().unwrap().to_owned()
}
