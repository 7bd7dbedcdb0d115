//! Resource quantities: `500m`, `4`, `256Gi`, `1e3`.
//!
//! Source: apimachinery `pkg/api/resource/quantity.go`. A quantity is an exact number of nano-units and the family of
//! suffixes it was written in; the canonical text keeps the family and has no fraction.

use std::fmt;

/// The family of suffixes a quantity is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `n u m k M G T P E`, powers of 1000.
    DecimalSi,
    /// `Ki Mi Gi Ti Pi Ei`, powers of 1024.
    BinarySi,
    /// `e3`, `E-3`.
    DecimalExponent,
}

/// An exact amount of a resource.
#[derive(Clone, Copy, Debug)]
pub struct Quantity {
    nanos: i128,
    format: Format,
}

const NANO: i128 = 1_000_000_000;
/// Amounts beyond this are cut, as upstream cuts at 2^63-1.
const LIMIT: i128 = i64::MAX as i128 * NANO;

/// Why a text is not a quantity; the text is the one Kubernetes prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// The number or the shape is wrong.
    #[error("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")]
    Format,
    /// The suffix is unknown.
    #[error("unable to parse quantity's suffix")]
    Suffix,
    /// Nothing was given.
    #[error("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")]
    Empty,
}

impl Quantity {
    /// A whole number of units.
    pub fn units(units: i64) -> Quantity {
        Quantity { nanos: i128::from(units) * NANO, format: Format::DecimalSi }
    }

    /// Thousandths of a unit.
    pub fn millis(millis: i64) -> Quantity {
        Quantity { nanos: i128::from(millis) * 1_000_000, format: Format::DecimalSi }
    }

    /// Parses a quantity as the API server does.
    ///
    /// # Errors
    /// [`QuantityError`] with the server's words.
    pub fn parse(text: &str) -> Result<Quantity, QuantityError> {
        if text.is_empty() {
            return Err(QuantityError::Empty);
        }
        let (negative, rest) = match text.as_bytes()[0] {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, suffix) = rest.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
            return Err(QuantityError::Format);
        }
        let (format, base, power) = suffix_of(suffix)?;
        let mut nanos = scaled(whole, fraction, base, power);
        if negative {
            nanos = -nanos;
        }
        Ok(Quantity { nanos: nanos.clamp(-LIMIT, LIMIT), format })
    }

    /// Units, rounded up (the API's `Value()`).
    pub fn value(self) -> i64 {
        ceil(self.nanos, NANO)
    }

    /// Thousandths, rounded up (the API's `MilliValue()`).
    pub fn milli_value(self) -> i64 {
        ceil(self.nanos, 1_000_000)
    }

    /// Whether there is no fraction of a unit.
    pub fn is_integer(self) -> bool {
        self.nanos % NANO == 0
    }

    /// Whether this is less than nothing.
    pub fn is_negative(self) -> bool {
        self.nanos < 0
    }

    /// Whether this is nothing.
    pub fn is_zero(self) -> bool {
        self.nanos == 0
    }

    /// The sum, in this quantity's family (the other's when this is zero, as upstream does).
    #[must_use]
    pub fn plus(self, other: Quantity) -> Quantity {
        let format = if self.nanos == 0 { other.format } else { self.format };
        Quantity { nanos: self.nanos.saturating_add(other.nanos), format }
    }

    /// The difference, in this quantity's family.
    #[must_use]
    pub fn minus(self, other: Quantity) -> Quantity {
        Quantity { nanos: self.nanos.saturating_sub(other.nanos), format: self.format }
    }

    /// The canonical text of `text`, or `text` itself when it is no quantity.
    pub fn canonical(text: &str) -> String {
        Quantity::parse(text).map_or_else(|_| text.to_owned(), |quantity| quantity.to_string())
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Quantity) -> bool {
        self.nanos == other.nanos
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Quantity) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Quantity) -> std::cmp::Ordering {
        self.nanos.cmp(&other.nanos)
    }
}

fn ceil(nanos: i128, unit: i128) -> i64 {
    let rounded = nanos.div_euclid(unit) + i128::from(nanos.rem_euclid(unit) != 0);
    i64::try_from(rounded).unwrap_or(if rounded < 0 { i64::MIN } else { i64::MAX })
}

fn suffix_of(suffix: &str) -> Result<(Format, i128, i32), QuantityError> {
    Ok(match suffix {
        "n" => (Format::DecimalSi, 10, -9),
        "u" => (Format::DecimalSi, 10, -6),
        "m" => (Format::DecimalSi, 10, -3),
        "" => (Format::DecimalSi, 10, 0),
        "k" => (Format::DecimalSi, 10, 3),
        "M" => (Format::DecimalSi, 10, 6),
        "G" => (Format::DecimalSi, 10, 9),
        "T" => (Format::DecimalSi, 10, 12),
        "P" => (Format::DecimalSi, 10, 15),
        "E" => (Format::DecimalSi, 10, 18),
        "Ki" => (Format::BinarySi, 1024, 1),
        "Mi" => (Format::BinarySi, 1024, 2),
        "Gi" => (Format::BinarySi, 1024, 3),
        "Ti" => (Format::BinarySi, 1024, 4),
        "Pi" => (Format::BinarySi, 1024, 5),
        "Ei" => (Format::BinarySi, 1024, 6),
        _ => {
            let Some(exponent) = suffix.strip_prefix(['e', 'E']) else { return Err(QuantityError::Suffix) };
            let power = exponent.parse::<i32>().map_err(|_| QuantityError::Suffix)?;
            (Format::DecimalExponent, 10, power)
        }
    })
}

/// `whole.fraction * base^power` in nano-units, rounded up, cut at [`LIMIT`].
fn scaled(whole: &str, fraction: &str, base: i128, power: i32) -> i128 {
    let digits: Vec<i128> = whole.bytes().chain(fraction.bytes()).map(|digit| i128::from(digit - b'0')).collect();
    let mut value: i128 = 0;
    let mut dropped = 0_usize;
    let mut inexact = false;
    for digit in digits {
        match value.checked_mul(10).and_then(|value| value.checked_add(digit)).filter(|value| *value < i128::MAX / 2048)
        {
            Some(next) if dropped == 0 => value = next,
            _ => {
                dropped += 1;
                inexact |= digit != 0;
            }
        }
    }
    // value * 10^(dropped - fraction digits + 9) * base^power, with the decimal exponent apart.
    let mut tens = dropped as i64 - fraction.len() as i64 + 9;
    if base == 10 {
        tens += i64::from(power);
    } else {
        for _ in 0..power {
            value = value.saturating_mul(1024);
        }
    }
    while tens > 0 && value != 0 {
        value = value.saturating_mul(10);
        if value > LIMIT {
            return LIMIT;
        }
        tens -= 1;
    }
    while tens < 0 {
        if value == 0 {
            break;
        }
        inexact |= value % 10 != 0;
        value /= 10;
        tens += 1;
    }
    value + i128::from(inexact)
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.nanos == 0 {
            return f.write_str("0");
        }
        let small = self.nanos.abs() < 1024 * NANO;
        if self.format == Format::BinarySi && !small && self.is_integer() {
            let mut amount = self.nanos / NANO;
            let mut power = 0;
            while amount % 1024 == 0 && power < 6 {
                amount /= 1024;
                power += 1;
            }
            return write!(f, "{amount}{}", ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"][power]);
        }
        let mut amount = self.nanos;
        let mut power = -9;
        while amount % 1000 == 0 && power < 18 {
            amount /= 1000;
            power += 3;
        }
        if self.format == Format::DecimalExponent {
            return if power == 0 { write!(f, "{amount}") } else { write!(f, "{amount}e{power}") };
        }
        let suffixes = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
        write!(f, "{amount}{}", suffixes[(power / 3 + 3) as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canonical_texts() {
        for (text, canonical) in [
            ("0", "0"),
            ("1", "1"),
            ("4", "4"),
            ("500m", "500m"),
            ("0.5", "500m"),
            ("1500m", "1500m"),
            ("1000m", "1"),
            ("1000", "1k"),
            ("1024", "1024"),
            ("1024Mi", "1Gi"),
            ("256Gi", "256Gi"),
            ("0.5Gi", "512Mi"),
            ("1.5Gi", "1536Mi"),
            ("0.5Ki", "512"),
            ("0.1Ki", "102400m"),
            ("1e3", "1e3"),
            ("1E3", "1e3"),
            ("100e-3", "100e-3"),
            ("-1", "-1"),
            ("+2", "2"),
            (".5", "500m"),
            ("24683652Ki", "24683652Ki"),
            ("0.0000000001", "1n"),
            ("128974848", "128974848"),
            ("2000000000", "2G"),
        ] {
            assert_eq!(Quantity::canonical(text), canonical, "{text}");
        }
    }

    #[test]
    fn values_round_up() {
        let quantity = |text| Quantity::parse(text).expect("a quantity");
        assert_eq!(quantity("1500m").value(), 2);
        assert_eq!(quantity("-1500m").value(), -1);
        assert_eq!(quantity("100m").milli_value(), 100);
        assert_eq!(quantity("1u").milli_value(), 1);
        assert_eq!(quantity("256Gi").value(), 256 << 30);
        assert_eq!(quantity("9999999E").value(), i64::MAX);
        assert!(!quantity("500m").is_integer() && quantity("2k").is_integer());
    }

    #[test]
    fn refuses_what_is_no_quantity() {
        for text in ["", "x", "1.2.3", "1Kib", "Ki", "-", "1 ", "1e", "."] {
            assert!(Quantity::parse(text).is_err(), "{text}");
        }
    }
}
