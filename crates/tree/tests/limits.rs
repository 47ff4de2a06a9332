//! When a context is compacted, and how much is kept.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::fmt::Write;

use expect_test::expect;
use osier_tree::compaction_cut::ContextLimits;

#[test]
fn the_compaction_threshold_depends_on_the_context_window() {
    let mut table = String::from("window    output  from      keeps   tells\n");
    for (window, output) in [
        (4_096, Some(2_048)),
        (8_192, Some(4_096)),
        (16_384, Some(4_096)),
        (32_768, Some(4_096)),
        (32_768, None),
        (65_536, Some(8_192)),
        (100_000, Some(8_192)),
        (131_072, Some(8_192)),
        (128_000, Some(16_384)),
        (131_072, None),
        (200_000, Some(64_000)),
        (200_000, Some(8_192)),
        (400_000, Some(128_000)),
        (1_000_000, Some(64_000)),
    ] {
        let limits = ContextLimits::new(window, output);
        let output = output.map_or("-".to_owned(), |output| output.to_string());
        let from = limits.threshold();
        assert!(limits.should_compact(from) && !limits.should_compact(from - 1));
        let (keeps, tells) = (limits.keep_recent(), limits.summary_budget(None));
        writeln!(table, "{window:<9} {output:<7} {from:<9} {keeps:<7} {tells}").unwrap();
        assert!(keeps < from && tells < window);
    }
    expect![[r#"
        window    output  from      keeps   tells
        4096      2048    3277      1024    2048
        8192      4096    6554      2048    4096
        16384     4096    13108     4096    8192
        32768     4096    25805     8192    16384
        32768     -       25600     8192    16384
        65536     8192    51610     16384   49152
        100000    8192    82628     20000   83616
        131072    8192    110592    20000   114688
        128000    16384   100455    20000   111616
        131072    -       101072    20000   114688
        200000    64000   160000    20000   183616
        200000    8192    172628    20000   183616
        400000    128000  360000    20000   383616
        1000000   64000   960000    20000   983616
    "#]]
    .assert_eq(&table);
}

#[test]
fn settings_apply_within_limits() {
    let of = |window, reserve, keep_recent| {
        let limits = ContextLimits { reserve, keep_recent, ..ContextLimits::new(window, Some(8_192)) };
        (limits.threshold(), limits.keep_recent())
    };
    assert_eq!(of(200_000, Some(100_000), Some(30_000)), (100_000, 30_000));
    assert_eq!(of(200_000, Some(1_000), None), (199_000, 20_000));
    // A reserve as large as the window would compact all the time, and keeping everything would compact nothing.
    assert_eq!(of(8_192, Some(16_384), Some(20_000)), (6_554, 4_096));
    assert_eq!(of(200_000, Some(190_000), Some(150_000)), (25_600, 100_000));
}
