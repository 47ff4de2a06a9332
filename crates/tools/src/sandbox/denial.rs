//! Guesses from the output of a command whether it failed because of the sandbox, because the kernel does not report denials.
//! A wrong guess only costs an extra question.

/// The prefix of the error message when the sandbox cannot start.
pub(super) const START_ERROR_PREFIX: &str = "osier: cannot start the sandbox: ";

/// Network errors as programs print them, in lower case.
const NETWORK_ERRORS: &[&str] = &[
    "network is down",
    "enetdown",
    "network is unreachable",
    "could not resolve",
    "couldn't resolve",
    "name resolution",
    "name or service not known",
    "failed to lookup address",
    "eai_again",
    "enotfound",
    "no such host",
    "unable to access 'http",
    "could not connect",
    "spurious network error",
];

/// Access errors of files, sockets and processes, in lower case.
const ACCESS_ERRORS: &[&str] = &[
    "permission denied",
    "operation not permitted",
    "read-only file system",
    "eacces",
    "eperm",
    "erofs",
    "device or resource busy",
    START_ERROR_LOWERCASE,
];
const START_ERROR_LOWERCASE: &str = "osier: cannot start the sandbox";

/// How many lines are checked, from the end.
const MAX_LINES: usize = 200;

/// The last line of the output that reports something the sandbox denies, with an explanation.
pub(crate) fn detect_denial(output: &str) -> Option<String> {
    let contains_any = |line: &str, patterns: &[&str]| {
        let line = line.to_lowercase();
        patterns.iter().any(|pattern| line.contains(pattern))
    };
    let lines = || output.lines().rev().take(MAX_LINES);
    let network = lines()
        .find(|line| contains_any(line, NETWORK_ERRORS))
        .map(|line| ("no network in the sandbox", line));
    let found = network.or_else(|| {
        lines()
            .find(|line| contains_any(line, ACCESS_ERRORS))
            .map(|line| ("not accessible in the sandbox", line))
    });
    found.map(|(what, line)| format!("{what}: {}", line.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn denial_is_found_in_the_output() {
        for (output, found) in [
            (
                "a\nbash: /etc/x: Permission denied\nb",
                Some("not accessible in the sandbox: bash: /etc/x: Permission denied"),
            ),
            (
                "curl: (6) Could not resolve host: x",
                Some("no network in the sandbox: curl: (6) Could not resolve host: x"),
            ),
            (
                "touch: cannot touch 'x': Read-only file system",
                Some("not accessible in the sandbox: touch: cannot touch 'x': Read-only file system"),
            ),
            ("test failed: left 1, right 2", None),
            ("", None),
        ] {
            assert_eq!(detect_denial(output).as_deref(), found);
        }
    }
}
