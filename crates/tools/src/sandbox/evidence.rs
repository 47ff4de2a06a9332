//! Whether a confined command failed because of the sandbox. The kernel does not tell an ordinary process; what the command
//! printed does, as far as it goes. A wrong guess costs a question.

/// Begins what the launcher says if it runs nothing.
pub(super) const REFUSED: &str = "osier: cannot start the sandbox: ";

/// Errors of the network, as programs print them.
const NETWORK: &[&str] = &[
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

/// Errors of files, sockets and processes out of reach.
const ACCESS: &[&str] = &[
    "permission denied",
    "operation not permitted",
    "read-only file system",
    "eacces",
    "eperm",
    "erofs",
    "device or resource busy",
    REFUSED_LOWER,
];
const REFUSED_LOWER: &str = "osier: cannot start the sandbox";

/// Lines looked at, from the end: what matters comes last.
const LINES: usize = 200;

/// The line of the output that speaks of something the sandbox denies, and what that is.
pub(crate) fn denial(output: &str) -> Option<String> {
    let says = |line: &str, signs: &[&str]| {
        let line = line.to_lowercase();
        signs.iter().any(|sign| line.contains(sign))
    };
    let lines = || output.lines().rev().take(LINES);
    let network = lines().find(|line| says(line, NETWORK)).map(|line| ("no network in the sandbox", line));
    let found = network.or_else(|| {
        lines().find(|line| says(line, ACCESS)).map(|line| ("out of reach in the sandbox", line))
    });
    found.map(|(what, line)| format!("{what}: {}", line.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_tells_why_is_found() {
        for (output, found) in [
            (
                "a\nbash: /etc/x: Permission denied\nb",
                Some("out of reach in the sandbox: bash: /etc/x: Permission denied"),
            ),
            (
                "curl: (6) Could not resolve host: x",
                Some("no network in the sandbox: curl: (6) Could not resolve host: x"),
            ),
            (
                "touch: cannot touch 'x': Read-only file system",
                Some("out of reach in the sandbox: touch: cannot touch 'x': Read-only file system"),
            ),
            ("test failed: left 1, right 2", None),
            ("", None),
        ] {
            assert_eq!(denial(output).as_deref(), found);
        }
    }
}
