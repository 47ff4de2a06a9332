//! Stack traces for people.

/// The most places of a stack trace. A recursion without end has thousands.
const MAX_PLACES: usize = 10;

/// The places of a stack trace as `file:line:column`, without those of Osier's own library.
pub(super) fn places(stack: &str) -> Vec<String> {
    stack.lines().filter_map(place).take(MAX_PLACES).collect()
}

fn place(line: &str) -> Option<String> {
    let place = line.trim().strip_prefix("at ")?;
    let place = place.rsplit_once('(').map_or(place, |(_, place)| place).trim_end_matches(')');
    let (rest, column) = place.rsplit_once(':')?;
    let (file, line) = rest.rsplit_once(':')?;
    let (line, column): (u32, u32) = (line.parse().ok()?, column.parse().ok()?);
    (!file.starts_with("osier:")).then(|| format!("{file}:{line}:{column}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_names_the_files_and_not_the_library() {
        let stack =
            "    at handler (/x/a.ts:2:7)\n    at <anonymous> (/x/b.js:3:4)\n    at run (osier:api.js:1:2)\n";
        assert_eq!(places(stack), ["/x/a.ts:2:7", "/x/b.js:3:4"]);
    }
}
