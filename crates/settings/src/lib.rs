//! The settings of the program: the files of the user and of a project, trust in projects, and the engine, the models and the
//! workspaces that they configure.
//!
//! This crate reads no environment variables and prints nothing: [`HostEnvironment`] provides what it needs.
//!
//! | file | contents |
//! |---|---|
//! | `home.rs`, `host_environment.rs` | everything that is configured for a directory; what the caller knows about the process |
//! | `settings/` | reading, checking and merging the files; `table.rs` is the one list of keys |
//! | `edit.rs`, `names.rs` | changing one key in the user's file; checking the names of tools, models and themes |
//! | `notices.rs` | problems of the settings, and requests of untrusted projects, as texts |
//! | `rows.rs`, `settings_page.rs` | every setting with its value and source; those that the terminal shows and changes |
//! | `model_list.rs` | every model, and what is missing to use it |
//! | `logging.rs`, `logging/` | the log file in the home folder |
//! | `extensions.rs`, `extensions/` | where extensions are found, packages, and what the user allowed |
//! | `trust.rs`, `trust/` | what a project requests, and the decisions about it |
//! | `configured_stores.rs`, `workspace.rs`, `one_shot.rs`, `sandbox_rules.rs`, `themes.rs` | the stores, workspaces, sandboxes and themes of the settings |

mod configured_stores;
pub mod edit;
mod error;
pub mod extensions;
mod home;
mod host_environment;
pub mod logging;
pub mod model_list;
pub mod names;
pub mod notices;
mod one_shot;
pub mod rows;
pub mod sandbox_rules;
mod settings;
pub mod settings_page;
pub mod themes;
pub mod trust;
mod workspace;

pub use configured_stores::unknown_store;
pub use error::SettingsError;
pub use home::{CliOverrides, Home};
pub use host_environment::HostEnvironment;
/// The databases of [`Home`].
pub use osier_store_mysql::MySqlStore;
pub use settings::{
    EffectiveSetting, InterfaceSettings, LoadedSettings, ParsedSetting, Project, ProjectSettings,
    SandboxSettings, SandboxWhen, Settings, SettingsLayers, SettingsOwner, SettingsProblem, StoreLocation,
    StoreSpec, SubagentSettings, dotted_key, load_settings, table,
};
pub use workspace::WorkspaceOptions;
