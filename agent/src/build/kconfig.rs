//! Why a symbol has another value than a fragment asks for, as far as the Kconfig files of the tree tell at once. It reads the language
//! (kernel document kbuild/kconfig-language.rst) as far as `config`, `depends on`, `select`, `if` and `menu` go, in each file by itself;
//! a condition around a `source` line in another file is not seen.

use std::collections::{BTreeMap, BTreeSet};

use super::config::Config;
use super::failure::LostSymbol;

/// Conditions of a symbol that a hint shows.
const SHOWN: usize = 4;

/// Fills in hints. `files` are all Kconfig files of the tree.
pub fn explain<'a>(lost: &mut [LostSymbol], files: impl IntoIterator<Item = &'a str>, config: &Config) {
    let asked: BTreeSet<&str> = lost.iter().map(|symbol| bare(&symbol.symbol)).collect();
    let mut known: BTreeMap<String, Facts> = asked.into_iter().map(|name| (name.to_owned(), Facts::default())).collect();
    for file in files {
        Reader::default().read(file, &mut known);
    }
    for symbol in lost {
        symbol.hint = known.get(bare(&symbol.symbol)).map(|facts| facts.hint(symbol, config));
    }
}

/// What the files say of one symbol.
#[derive(Debug, Default)]
struct Facts {
    is_defined: bool,
    /// `bool`, `tristate`...
    kind: Option<String>,
    /// What it is asked for; a symbol without a prompt cannot be set.
    has_prompt: bool,
    depends: Vec<String>,
    selected_by: Vec<String>,
}

impl Facts {
    fn hint(&self, symbol: &LostSymbol, config: &Config) -> String {
        if !self.is_defined {
            return "this tree has no such symbol".to_owned();
        }
        let selectors: Vec<&str> = self.selected_by.iter().map(String::as_str).filter(|name| is_set(config, name)).collect();
        if symbol.wanted == "n" {
            return match selectors.as_slice() {
                [] => "no symbol that is on selects it: a default without a prompt, or a choice that it won".to_owned(),
                some => format!("selected by {}", first(some)),
            };
        }
        if symbol.wanted == "m" && self.kind.as_deref() == Some("bool") {
            return "it can only be built in, not be a module: ask for y".to_owned();
        }
        // What a module needs may be a module; what is built in needs everything built in.
        let least = if symbol.wanted == "y" && symbol.got == "m" { Level::BuiltIn } else { Level::Module };
        let unmet: Vec<String> = self.depends.iter().filter_map(|condition| unmet(condition, config, least)).collect();
        if !unmet.is_empty() {
            return format!("depends on {}", first(&unmet));
        }
        if !self.has_prompt {
            return "it has no prompt: only other symbols select it or set it by default".to_owned();
        }
        "its dependencies look fulfilled: a choice that another symbol won, a range, or a condition around its file".to_owned()
    }
}

/// How much a dependency must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Module,
    BuiltIn,
}

/// A condition with what stands against it; none when every symbol in it that is to be on is on.
fn unmet(condition: &str, config: &Config, least: Level) -> Option<String> {
    let mut off = Vec::new();
    for word in words(condition) {
        let (is_negated, name) = match word.strip_prefix('!') {
            Some(name) => (true, name),
            None => (false, word),
        };
        let is_symbol = name.starts_with(|c: char| c.is_ascii_uppercase());
        let symbol = format!("CONFIG_{name}");
        let is_enough = is_set(config, name) && (is_negated || least == Level::Module || config.value(&symbol) != "m");
        if is_symbol && is_enough == is_negated {
            off.push(format!("{name} is {}", config.value(&symbol)));
        }
    }
    // Comparisons (`A = B`) are shown and not judged.
    let is_met = if condition.contains("||") { off.len() < words(condition).count() } else { off.is_empty() };
    (!is_met).then(|| format!("{condition} ({})", off.join(", ")))
}

/// The symbols of an expression, `!` kept.
fn words(expression: &str) -> impl Iterator<Item = &str> {
    expression.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '!')).filter(|word| !word.trim_matches('!').is_empty())
}

fn is_set(config: &Config, name: &str) -> bool {
    config.value(&format!("CONFIG_{name}")) != "n"
}

fn bare(symbol: &str) -> &str {
    symbol.strip_prefix("CONFIG_").unwrap_or(symbol)
}

fn first<T: AsRef<str>>(items: &[T]) -> String {
    let shown: Vec<&str> = items.iter().take(SHOWN).map(AsRef::as_ref).collect();
    shown.join("; ")
}

/// Reads one file.
#[derive(Debug, Default)]
struct Reader {
    /// Conditions of the `if` and `menu` blocks around the line.
    around: Vec<Vec<String>>,
    /// The entry that the line belongs to.
    entry: Entry,
}

#[derive(Debug, Default)]
enum Entry {
    #[default]
    None,
    Symbol(String),
    Menu,
}

impl Reader {
    fn read(mut self, text: &str, known: &mut BTreeMap<String, Facts>) {
        // A long condition goes on in the next line after a backslash.
        let text = text.replace("\\\n", " ");
        let mut help_indent = None;
        for line in text.lines() {
            let indent = line.len() - line.trim_start().len();
            let words = line.trim();
            if words.is_empty() || words.starts_with('#') {
                continue;
            }
            // A help text ends with the first line that is indented less.
            match help_indent {
                Some(None) => {
                    help_indent = Some(Some(indent));
                    if indent > 0 {
                        continue;
                    }
                    help_indent = None;
                }
                Some(Some(least)) if indent >= least => continue,
                Some(Some(_)) | None => help_indent = None,
            }
            if matches!(words, "help" | "---help---") {
                help_indent = Some(None);
            } else {
                self.line(words, known);
            }
        }
    }

    fn line(&mut self, line: &str, known: &mut BTreeMap<String, Facts>) {
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        match word {
            "config" | "menuconfig" => {
                self.entry = Entry::Symbol(rest.to_owned());
                if let Some(facts) = known.get_mut(rest) {
                    facts.is_defined = true;
                    facts.depends.extend(self.around.iter().flatten().cloned());
                }
            }
            "if" => self.open(vec![rest.to_owned()], Entry::None),
            "menu" => self.open(Vec::new(), Entry::Menu),
            "choice" => self.open(Vec::new(), Entry::Menu),
            "endif" | "endmenu" | "endchoice" => {
                self.around.pop();
                self.entry = Entry::None;
            }
            "comment" | "source" => self.entry = Entry::None,
            "depends" => self.depends(rest.strip_prefix("on").unwrap_or(rest).trim(), known),
            "select" => self.select(rest, known),
            "bool" | "tristate" | "string" | "int" | "hex" | "prompt" => {
                if let Some(facts) = self.facts(known) {
                    facts.has_prompt |= rest.starts_with(['"', '\'']);
                    if word != "prompt" {
                        facts.kind = Some(word.to_owned());
                    }
                }
            }
            _ => {}
        }
    }

    fn open(&mut self, conditions: Vec<String>, entry: Entry) {
        self.around.push(conditions);
        self.entry = entry;
    }

    fn depends(&mut self, condition: &str, known: &mut BTreeMap<String, Facts>) {
        match &self.entry {
            Entry::Symbol(_) => {
                if let Some(facts) = self.facts(known) {
                    facts.depends.push(condition.to_owned());
                }
            }
            Entry::Menu => self.around.last_mut().expect("a menu is open").push(condition.to_owned()),
            Entry::None => {}
        }
    }

    fn select(&self, target: &str, known: &mut BTreeMap<String, Facts>) {
        let target = target.split_whitespace().next().unwrap_or_default();
        if let (Entry::Symbol(name), Some(facts)) = (&self.entry, known.get_mut(target)) {
            facts.selected_by.push(name.clone());
        }
    }

    fn facts<'a>(&self, known: &'a mut BTreeMap<String, Facts>) -> Option<&'a mut Facts> {
        match &self.entry {
            Entry::Symbol(name) => known.get_mut(name),
            Entry::Menu | Entry::None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::{lost, wishes};
    use super::super::spec::NamedText;
    use super::*;

    /// In the manner of drivers/nvme/host/Kconfig, drivers/acpi/Kconfig and arch/x86/Kconfig.
    const KCONFIG: &str = r#"
menuconfig MD
	bool "Multiple devices"
	depends on BLOCK

if MD

config BLK_DEV_DM
	tristate "Device mapper support"
	depends on DAX || \
		DAX=n
	select THERMAL
	help
	  A help text that says:

	  config NOT_A_SYMBOL
	  depends on NOTHING

endif

config THERMAL
	bool "Thermal drivers"

config HIDDEN
	bool

menu "Sound"
	depends on SOUND && !UML

config SND
	tristate "Sound"

endmenu

config FREE
	bool "Free"

choice
	prompt "Compression"

config KERNEL_XZ
	bool "xz"
	depends on HAVE_KERNEL_XZ

endchoice
"#;

    fn hints(fragment: &str, config: &str) -> String {
        let config = Config::read(config);
        let wishes = wishes(&[NamedText { name: "f".into(), text: fragment.into() }]).unwrap();
        let mut lost = lost(&wishes, &config);
        explain(&mut lost, [KCONFIG], &config);
        lost.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_lost_symbol_comes_with_its_reason() {
        let wanted = "CONFIG_BLK_DEV_DM=y\n# CONFIG_THERMAL is not set\nCONFIG_HIDDEN=y\nCONFIG_SND=m\nCONFIG_FREE=y\nCONFIG_NONESUCH=y\n\
                      CONFIG_KERNEL_XZ=y\nCONFIG_NOT_A_SYMBOL=y\n";
        let module = hints("CONFIG_SND=y\nCONFIG_FREE=m\n", "CONFIG_SOUND=m\nCONFIG_SND=m\n");
        insta::assert_snapshot!(module, @r"
        f:1: CONFIG_SND=y became m: depends on SOUND && !UML (SOUND is m)
        f:2: CONFIG_FREE=m became n: it can only be built in, not be a module: ask for y
        ");
        insta::assert_snapshot!(hints(wanted, "CONFIG_THERMAL=y\nCONFIG_BLOCK=y\n"), @r"
        f:1: CONFIG_BLK_DEV_DM=y became n: depends on MD (MD is n)
        f:2: CONFIG_THERMAL=n became y: no symbol that is on selects it: a default without a prompt, or a choice that it won
        f:3: CONFIG_HIDDEN=y became n: it has no prompt: only other symbols select it or set it by default
        f:4: CONFIG_SND=m became n: depends on SOUND && !UML (SOUND is n)
        f:5: CONFIG_FREE=y became n: its dependencies look fulfilled: a choice that another symbol won, a range, or a condition around its file
        f:6: CONFIG_NONESUCH=y became n: this tree has no such symbol
        f:7: CONFIG_KERNEL_XZ=y became n: depends on HAVE_KERNEL_XZ (HAVE_KERNEL_XZ is n)
        f:8: CONFIG_NOT_A_SYMBOL=y became n: this tree has no such symbol
        ");
        insta::assert_snapshot!(hints("# CONFIG_THERMAL is not set\n", "CONFIG_THERMAL=y\nCONFIG_BLK_DEV_DM=y\n"), @"f:1: CONFIG_THERMAL=n became y: selected by BLK_DEV_DM");
    }
}
