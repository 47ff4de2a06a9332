//! Flags: options of the command line that extensions add.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use serde::Deserialize;
use serde_json::Value;

use super::calls::ExtensionCall;
use super::{ExtensionHost, inspect_in_process};
use crate::frame::Failure;
use crate::inspect::FlagKind;

/// A flag as an extension registers it.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct RegisteredFlag {
    pub(crate) name: String,
}

/// The values of the command line, by the names of flags without dashes.
#[derive(Debug, Default)]
pub struct FlagValues(Mutex<BTreeMap<String, Value>>);

impl FlagValues {
    fn get(&self, name: &str) -> Option<Value> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }
}

impl ExtensionHost {
    /// The flags that the extensions of a directory add, as far as their code shows them.
    pub async fn find_flags(&self, directory: &Path) -> BTreeMap<String, FlagKind> {
        let mut flags = BTreeMap::new();
        for source in self.options.catalog.extensions(directory) {
            // An extension that cannot be inspected is reported when it is loaded.
            if let Ok(manifest) = inspect_in_process(&self.options.launcher, &source.path).await {
                flags.extend(manifest.flags);
            }
        }
        flags
    }

    /// Sets what `pi.getFlag` returns. Call it before a session is opened.
    pub fn set_flags(&self, values: BTreeMap<String, Value>) {
        *self.options.flags.0.lock().unwrap_or_else(PoisonError::into_inner) = values;
    }
}

#[derive(Debug, Deserialize)]
struct FlagParams {
    name: String,
}

/// The value of a flag of this extension, or `null`.
pub(super) fn value(call: &ExtensionCall) -> Result<Value, Failure> {
    let FlagParams { name } = call.params()?;
    let is_own = call.extension.registrations().flags.iter().any(|flag| flag.name == name);
    Ok(call.session.options.flags.get(&name).filter(|_| is_own).unwrap_or_default())
}
