//! Names and randomness, derived from the seed and from what asks, never from one shared stream: a statement that is
//! inserted or a fork that is made does not rename the rest of the world.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};

/// Letters and digits that Kubernetes uses for generated names (apimachinery `util/rand`).
pub const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// Spreads the bits of `value` over the whole word (splitmix64).
pub fn mix(value: u64) -> u64 {
    let mut word = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// FNV-1a over parts, each ended by a byte that text cannot hold.
pub fn hash(seed: u64, parts: &[&str]) -> u64 {
    let mut state = 0xcbf2_9ce4_8422_2325_u64 ^ mix(seed);
    for part in parts {
        for byte in part.bytes().chain([0xff]) {
            state = (state ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    mix(state)
}

/// A generator for one purpose, named by `parts`.
pub fn stream(seed: u64, parts: &[&str]) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(hash(seed, parts))
}

/// A random (version 4) UUID for one purpose.
pub fn uuid(seed: u64, parts: &[&str]) -> String {
    let mut random = stream(seed, parts);
    let (high, low) = (random.next_u64(), random.next_u64());
    format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xfff,
        0x8000 | (low >> 48) & 0x3fff,
        low & 0xffff_ffff_ffff
    )
}

/// `length` characters of [`ALPHABET`].
pub fn suffix(seed: u64, parts: &[&str], length: usize) -> String {
    let mut random = stream(seed, parts);
    (0..length).map(|_| char::from(ALPHABET[random.next_u32() as usize % ALPHABET.len()])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_purpose_gives_the_same_name() {
        assert_eq!(uuid(0, &["Pod", "a", "1"]), uuid(0, &["Pod", "a", "1"]));
        assert_ne!(uuid(0, &["Pod", "a", "1"]), uuid(0, &["Pod", "a", "2"]));
        assert_ne!(uuid(0, &["Pod", "ab", ""]), uuid(0, &["Pod", "a", "b"]));
        assert_ne!(uuid(0, &["Pod"]), uuid(1, &["Pod"]));
        let id = uuid(7, &["x"]);
        assert_eq!((id.len(), &id[14..15]), (36, "4"));
        assert!("89ab".contains(&id[19..20]));
        assert!(suffix(0, &["x"], 5).bytes().all(|letter| ALPHABET.contains(&letter)));
    }
}
