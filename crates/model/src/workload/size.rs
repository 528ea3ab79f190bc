//! Sizes as people write them: `4096`, `64k`, `16 MiB`. The factors are powers of 1024, as in dd(1) and fio(1); `MB` is refused
//! because half of all tools mean 10^6 by it.

/// A text that is not a size.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a size; write a whole number with an optional k, M, G or KiB, MiB, GiB (powers of 1024)")]
pub struct BadSize(pub String);

/// Bytes of a size.
pub fn parse(text: &str) -> Result<u64, BadSize> {
    let bad = || BadSize(text.to_owned());
    let trimmed = text.trim();
    let digits = trimmed.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = trimmed.split_at(digits);
    let number: u64 = number.parse().map_err(|_| bad())?;
    let shift = match unit.trim_start() {
        "" | "B" => 0,
        "k" | "K" | "KiB" => 10,
        "M" | "MiB" => 20,
        "G" | "GiB" => 30,
        _other => return Err(bad()),
    };
    number.checked_mul(1 << shift).ok_or_else(bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_1024() {
        assert_eq!(parse("512"), Ok(512));
        assert_eq!(parse("64k"), Ok(65_536));
        assert_eq!(parse(" 16 MiB "), Ok(16 << 20));
        for text in ["", "M", "1MB", "-1", "1.5M", "99999999999G", "1 0"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
