//! Numbers as people read them: a handy unit, four significant digits, never more precision than sense. Knows units; knows nothing of
//! verdicts.

/// Keeps number and unit on one line. [`super::plain`] makes a space of it.
pub(crate) const NBSP: char = '\u{a0}';

/// Significant digits of a measured value: enough to see a change of a tenth of a per cent.
const DIGITS: i32 = 4;

/// From here on (and below its inverse) a number without a prefix of its own is written as a power of ten.
const PLAIN_BELOW: i32 = 7;

/// Prefixes of a base unit: from which size on, and how it is called; largest first.
type Prefixes = &'static [(f64, &'static str)];

/// As dd(1) and disk makers count: powers of 1000.
const BYTES: Prefixes = &[(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")];
const BYTES_PER_SECOND: Prefixes = &[(1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s")];
const SECONDS: Prefixes = &[(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")];
const PER_SECOND: Prefixes = &[(1e9, "G/s"), (1e6, "M/s"), (1e3, "k/s"), (1.0, "/s")];
const OPERATIONS_PER_SECOND: Prefixes = &[(1e9, "Gop/s"), (1e6, "Mop/s"), (1e3, "kop/s"), (1.0, "op/s")];

/// How values that stand together are written: one unit and one number of decimals for all of them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scale {
    factor: f64,
    unit: String,
    style: Style,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Style {
    Decimals(usize),
    PowerOfTen,
}

impl Scale {
    /// The scale for `values`, which are in the base unit `unit` of a metric (`B/s`, `s`, `1/s`, `1`...); the largest one decides.
    pub(crate) fn of(unit: &str, values: impl IntoIterator<Item = f64>) -> Scale {
        let largest = values.into_iter().filter(|v| v.is_finite()).fold(0.0, |most: f64, v| most.max(v.abs()));
        let (factor, unit) = prefixed(unit, largest);
        let exponent = exponent(largest / factor);
        let style = if largest == 0.0 {
            Style::Decimals(0)
        } else if (-PLAIN_BELOW..PLAIN_BELOW).contains(&exponent) {
            Style::Decimals(usize::try_from(DIGITS - 1 - exponent).unwrap_or(0))
        } else {
            Style::PowerOfTen
        };
        Scale { factor, unit, style }
    }

    /// The scale for the ticks of an axis: as few decimals as tell them exactly.
    pub(crate) fn of_ticks(unit: &str, ticks: &[f64]) -> Scale {
        let scale = Scale::of(unit, ticks.iter().copied());
        let Style::Decimals(most) = scale.style else { return scale };
        let exact = |decimals: usize| {
            let step = 10f64.powi(i32::try_from(decimals).unwrap_or(0));
            ticks.iter().map(|tick| tick / scale.factor * step).all(|v| (v - v.round()).abs() < 1e-6 * v.abs().max(1.0))
        };
        // Close ticks far from zero need more than four digits.
        let decimals = (0..most + 6).find(|decimals| exact(*decimals)).unwrap_or(most);
        Scale { style: Style::Decimals(decimals), ..scale }
    }

    /// The number alone: `85.48`.
    pub(crate) fn number(&self, value: f64) -> String {
        let value = value / self.factor;
        if !value.is_finite() {
            return "-".to_owned();
        }
        match self.style {
            Style::Decimals(decimals) => unsigned_zero(format!("{value:.decimals$}")),
            Style::PowerOfTen => format!("{value:.3e}"),
        }
    }

    /// The unit alone: `MB/s`; empty for plain numbers.
    pub(crate) fn unit(&self) -> &str {
        &self.unit
    }

    /// `85.48 MB/s`.
    pub(crate) fn quantity(&self, value: f64) -> String {
        join(&self.number(value), &self.unit)
    }
}

/// One value by itself: `85.48 MB/s`.
pub(crate) fn quantity(value: f64, unit: &str) -> String {
    Scale::of(unit, [value]).quantity(value)
}

/// Bytes of a disk: `1.07 GB`; three digits, as on the box.
pub(crate) fn bytes(bytes: u64) -> String {
    let value = bytes as f64;
    let (factor, unit) = prefixed("B", value);
    let value = value / factor;
    let decimals = usize::try_from(2 - exponent(value)).unwrap_or(0);
    let decimals = if factor == 1.0 { 0 } else { decimals };
    join(&format!("{value:.decimals$}"), &unit)
}

/// Bytes of memory, which is sold in powers of two: `8.0 GiB`.
pub(crate) fn memory(bytes: u64) -> String {
    format!("{:.1}{NBSP}GiB", bytes as f64 / f64::from(1u32 << 30))
}

/// A change in per cent without its unit, always with a sign: `+47.9`, `-7.4`, `0.0`.
pub(crate) fn signed(pct: f64) -> String {
    if !pct.is_finite() {
        return "-".to_owned();
    }
    let text = match pct.abs() {
        size if size < 99.95 => format!("{pct:+.1}"),
        size if size < 99_999.5 => format!("{pct:+.0}"),
        _ => format!("{pct:+.1e}"),
    };
    if text == "+0.0" || text == "-0.0" { "0.0".to_owned() } else { text }
}

/// A change with its unit: `+47.9 %`.
pub(crate) fn change(pct: f64) -> String {
    format!("{}{NBSP}%", signed(pct))
}

/// A size in per cent, without sign and without needless zeros: `5 %`, `2.5 %`, `0.8 %`.
pub(crate) fn percent(pct: f64) -> String {
    let text = signed(pct);
    let text = text.trim_start_matches('+');
    format!("{}{NBSP}%", text.strip_suffix(".0").unwrap_or(text))
}

/// A p-value to three digits: `0.0286`, `3.9e-6`; never 0, which no test can give.
pub(crate) fn p_value(p: f64) -> String {
    match p {
        p if !p.is_finite() => "-".to_owned(),
        p if p > 0.995 => "1".to_owned(),
        p if p >= 1e-4 => {
            let decimals = usize::try_from(2 - exponent(p)).unwrap_or(2);
            format!("{p:.decimals$}")
        }
        p if p > 0.0 => format!("{p:.1e}"),
        _ => "< 1e-300".to_owned(),
    }
}

/// A count that is expected, not seen: `0.05`, `2.4`, `12`.
pub(crate) fn expected(count: f64) -> String {
    match count {
        c if c < 0.095 => format!("{c:.2}"),
        c if c < 9.95 => format!("{c:.1}"),
        c => format!("{c:.0}"),
    }
}

fn join(number: &str, unit: &str) -> String {
    if unit.is_empty() { number.to_owned() } else { format!("{number}{NBSP}{unit}") }
}

/// The prefix for a value of the size of `largest`.
fn prefixed(unit: &str, largest: f64) -> (f64, String) {
    let prefixes = match unit {
        "B" => BYTES,
        "B/s" => BYTES_PER_SECOND,
        "s" => SECONDS,
        "1/s" => PER_SECOND,
        "op/s" => OPERATIONS_PER_SECOND,
        "1" => return (1.0, String::new()),
        other => return (1.0, other.to_owned()),
    };
    // Zero has no size: it takes the unit itself.
    let size = if largest == 0.0 { 1.0 } else { rounded(largest) };
    let fitting = prefixes.iter().find(|(factor, _)| size >= *factor).or(prefixes.last());
    fitting.map_or((1.0, unit.to_owned()), |(factor, name)| (*factor, (*name).to_owned()))
}

/// Power of ten of a positive number after it was rounded to [`DIGITS`]: 999.96 is written with the digits of 1000.
fn exponent(value: f64) -> i32 {
    if value > 0.0 && value.is_finite() { rounded(value).log10().floor() as i32 } else { 0 }
}

/// To [`DIGITS`] significant digits.
fn rounded(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

fn unsigned_zero(text: String) -> String {
    match text.strip_prefix('-') {
        Some(rest) if rest.bytes().all(|b| b == b'0' || b == b'.') => rest.to_owned(),
        Some(_) | None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_get_a_handy_unit_and_four_digits() {
        let cases = [
            (85_480_000.0, "B/s", "85.48 MB/s"),
            (999_940.0, "B/s", "999.9 kB/s"),
            (999_960.0, "B/s", "1.000 MB/s"),
            (0.004_312, "s", "4.312 ms"),
            (0.000_031, "s", "31.00 µs"),
            (4631.3, "s", "4631 s"),
            (1.354, "1", "1.354"),
            (812.3, "1/s", "812.3 /s"),
            (212_400.0, "1/s", "212.4 k/s"),
            (0.0, "B/s", "0 B/s"),
            (-0.000_01, "widget", "-0.00001000 widget"),
            (1e300, "1", "1.000e300"),
            (1e300, "B/s", "1.000e288 TB/s"),
            (f64::NAN, "s", "- s"),
        ];
        for (value, unit, text) in cases {
            assert_eq!(quantity(value, unit).replace(NBSP, " "), text);
        }
    }

    #[test]
    fn values_that_stand_together_share_unit_and_decimals() {
        let scale = Scale::of("B/s", [85_480_000.0, 450_000.0]);
        assert_eq!([85_480_000.0, 450_000.0, -1.0].map(|v| scale.number(v)), ["85.48", "0.45", "0.00"]);
        assert_eq!(scale.unit(), "MB/s");
    }

    #[test]
    fn ticks_have_no_needless_decimals() {
        let texts = |unit, ticks: &[f64]| ticks.iter().map(|t| Scale::of_ticks(unit, ticks).number(*t)).collect::<Vec<_>>();
        assert_eq!(texts("B/s", &[80e6, 85e6, 90e6]), ["80", "85", "90"]);
        assert_eq!(texts("s", &[0.1, 0.15, 0.2]), ["100", "150", "200"]);
        assert_eq!(texts("1", &[0.0, 0.5, 1.0]), ["0.0", "0.5", "1.0"]);
        assert_eq!(texts("1", &[100_000.0, 100_000.5]), ["100000.0", "100000.5"]);
    }

    #[test]
    fn changes_show_their_sign_and_no_negative_zero() {
        let cases = [(47.93, "+47.9"), (-7.4, "-7.4"), (-0.04, "0.0"), (0.0, "0.0"), (152.4, "+152"), (2e9, "+2.0e9"), (99.97, "+100")];
        for (pct, text) in cases {
            assert_eq!(signed(pct), text);
        }
        assert_eq!([5.0, 2.5, 0.8].map(percent), ["5\u{a0}%", "2.5\u{a0}%", "0.8\u{a0}%"]);
    }

    #[test]
    fn p_values_are_short_and_never_zero() {
        let cases = [(0.028_571, "0.0286"), (3.9e-6, "3.9e-6"), (0.61, "0.610"), (1.0, "1"), (0.0, "< 1e-300"), (0.05, "0.0500")];
        for (p, text) in cases {
            assert_eq!(p_value(p), text);
        }
    }

    #[test]
    fn disks_have_the_size_on_the_box() {
        assert_eq!([512, 1 << 30, 72_000_000_000, 0].map(bytes), ["512\u{a0}B", "1.07\u{a0}GB", "72.0\u{a0}GB", "0\u{a0}B"]);
        assert_eq!(memory(8 << 30), "8.0\u{a0}GiB");
    }
}
