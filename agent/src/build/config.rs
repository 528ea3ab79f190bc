//! Kernel configurations as text: what fragments ask for, and whether a `.config` gives it. Knows no files and runs nothing; why a symbol
//! was lost is for [`super::kconfig`].

use std::collections::BTreeMap;

use super::failure::{ConfigFailure, Failure, LostSymbol};
use super::spec::NamedText;

/// The value of a symbol that is off or does not exist.
const OFF: &str = "n";

/// A configuration by symbol (`CONFIG_SMP`); symbols that are off are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Config(BTreeMap<String, String>);

impl Config {
    /// Reads a `.config`.
    pub fn read(text: &str) -> Self {
        let values = text.lines().filter_map(|line| match Line::read(line) {
            Some(Line::Symbol { symbol, value }) if value != OFF => Some((symbol.to_owned(), value.to_owned())),
            Some(Line::Symbol { .. } | Line::Other) | None => None,
        });
        Config(values.collect())
    }

    /// The value of a symbol as the file has it, strings with their quotes; `n` when it is off or does not exist.
    pub fn value(&self, symbol: &str) -> &str {
        self.0.get(symbol).map_or(OFF, String::as_str)
    }

    /// Is it built in?
    pub fn is_on(&self, symbol: &str) -> bool {
        self.value(symbol) == "y"
    }

    /// All symbols that are on or have a value.
    pub fn symbols(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

/// A line of a fragment that must hold in the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    symbol: String,
    value: String,
    fragment: String,
    line: usize,
}

/// What fragments ask for in the end: of a symbol that several name, the last line counts.
pub fn wishes(fragments: &[NamedText]) -> Result<Vec<Wish>, Failure> {
    let mut last = BTreeMap::new();
    for fragment in fragments {
        for (line, text) in (1..).zip(fragment.text.lines()) {
            match Line::read(text) {
                Some(Line::Symbol { symbol, value }) => {
                    let wish = Wish { symbol: symbol.to_owned(), value: value.to_owned(), fragment: fragment.name.clone(), line };
                    last.insert(symbol.to_owned(), wish);
                }
                Some(Line::Other) => {}
                None => {
                    let message = format!(
                        "`{}` is no line of a configuration; write CONFIG_NAME=VALUE, or `# CONFIG_NAME is not set` for one that is to be off",
                        text.trim()
                    );
                    return Err(Failure::DoesNotConfigure(ConfigFailure::Refused { step: format!("{}:{line}", fragment.name), message }));
                }
            }
        }
    }
    Ok(last.into_values().collect())
}

/// The wishes that a configuration does not fulfil, in the order of the fragments' lines.
pub fn lost(wishes: &[Wish], config: &Config) -> Vec<LostSymbol> {
    let mut lost: Vec<LostSymbol> = wishes
        .iter()
        .filter(|wish| config.value(&wish.symbol) != wish.value)
        .map(|wish| LostSymbol {
            symbol: wish.symbol.clone(),
            wanted: wish.value.clone(),
            got: config.value(&wish.symbol).to_owned(),
            fragment: wish.fragment.clone(),
            line: wish.line,
            hint: None,
        })
        .collect();
    lost.sort_by(|a, b| (&a.fragment, a.line).cmp(&(&b.fragment, b.line)));
    lost
}

enum Line<'a> {
    Symbol {
        symbol: &'a str,
        value: &'a str,
    },
    /// Empty, or a comment.
    Other,
}

impl<'a> Line<'a> {
    fn read(line: &'a str) -> Option<Self> {
        // White space before a symbol would hide the line from merge_config.sh.
        let line = line.trim_end();
        if let Some(comment) = line.strip_prefix('#') {
            let symbol = comment.strip_prefix(' ').and_then(|words| words.strip_suffix(" is not set")).filter(|symbol| is_symbol(symbol));
            return Some(symbol.map_or(Line::Other, |symbol| Line::Symbol { symbol, value: OFF }));
        }
        if line.is_empty() {
            return Some(Line::Other);
        }
        let (symbol, value) = line.split_once('=')?;
        (is_symbol(symbol) && is_value(value)).then_some(Line::Symbol { symbol, value })
    }
}

fn is_symbol(word: &str) -> bool {
    let name = word.strip_prefix("CONFIG_").unwrap_or_default();
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn is_value(value: &str) -> bool {
    let number = value.strip_prefix('-').unwrap_or(value);
    let digits = number.strip_prefix("0x").or(number.strip_prefix("0X")).unwrap_or(number);
    matches!(value, "y" | "m" | "n")
        || (value.len() > 1 && value.starts_with('"') && value.ends_with('"'))
        || (!digits.is_empty() && digits.chars().all(|c| c.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fragment(name: &str, text: &str) -> NamedText {
        NamedText { name: name.into(), text: text.into() }
    }

    const FINAL: &str = "#\n# Linux/x86 6.1.192 Kernel Configuration\n#\nCONFIG_SMP=y\nCONFIG_NR_CPUS=16\nCONFIG_NULL_BLK=m\n\
                         CONFIG_LOCALVERSION=\"-lab\"\nCONFIG_THERMAL=y\n# CONFIG_VT is not set\nCONFIG_PHYSICAL_START=0x1000000\n";

    #[test]
    fn what_survived_is_not_lost() {
        let text = "CONFIG_SMP=y\nCONFIG_NR_CPUS=16\nCONFIG_NULL_BLK=m\nCONFIG_LOCALVERSION=\"-lab\"\n# CONFIG_VT is not set\n\
                    # CONFIG_NONESUCH is not set\nCONFIG_DRM=n\n# a comment on CONFIG_X\n\n";
        assert_eq!(lost(&wishes(&[fragment("f", text)]).unwrap(), &Config::read(FINAL)), []);
    }

    #[test]
    fn what_was_lost_is_named_with_its_line() {
        let text = "CONFIG_NR_CPUS=64\n# CONFIG_THERMAL is not set\nCONFIG_BTRFS_FS=y\nCONFIG_NULL_BLK=y\n";
        let lost = lost(&wishes(&[fragment("f.config", text)]).unwrap(), &Config::read(FINAL));
        let lines: Vec<String> = lost.iter().map(ToString::to_string).collect();
        insta::assert_snapshot!(lines.join("\n"), @r"
        f.config:1: CONFIG_NR_CPUS=64 became 16
        f.config:2: CONFIG_THERMAL=n became y
        f.config:3: CONFIG_BTRFS_FS=y became n
        f.config:4: CONFIG_NULL_BLK=y became m
        ");
    }

    #[test]
    fn the_last_fragment_that_names_a_symbol_counts() {
        let fragments = [fragment("a", "CONFIG_NR_CPUS=64\n"), fragment("b", "CONFIG_NR_CPUS=16\n")];
        assert_eq!(lost(&wishes(&fragments).unwrap(), &Config::read(FINAL)), []);
        let turned = [fragments[1].clone(), fragments[0].clone()];
        assert_eq!(lost(&wishes(&turned).unwrap(), &Config::read(FINAL))[0].fragment, "a");
    }

    #[test]
    fn a_line_that_is_none_is_named() {
        for bad in ["SMP=y", "CONFIG_SMP", "CONFIG_SMP=yes", "CONFIG_A B=y", " CONFIG_SMP=y", "CONFIG_LOCALVERSION=-lab", "CONFIG_=y"] {
            let failure = wishes(&[fragment("f", &format!("\n{bad}\n"))]).unwrap_err();
            assert!(failure.to_string().starts_with("f:2: "), "{bad}: {failure}");
            assert_eq!(failure.class(), "does not configure");
        }
    }
}
