//! Escapes arbitrary text: no hidden characters remain, and the original text can be restored.

#![no_main]

#[path = "../../crates/tools/src/visible.rs"]
mod visible;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let shown = visible::visible_line(text);
    assert!(!shown.contains(char::is_control));
    let mut parts = shown.split("<U+");
    let mut back = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (code, rest) = part.split_once('>').unwrap();
        back.push(char::from_u32(u32::from_str_radix(code, 16).unwrap()).unwrap());
        back.push_str(rest);
    }
    assert_eq!(back, text);
    let _ = visible::visible(text);
});
