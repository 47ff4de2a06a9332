//! Hashes and random bytes, for `node:crypto`.

use hmac::{Hmac, Mac};
use rquickjs::prelude::Func;
use rquickjs::{ArrayBuffer, Ctx, Exception, Object};
use sha2::Digest;

use super::bytes;

/// The most random bytes at once.
const MAX_RANDOM: usize = 1 << 20;

/// The hash of bytes; `None` for an unknown algorithm.
fn digest(algorithm: &str, bytes: &[u8]) -> Option<Vec<u8>> {
    Some(match algorithm.to_ascii_lowercase().replace('-', "").as_str() {
        "md5" => md5::Md5::digest(bytes).to_vec(),
        "sha1" => sha1::Sha1::digest(bytes).to_vec(),
        "sha224" => sha2::Sha224::digest(bytes).to_vec(),
        "sha256" => sha2::Sha256::digest(bytes).to_vec(),
        "sha384" => sha2::Sha384::digest(bytes).to_vec(),
        "sha512" => sha2::Sha512::digest(bytes).to_vec(),
        _ => return None,
    })
}

fn keyed_digest(algorithm: &str, key: &[u8], bytes: &[u8]) -> Option<Vec<u8>> {
    macro_rules! mac {
        ($hash:ty) => {{
            let mut mac = Hmac::<$hash>::new_from_slice(key).ok()?;
            mac.update(bytes);
            mac.finalize().into_bytes().to_vec()
        }};
    }
    Some(match algorithm.to_ascii_lowercase().replace('-', "").as_str() {
        "md5" => mac!(md5::Md5),
        "sha1" => mac!(sha1::Sha1),
        "sha256" => mac!(sha2::Sha256),
        "sha384" => mac!(sha2::Sha384),
        "sha512" => mac!(sha2::Sha512),
        _ => return None,
    })
}

/// Bytes of the system's random source.
pub(super) fn random_bytes(count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count.min(MAX_RANDOM)];
    // Every system that runs Osier has one.
    let _ = getrandom::fill(&mut bytes);
    bytes
}

/// `native.digest`, `native.keyedDigest` and `native.randomBytes`.
pub(super) fn install<'js>(native: &Object<'js>) -> rquickjs::Result<()> {
    let unknown = |ctx: &Ctx<'_>, algorithm: &str| {
        Exception::throw_message(ctx, &format!("Digest method not supported: {algorithm}"))
    };
    let hash = move |ctx: Ctx<'js>, algorithm: String, data: String| {
        let found = digest(&algorithm, &bytes::from_text(&data));
        ArrayBuffer::new_copy(ctx.clone(), found.ok_or_else(|| unknown(&ctx, &algorithm))?)
    };
    native.set("digest", Func::from(hash))?;
    let keyed = move |ctx: Ctx<'js>, algorithm: String, key: String, data: String| {
        let (key, data) = (bytes::from_text(&key), bytes::from_text(&data));
        ArrayBuffer::new_copy(
            ctx.clone(),
            keyed_digest(&algorithm, &key, &data).ok_or_else(|| unknown(&ctx, &algorithm))?,
        )
    };
    native.set("keyedDigest", Func::from(keyed))?;
    let random = |ctx: Ctx<'js>, count: usize| match count <= MAX_RANDOM {
        true => ArrayBuffer::new_copy(ctx, random_bytes(count)),
        false => Err(Exception::throw_range(&ctx, &format!("at most {MAX_RANDOM} random bytes at once"))),
    };
    native.set("randomBytes", Func::from(random))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn hashes_are_those_of_the_standards() {
        for (algorithm, start) in
            [("md5", "900150983cd2"), ("sha1", "a9993e364706"), ("SHA-256", "ba7816bf8f01")]
        {
            assert!(hex(&digest(algorithm, b"abc").unwrap()).starts_with(start), "{algorithm}");
        }
        assert_eq!(digest("crc", b""), None);
        let mac = keyed_digest("sha256", b"key", b"The quick brown fox jumps over the lazy dog").unwrap();
        assert!(hex(&mac).starts_with("f7bc83f430538424b132"));
    }
}
