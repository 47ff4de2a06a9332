//! The macOS sandbox: a profile for `sandbox-exec`. Written from its documentation; the tests do not run it.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::policy::{NetworkAccess, SandboxPolicy};

pub(super) const PROGRAM: &str = "/usr/bin/sandbox-exec";

/// The profile text. Later rules override earlier ones.
pub(super) fn profile(policy: &SandboxPolicy) -> String {
    let mut text = "(version 1)\n(allow default)\n(deny file-write*)\n".to_owned();
    let mut add = |rule: &str, path: &Path| {
        text += &format!("({rule} (subpath {}))\n", quote_path(path));
    };
    for path in policy.write.iter().map(PathBuf::as_path).chain([Path::new("/dev/fd")]) {
        add("allow file-write*", path);
    }
    for path in &policy.hide {
        add("deny file-read* file-write*", path);
    }
    for path in &policy.show {
        let rule =
            if policy.write.contains(path) { "allow file-read* file-write*" } else { "allow file-read*" };
        add(rule, path);
    }
    for path in policy.protect.iter().chain(&policy.pin) {
        let rule = if policy.protect.contains(path) { "deny file-write*" } else { "deny file-write-unlink" };
        add(rule, path);
    }
    text += "(allow file-write* (literal \"/dev/null\") (literal \"/dev/zero\") (literal \"/dev/tty\"))\n";
    text += "(deny mach-lookup (global-name \"com.apple.coreservices.launchservicesd\"))\n";
    text += "(deny appleevent-send)\n(deny signal (target others))\n";
    if policy.network != NetworkAccess::All {
        text += "(deny network*)\n";
    }
    if let NetworkAccess::Ports(ports) = &policy.network {
        for port in ports {
            let _ = writeln!(text, "(allow network* (remote ip \"*:{port}\") (local ip \"*:{port}\"))");
        }
        text += "(allow network-outbound (literal \"/private/var/run/mDNSResponder\"))\n";
    }
    if policy.unix_sockets {
        text += "(allow network* (remote unix-socket) (local unix-socket))\n";
    } else if policy.network == NetworkAccess::All {
        text += "(deny network-outbound (remote unix-socket))\n";
    }
    text
}

fn quote_path(path: &Path) -> String {
    format!("\"{}\"", path.to_string_lossy().replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hide_rules_follow_allow_rules_and_names_are_escaped() {
        let policy = SandboxPolicy {
            write: vec!["/p\") (allow file-write* (subpath \"/".into()],
            hide: vec!["/home/me/.osier".into()],
            ..SandboxPolicy::default()
        };
        let text = profile(&policy);
        assert!(
            text.contains("(allow file-write* (subpath \"/p\\\") (allow file-write* (subpath \\\"/\"))\n"),
            "{text}"
        );
        let hidden = text.find("(deny file-read* file-write* (subpath \"/home/me/.osier\"))").unwrap();
        assert!(hidden > text.find("(allow file-write*").unwrap());
        assert!(text.contains("(deny network*)"));
    }
}
