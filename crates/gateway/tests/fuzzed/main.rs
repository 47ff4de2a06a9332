//! Short runs of the fuzz targets with random input; see `fuzz/README.md`.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
#![allow(clippy::duplicate_mod, reason = "the fuzz targets have the same bodies")]

extern crate osier_testkit as libfuzzer_sys;

mod bodies;
#[allow(unused_attributes, reason = "a fuzz target is a program of its own")]
#[path = "../../../../fuzz/fuzz_targets/gateway_grant.rs"]
mod gateway_grant_target;
#[allow(unused_attributes, reason = "a fuzz target is a program of its own")]
#[path = "../../../../fuzz/fuzz_targets/gateway_headers.rs"]
mod gateway_headers_target;

use proptest::prelude::*;

/// Parts of hosts and origins, so that random headers are close to those that are allowed.
const PARTS: [&str; 22] = [
    "localhost",
    "LOCALHOST",
    "127.0.0.1",
    "127.1",
    "[::1]",
    "::1",
    "[::ffff:127.0.0.1]",
    "0.0.0.0",
    "example.com",
    ".",
    ":",
    "@",
    ":80",
    ":443",
    ":7433",
    "/",
    "?",
    "#",
    "http://",
    "https://",
    "null",
    "%",
];

fn value() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(&PARTS[..]), 0..4).prop_map(|parts| parts.concat())
}

fn header() -> impl Strategy<Value = String> {
    let name = prop::sample::select(&["host", "origin", "Host", "sec-fetch-site", "sec-fetch-mode"][..]);
    (name, value()).prop_map(|(name, value)| format!("{name}: {value}\n"))
}

proptest! {
    #[test]
    fn headers_of_parts_are_allowed_or_refused(host in value(), origin in value()) {
        bodies::headers(format!("host: {host}\norigin: {origin}").as_bytes());
        bodies::headers(format!("host: localhost:7433\norigin: http://{origin}").as_bytes());
    }

    #[test]
    fn any_headers_are_allowed_or_refused(headers in prop::collection::vec(header(), 0..5)) {
        bodies::headers(headers.concat().as_bytes());
    }

    #[test]
    fn any_bytes_are_allowed_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        bodies::headers(&bytes);
        bodies::headers(&[b"host: ", &bytes[..]].concat());
        bodies::headers(&[b"host: localhost\norigin: ", &bytes[..]].concat());
        bodies::grant(&bytes);
    }

    #[test]
    fn a_grant_with_other_characters_is_none(
        from in any::<u8>(), length in 0_u8..4, rest in "[A-Za-z0-9_.=-]{0,4}",
    ) {
        bodies::grant(&[&[from, length], rest.as_bytes()].concat());
    }
}

#[test]
fn a_request_to_this_machine_is_allowed_and_an_unchanged_grant_is_one() {
    use axum::http::{HeaderMap, Method, Uri};
    let headers: HeaderMap = [("host", "localhost:1"), ("origin", "http://localhost:1")]
        .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
        .into_iter()
        .collect();
    let rules = osier_gateway::HostRules::default();
    assert!(rules.allows(&Method::POST, &Uri::from_static("/api"), &headers));
    bodies::grant(&[0, 0]);
}

#[test]
fn the_fuzz_targets_run() {
    for run in [gateway_headers_target::run, gateway_grant_target::run] {
        for input in [&b""[..], b"{}", b"one\ntwo", &[0xff; 64]] {
            run(input);
        }
    }
}
