//! URL-safe base64 without padding, as continue tokens use it.

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

pub(super) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().fold(0_u32, |word, byte| (word << 8) | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..=chunk.len() {
            text.push(char::from(LETTERS[(word >> (18 - 6 * place)) as usize & 63]));
        }
    }
    text
}

/// The bytes, or the position of the first letter that cannot be.
pub(super) fn decode(text: &str) -> Result<Vec<u8>, usize> {
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    let (mut word, mut bits) = (0_u32, 0);
    for (at, letter) in text.bytes().enumerate() {
        let value = LETTERS.iter().position(|known| *known == letter).ok_or(at)?;
        word = (word << 6) | value as u32;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((word >> bits) as u8);
        }
    }
    if text.len() % 4 == 1 { Err(text.len() - 1) } else { Ok(bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        for text in ["", "a", "ab", "abc", "{\"v\":\"meta.k8s.io/v1\",\"rv\":1,\"start\":\"/l2\\u0000\"}"] {
            assert_eq!(decode(&encode(text.as_bytes())).as_deref(), Ok(text.as_bytes()));
        }
        assert_eq!(
            encode(br#"{"v":"meta.k8s.io/v1","rv":168584,"start":"/l2\u0000"}"#),
            "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MTY4NTg0LCJzdGFydCI6Ii9sMlx1MDAwMCJ9"
        );
        assert_eq!(decode("ab*"), Err(2));
    }
}
