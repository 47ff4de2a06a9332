//! A stand-in for the crate `libfuzzer-sys`, which needs a nightly compiler: with it, ordinary tests compile and run the fuzz
//! targets.

/// Makes a function of a fuzz target: `run`, which checks one input.
#[macro_export]
macro_rules! fuzz_target {
    (|$data:ident: &[u8]| $body:expr) => {
        pub(crate) fn run($data: &[u8]) {
            $body
        }
    };
    (|$text:ident: &str| $body:expr) => {
        pub(crate) fn run(data: &[u8]) {
            let Ok($text) = std::str::from_utf8(data) else { return };
            $body
        }
    };
}
