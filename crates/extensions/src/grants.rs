//! What an extension may do outside its process, as the user granted it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// One permission. The order is the one in which they are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Grant {
    ReadFiles,
    WriteFiles,
    RunPrograms,
    Network,
    Environment,
    Node,
}

impl Grant {
    pub const ALL: [Grant; 6] = [
        Grant::ReadFiles,
        Grant::WriteFiles,
        Grant::RunPrograms,
        Grant::Network,
        Grant::Environment,
        Grant::Node,
    ];

    /// What an extension with this permission does, in plain words.
    pub fn description(self) -> &'static str {
        match self {
            Grant::ReadFiles => "reads files",
            Grant::WriteFiles => "writes files",
            Grant::RunPrograms => "runs programs with your rights",
            Grant::Network => "uses the network",
            Grant::Environment => "reads environment variables",
            Grant::Node => "runs in Node with your rights, not confined",
        }
    }
}

/// A set of permissions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Grants(BTreeSet<Grant>);

impl Grants {
    pub fn has(&self, grant: Grant) -> bool {
        self.0.contains(&grant)
    }

    pub fn add(&mut self, grant: Grant) {
        self.0.insert(grant);
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = Grant> {
        self.0.iter().copied()
    }

    /// Fails if a permission is missing. The error says what to do. Code in Node has all rights of the user.
    pub fn require(&self, grant: Grant) -> Result<(), String> {
        match self.has(grant) || self.has(Grant::Node) {
            true => Ok(()),
            false => Err(format!(
                "this extension has no permission: nothing in its code shows that it {}; see `osier extensions info`",
                grant.description()
            )),
        }
    }
}

impl FromIterator<Grant> for Grants {
    fn from_iter<I: IntoIterator<Item = Grant>>(grants: I) -> Grants {
        Grants(grants.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grants_are_stored_by_name() {
        let grants: Grants = [Grant::RunPrograms, Grant::ReadFiles].into_iter().collect();
        let json = serde_json::to_string(&grants).unwrap();
        assert_eq!(json, r#"["readFiles","runPrograms"]"#);
        assert_eq!(serde_json::from_str::<Grants>(&json).unwrap(), grants);
        assert!(grants.require(Grant::Network).unwrap_err().contains("uses the network"));
        assert!(grants.require(Grant::ReadFiles).is_ok());
    }
}
