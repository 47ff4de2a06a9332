//! Recognizes context overflow errors of many servers and extracts the token counts.

use super::ErrorResponse;

/// Phrases that servers use for a prompt that does not fit, in lower case.
const PHRASES: &[&str] = &[
    "prompt is too long",
    "prompt too long",
    "input is too long",
    "exceed context limit",
    "exceeds the context",
    "exceed the context",
    "exceeded the context",
    "context window exceeds",
    "exceeds the available context",
    "exceeds the maximum number of tokens",
    "exceeds the maximum allowed input length",
    "exceeded model token limit",
    "exceeded max context length",
    "maximum context length",
    "maximum prompt length",
    "maximum model length",
    "greater than the context length",
    "context length is only",
    "context length exceeded",
    "context_length_exceeded",
    "context the overflows",
    "token limit exceeded",
    "reduce the length of the messages",
    "reduce the length of the input",
    "longer than the model's context",
    "request too large for",
    "input length exceeds",
];

const CODES: &[&str] =
    &["context_length_exceeded", "exceed_context_size", "request_too_large", "model_context_window_exceeded"];

/// Smaller numbers are versions, percentages or list positions.
const MIN_TOKEN_COUNT: u64 = 100;

/// The tokens needed and the size of the context window, if the error is a context overflow.
pub(super) fn overflow_token_counts(
    response: &ErrorResponse,
    phrase: &str,
    is_rate: bool,
) -> Option<(Option<u64>, Option<u64>)> {
    let named = response.has_code(CODES)
        || PHRASES.iter().any(|known| phrase.contains(known))
        || mentions_token_limit(phrase);
    // A rate limit in tokens per minute is not an overflow, unless this request alone exceeds it.
    let by_words = named && (!is_rate || phrase.contains("request too large"));
    let by_status = response.status == Some(413);
    let by_empty_body =
        response.is_long_request && response.status == Some(400) && response.message.is_empty();
    if !(by_words || by_status || by_empty_body) {
        return None;
    }
    let (needed, window) = match response.token_counts {
        (None, None) => parse_token_counts(phrase),
        given => given,
    };
    let makes_sense = !matches!((needed, window), (Some(needed), Some(window)) if needed <= window);
    Some(if makes_sense { (needed, window) } else { (None, None) })
}

/// Whether the phrase is like "prompt token count of 140000 exceeds the limit of 128000". Errors about other limits use
/// similar words.
fn mentions_token_limit(phrase: &str) -> bool {
    let before = phrase.split_once("exceeds the limit of").map_or("", |(before, _)| before);
    ["token count", "prompt tokens", "input tokens", "context"].iter().any(|word| before.contains(word))
}

/// The numbers in a text, each with the words before it.
fn find_numbers(text: &str) -> Vec<(&str, u64)> {
    let mut found = Vec::new();
    let mut from = 0;
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let digits = &rest[at..];
        let length =
            digits.find(|c: char| !c.is_ascii_digit() && c != ',' && c != '_').unwrap_or(digits.len());
        let start = text.len() - rest.len() + at;
        let number: String = digits[..length].chars().filter(char::is_ascii_digit).collect();
        if let Ok(number) = number.parse::<u64>()
            && number >= MIN_TOKEN_COUNT
        {
            found.push((&text[from..start], number));
            from = start + length;
        }
        rest = &digits[length..];
    }
    found
}

fn parse_token_counts(text: &str) -> (Option<u64>, Option<u64>) {
    let numbers = find_numbers(text);
    if let Some(at) = numbers.iter().position(|(before, _)| before.trim_end().ends_with('>')) {
        let summed = numbers[..at].iter().rev().take_while({
            let mut last = true;
            move |(before, _)| std::mem::replace(&mut last, before.contains('+'))
        });
        return (
            Some(summed.fold(0, |sum: u64, (_, number)| sum.saturating_add(*number))).filter(|sum| *sum > 0),
            Some(numbers[at].1),
        );
    }
    let is_window = |before: &str| {
        !before.trim_end().ends_with(" by")
            && ["maximum", "limit", "context", "only", "window", "allowed"]
                .iter()
                .any(|word| before.contains(word))
            && !["requested", "resulted", "contains", "passed"].iter().any(|word| before.contains(word))
    };
    let window = numbers.iter().find(|(before, _)| is_window(before)).map(|(_, number)| *number);
    // "… for model with 131072 maximum context length"
    let window = window.or_else(|| {
        numbers.iter().map(|(_, number)| *number).find(|number| text.contains(&format!("{number} maximum")))
    });
    let needed = numbers
        .iter()
        .filter(|(before, number)| Some(*number) != window && !before.trim_end().ends_with(" by"));
    (needed.map(|(_, number)| *number).max(), window)
}

#[cfg(test)]
mod tests {
    use super::super::{ErrorResponse, classify_error};
    use crate::error::ModelError;

    fn sizes(status: u16, message: &str) -> Option<(Option<u64>, Option<u64>)> {
        let body = serde_json::json!({ "error": { "message": message } }).to_string();
        match classify_error(&ErrorResponse::from_http("p", "m", status, body.as_bytes())) {
            ModelError::ContextOverflow { needed, window, .. } => Some((needed, window)),
            _ => None,
        }
    }

    #[test]
    fn recognizes_overflow_messages_and_their_token_counts() {
        for (message, needed, window) in [
            ("prompt is too long: 213462 tokens > 200000 maximum", Some(213_462), Some(200_000)),
            (
                "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length",
                Some(209_573),
                Some(200_000),
            ),
            (
                "Your input exceeds the context window of this model. Please adjust your input and try again.",
                None,
                None,
            ),
            (
                "This model's maximum context length is 128000 tokens. However, you requested 130000 tokens (129000 in the messages, 1000 in the completion).",
                Some(130_000),
                Some(128_000),
            ),
            (
                "This model's maximum context length is 8192 tokens. However, your messages resulted in 10000 tokens.",
                Some(10_000),
                Some(8_192),
            ),
            (
                "You passed 10001 input tokens and requested 100 output tokens. However, the model's context length is only 8192 tokens",
                Some(10_001),
                Some(8_192),
            ),
            (
                "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
                Some(1_196_265),
                Some(1_048_575),
            ),
            (
                "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
                Some(537_812),
                Some(131_072),
            ),
            (
                "request (4010 tokens) exceeds the available context size (2048 tokens), try increasing it",
                Some(4_010),
                Some(2_048),
            ),
            (
                "This endpoint's maximum context length is 200,000 tokens. However, you requested about 250,123 tokens",
                Some(250_123),
                Some(200_000),
            ),
            ("prompt token count of 140000 exceeds the limit of 128000", Some(140_000), Some(128_000)),
            ("prompt too long; exceeded max context length by 345 tokens", None, None),
            ("Please reduce the length of the messages or completion.", None, None),
            (
                "The number of tokens to keep from the initial prompt is greater than the context length",
                None,
                None,
            ),
            (
                "Prompt contains 150000 tokens and is too large for model with 131072 maximum context length",
                Some(150_000),
                Some(131_072),
            ),
        ] {
            assert_eq!(sizes(400, message), Some((needed, window)), "{message}");
        }
    }

    #[test]
    fn reads_token_counts_from_llama_cpp_fields() {
        let body = r#"{"error":{"code":400,"message":"request (4010 tokens) exceeds the available context size (2048 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":4010,"n_ctx":2048}}"#;
        let failure = classify_error(&ErrorResponse::from_http("local", "m", 400, body.as_bytes()));
        assert!(
            matches!(failure, ModelError::ContextOverflow { needed: Some(4010), window: Some(2048), .. }),
            "{failure:?}"
        );
    }

    #[test]
    fn rate_limits_and_other_limits_are_not_overflow() {
        assert_eq!(
            sizes(
                429,
                "Rate limit reached: limit 30000 tokens per min, requested 31000. Reduce the length of the messages or wait"
            ),
            None
        );
        assert_eq!(
            sizes(429, "Request too large for gpt-x on tokens per min (TPM): Limit 30000, Requested 41000."),
            Some((Some(41_000), Some(30_000)))
        );
        assert_eq!(sizes(400, "messages: at least one message is required"), None);
        for other in [
            "The number of tools (200) exceeds the limit of 128",
            "max_tokens of 9000 exceeds the limit of 4096",
            "image size exceeds the limit of 5242880 bytes",
        ] {
            assert_eq!(sizes(400, other), None, "{other}");
        }
    }

    #[test]
    fn empty_400_after_a_long_request_is_overflow() {
        let mut response = ErrorResponse::from_http("p", "m", 400, b"");
        assert_eq!(classify_error(&response).code(), "bad_request");
        response.is_long_request = true;
        assert_eq!(classify_error(&response).code(), "overflow");
    }
}
