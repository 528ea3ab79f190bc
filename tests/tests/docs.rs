//! The documentation is checked like code: links lead somewhere, paths and make targets exist, and the lists of keys, built-in tasks,
//! fields and variables are those of the program. What this file cannot check is checked by people.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use blklab_coordinator::library;
use blklab_model::experiment;
use blklab_model::workload::{self, command::BUILTINS};
use blklab_wire::people::NamedText;

/// Longer than this nobody reads it to the end.
const MAX_ARCHITECTURE_LINES: usize = 300;

/// A Markdown file of the repository.
struct Page {
    /// Absolute.
    path: PathBuf,
    /// From the root, for messages.
    name: String,
    text: String,
}

/// A line of prose, or of a code block.
struct Line<'a> {
    number: usize,
    text: &'a str,
    is_code: bool,
}

#[test]
fn links_lead_somewhere() {
    let mut broken = Vec::new();
    for page in pages() {
        for line in page.prose() {
            for target in links(&without_code(line.text)) {
                if let Err(why) = follow(&page, &target) {
                    broken.push(format!("{}:{}: {target}: {why}", page.name, line.number));
                }
            }
        }
    }
    assert!(broken.is_empty(), "broken links:\n{}", broken.join("\n"));
}

#[test]
fn paths_in_backticks_exist() {
    let mut missing = Vec::new();
    for page in pages() {
        for line in page.prose() {
            for span in code_spans(line.text).into_iter().filter(|span| looks_like_a_path(span)) {
                if !exists_for(&page, span.trim_end_matches('/')) {
                    missing.push(format!("{}:{}: `{span}`", page.name, line.number));
                }
            }
        }
    }
    assert!(missing.is_empty(), "paths that do not exist:\n{}", missing.join("\n"));
}

#[test]
fn make_targets_exist() {
    let makefile = read(&root().join("Makefile"));
    let targets: BTreeSet<&str> = makefile.lines().filter_map(|line| line.split_once(':')).map(|(target, _)| target).collect();
    let mut unknown = Vec::new();
    for page in pages() {
        for line in page.lines() {
            let pieces = if line.is_code { vec![line.text] } else { code_spans(line.text) };
            for target in pieces.into_iter().filter_map(make_target).filter(|target| !targets.contains(target)) {
                unknown.push(format!("{}:{}: make {target}", page.name, line.number));
            }
        }
    }
    assert!(unknown.is_empty(), "targets that the Makefile does not have:\n{}", unknown.join("\n"));
}

#[test]
fn every_key_of_an_experiment_file_is_described() {
    let key = |text: &str| experiment::file::parse("e.toml", text).expect_err("an unknown key").help;
    let head = "name = \"a\"\ntitle = \"a\"\nrounds = 5\n";
    let helps = [key("nonesuch = 1"), key(&format!("{head}[matrix]\nnonesuch = 1"))];
    assert_described("docs/experiment-files.md", helps.iter().flat_map(|help| words_in_backticks(help)));
}

#[test]
fn every_key_of_a_workload_file_is_described() {
    let key = |text: &str| workload::file::parse("w.toml", text).expect_err("an unknown key").help;
    let tables = ["", "[needs]\n", "[parameters]\na = { nonesuch = 1 }\n", "[[task]]\n", "[[metric]]\n"];
    let helps = tables.map(|table| key(&format!("{table}nonesuch = 1")));
    assert_described("docs/workload-files.md", helps.iter().flat_map(|help| words_in_backticks(help)));
}

#[test]
fn every_shipped_workload_is_in_the_list() {
    let workloads = library::workloads(&[]).expect("good files");
    assert_described("docs/workloads.md", workloads.keys().map(ToString::to_string));
}

#[test]
fn every_built_in_task_is_described() {
    let words = BUILTINS.iter().flat_map(|(name, arguments)| std::iter::once(*name).chain(arguments.iter().copied()));
    assert_described("docs/workload-files.md", words.map(|word| word.trim_end_matches('?').to_owned()));
}

#[test]
fn every_field_of_a_parser_is_described() {
    for parser in ["dd", "fio", "builtin", "fs-mark", "dbench", "postmark", "bonnie", "hdparm", "pgbench", "iozone"] {
        let text = blklab_model::testing::workload_file("w").replace("parser = \"dd\"", &format!("parser = \"{parser}\""));
        let text = text.replace("bytes_per_second", "nonesuch");
        let error = library::workloads(&[NamedText { name: "w.toml".into(), text }]).expect_err("an unknown field");
        let (_, fields) = error.help.split_once("there are: ").expect("a list of fields");
        // fio has each of its fields once more for each of its jobs.
        let fields = fields.split(", ").filter(|field| !field.starts_with("job."));
        assert_described("docs/workload-files.md", fields.map(str::to_owned));
    }
}

#[test]
fn every_variable_is_described_and_every_described_one_exists() {
    let mut sources = Vec::new();
    for folder in ["crates", "coordinator/src", "agent/src", "tests", "xtask/src"] {
        walk(&root().join(folder), "rs", &mut sources);
    }
    let here = Path::new(file!()).file_name().expect("this file has a name");
    let sources = sources.iter().filter(|path| path.file_name() != Some(here));
    let used: BTreeSet<String> = sources.flat_map(|path| variables(&read(path))).collect();
    let described: BTreeSet<String> = pages().iter().flat_map(|page| variables(&page.text)).collect();
    assert_eq!(used, described, "left: variables of the sources; right: those of the documentation");
}

#[test]
fn the_architecture_stays_short() {
    let lines = read(&root().join("ARCHITECTURE.md")).lines().count();
    assert!(lines <= MAX_ARCHITECTURE_LINES, "ARCHITECTURE.md has {lines} lines, more than {MAX_ARCHITECTURE_LINES}");
}

fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().expect("the package lies in the repository").to_owned()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn pages() -> Vec<Page> {
    let mut paths = Vec::new();
    walk(&root(), "md", &mut paths);
    assert!(paths.len() > 10, "the documentation is not where this test looks");
    let page = |path: PathBuf| {
        let name = path.strip_prefix(root()).expect("below the root").display().to_string();
        Page { text: read(&path), path, name }
    };
    paths.into_iter().map(page).collect()
}

/// Files with an extension below a folder, sorted; hidden folders and what cargo builds are left out.
fn walk(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("a readable folder").path()).collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_dir() && !name.starts_with('.') && name != "target" {
            walk(&path, extension, found);
        } else if path.is_file() && path.extension().is_some_and(|found| found == extension) {
            found.push(path);
        }
    }
}

impl Page {
    fn lines(&self) -> Vec<Line<'_>> {
        let mut is_code = false;
        let mut lines = Vec::new();
        for (number, text) in (1..).zip(self.text.lines()) {
            let is_fence = text.trim_start().starts_with("```");
            is_code ^= is_fence;
            if !is_fence {
                lines.push(Line { number, text, is_code });
            }
        }
        assert!(!is_code, "{}: a code block has no end", self.name);
        lines
    }

    fn prose(&self) -> impl Iterator<Item = Line<'_>> {
        self.lines().into_iter().filter(|line| !line.is_code)
    }
}

/// What stands between single backticks.
fn code_spans(line: &str) -> Vec<&str> {
    line.split('`').skip(1).step_by(2).collect()
}

fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect()
}

/// The targets of `[text](target)` and `![text](target)`.
fn links(line: &str) -> Vec<String> {
    let targets = line.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    targets.map(|(target, _)| target.to_owned()).collect()
}

fn follow(page: &Page, target: &str) -> Result<(), String> {
    if target.starts_with("https://") || target.starts_with("http://") {
        return Ok(());
    }
    let (file, heading) = target.split_once('#').map_or((target, None), |(file, heading)| (file, Some(heading)));
    let path = if file.is_empty() { page.path.clone() } else { page.path.with_file_name(file) };
    if !path.exists() {
        return Err("there is no such file".to_owned());
    }
    match heading {
        Some(heading) if !anchors(&read(&path)).contains(heading) => Err("there is no such heading".to_owned()),
        Some(_) | None => Ok(()),
    }
}

/// Anchors of headings as forges make them: lower case, spaces to hyphens, punctuation dropped.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    let kept = |c: char| c.is_alphanumeric() || c == ' ' || c == '-' || c == '_';
    headings.map(|heading| heading.to_lowercase().chars().filter(|c| kept(*c)).collect::<String>().replace(' ', "-")).collect()
}

/// Begins with a folder of the repository and holds nothing that stands for something else (`NAME`, `*`, `{id}`).
fn looks_like_a_path(span: &str) -> bool {
    let Some((first, rest)) = span.split_once('/') else { return false };
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "/-_.+".contains(c);
    !first.is_empty() && root().join(first).is_dir() && rest.chars().all(plain)
}

/// From the root, or from a folder that holds the page.
fn exists_for(page: &Page, path: &str) -> bool {
    page.path.ancestors().skip(1).take_while(|folder| folder.starts_with(root())).any(|folder| folder.join(path).exists())
}

/// `test` of `make test ARGS=--strict`.
/// With an option it is somebody else's Makefile (`make -C FOLDER`).
fn make_target(code: &str) -> Option<&str> {
    let words = code.trim_start().trim_start_matches("$ ").trim_start_matches("sudo ");
    words.strip_prefix("make ")?.split_whitespace().next().filter(|word| !word.starts_with('-'))
}

fn words_in_backticks(help: &str) -> Vec<String> {
    let words = code_spans(help);
    assert!(words.len() > 1, "no list of keys: {help}");
    words.into_iter().map(str::to_owned).collect()
}

fn assert_described(page: &str, words: impl Iterator<Item = String>) {
    let text = read(&root().join(page));
    let missing: BTreeSet<String> = words.filter(|word| !text.contains(&format!("`{word}`"))).collect();
    assert!(missing.is_empty(), "{page} says nothing of {missing:?}");
}

/// `BLKLAB_DATA` and its like.
fn variables(text: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_ascii_uppercase() || c == '_';
    let names = text.split("BLKLAB_").skip(1).map(|rest| rest.chars().take_while(|c| is_part(*c)).collect::<String>());
    names.filter(|name| !name.is_empty()).map(|name| format!("BLKLAB_{name}")).collect()
}
