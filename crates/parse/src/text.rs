//! Small readings of human-made text: numbered lines, decimal numbers of any locale, short quotes.
//! Knows no tool.

/// The lines of a text with their numbers, counted from 1, without line ends.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(index, line)| (index + 1, line))
}

/// The line in which the byte at `offset` stands, counted from 1.
pub(crate) fn line_at(text: &str, offset: usize) -> usize {
    let before = &text.as_bytes()[..offset.min(text.len())];
    1 + before.iter().filter(|&&byte| byte == b'\n').count()
}

/// Long enough to recognise a line in a message, short enough for one line of a terminal.
const CLIP_CHARS: usize = 120;

/// A line to be quoted in a message: shortened, without control characters.
pub(crate) fn clip(line: &str) -> String {
    let mut clean = line.chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut short: String = clean.by_ref().take(CLIP_CHARS).collect();
    if clean.next().is_some() {
        short.push('…');
    }
    short
}

/// A number as printf prints it in some locale: `12`, `1.5`, `1,5`, `3.2693e-05`.
pub(crate) fn decimal(text: &str) -> Option<f64> {
    text.starts_with(|c: char| c.is_ascii_digit()).then_some(())?;
    let number: f64 = text.replacen(',', ".", 1).parse().ok()?;
    number.is_finite().then_some(number)
}

/// Largest relative error that the rounding of a printed number hides: half a unit of its last
/// digit, divided by the number. Infinite for zero.
pub(crate) fn rounding(text: &str) -> f64 {
    let mantissa = text.split(['e', 'E']).next().unwrap_or(text);
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    0.5 / digits.parse().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_of_every_locale() {
        assert_eq!(decimal("4.38435"), Some(4.38435));
        assert_eq!(decimal("0,0468175"), Some(0.0468175));
        assert_eq!(decimal("3.2693e-05"), Some(3.2693e-5));
        for bad in ["", "inf", "nan", "-1", "+1", "1,2,3", "1e999", ".5", "1 2"] {
            assert_eq!(decimal(bad), None, "{bad}");
        }
    }

    #[test]
    fn rounding_is_relative() {
        assert_eq!(rounding("53.4"), 0.5 / 534.0);
        assert_eq!(rounding("3.2693e-05"), 0.5 / 32693.0);
        assert_eq!(rounding("0.0"), f64::INFINITY);
    }

    #[test]
    fn quotes_stay_on_one_line() {
        assert_eq!(clip("a\tb\0"), "a b ");
        assert_eq!(clip(&"é".repeat(200)).chars().count(), 121);
    }
}
