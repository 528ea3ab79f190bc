//! From the log of a build to its first errors. Owns the shapes of gcc, clang, GNU ld, modpost, objtool, Kconfig and GNU make; knows
//! nothing of who wrote the patch, and runs nothing.

use super::failure::CompileError;
use super::tools;

/// Errors kept; the first ones cause the others.
const KEPT: usize = 5;

/// Lines of source and marks kept below an error.
const EXCERPT_LINES: usize = 6;

/// A longer line is cut: a macro can make one of many kilobytes.
const LINE_CHARS: usize = 300;

/// Header files whose absence is the builder's fault, and what has them on Debian.
const HEADERS: [(&str, &str); 6] = [
    ("dwarf.h", "libdw-dev"),
    ("elfutils/libdw.h", "libdw-dev"),
    ("gelf.h", "libelf-dev"),
    ("libelf.h", "libelf-dev"),
    ("ncurses.h", "libncurses-dev"),
    ("openssl/", "libssl-dev"),
];

/// The first errors of a log, and how many more there are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Errors {
    /// In the order of the log.
    pub first: Vec<CompileError>,
    /// Beyond those.
    pub more: usize,
}

/// Reads the errors out of a log. `root` is the folder of the tree; compilers that were given absolute paths print them.
pub fn errors(log: &str, root: &str) -> Errors {
    let mut found: Vec<(Kind, CompileError)> = Vec::new();
    let mut lines = log.lines().peekable();
    let mut object = None;
    while let Some(line) = lines.next() {
        if let Some(named) = object_of(line) {
            object = Some(named);
            continue;
        }
        let Some((kind, mut error)) = error(line, root) else { continue };
        error.file = error.file.map(|file| source_of(object, &file).unwrap_or(file));
        if kind == Kind::Compiler {
            let mut excerpt = Vec::new();
            while let Some(below) = lines.next_if(|below| is_excerpt(below)) {
                if excerpt.len() < EXCERPT_LINES {
                    excerpt.push(clip(below.trim_end()));
                }
            }
            error.excerpt = excerpt.join("\n");
        }
        if !found.iter().any(|(_, known)| *known == error) {
            found.push((kind, error));
        }
    }
    // make only repeats that something failed; its own words count when nobody else said anything.
    let has_cause = found.iter().any(|(kind, _)| *kind != Kind::Make);
    let mut first: Vec<CompileError> =
        found.into_iter().filter(|(kind, _)| !has_cause || *kind != Kind::Make).map(|(_, error)| error).collect();
    let more = first.len().saturating_sub(KEPT);
    first.truncate(KEPT);
    Errors { first, more }
}

/// Is it the builder that fails, and not the tree? Gives the reason with its remedy, completing "failed to".
pub fn infrastructure(log: &str) -> Option<String> {
    // Source that the compiler quotes may say anything.
    log.lines().filter(|line| !is_excerpt(line)).find_map(|line| {
        if line.contains("No space left on device") {
            return Some("write: the disk is full; free some space in the cache folder or give another one".to_owned());
        }
        if is_out_of_memory(line) {
            return Some(format!("compile: memory ran out ({}); give the builder more memory, or fewer processors", clip(line.trim())));
        }
        if let Some((header, package)) = missing_header(line) {
            return Some(format!("compile a tool of the build: {header} is missing; install the Debian package {package}"));
        }
        missing_program(line).map(|program| format!("run `{program}`: it is not installed{}", tools::package_hint(program)))
    })
}

/// `gcc: fatal error: Killed signal terminated program cc1`, `cc1: out of memory allocating 65536 bytes after a total of ...`,
/// `virtual memory exhausted: Cannot allocate memory`.
fn is_out_of_memory(line: &str) -> bool {
    line.contains("fatal error: Killed signal terminated program")
        || line.contains(": out of memory allocating ")
        || line.starts_with("virtual memory exhausted")
}

/// Of a program that the build makes for itself; a header that the kernel's own sources miss is their fault.
fn missing_header(line: &str) -> Option<(&str, &'static str)> {
    let (place, rest) = line.split_once(": fatal error: ")?;
    let header = rest.strip_suffix(": No such file or directory")?;
    let is_tool = ["scripts/", "tools/", "certs/"].iter().any(|folder| place.starts_with(folder) || place.contains(&format!("/{folder}")));
    let (_, package) = HEADERS.iter().find(|(name, _)| is_tool && header.starts_with(name))?;
    Some((header, package))
}

/// `/bin/sh: 1: bc: not found` (dash), `/bin/sh: line 1: bc: command not found` (bash), `make: flex: No such file or directory`.
fn missing_program(line: &str) -> Option<&str> {
    let is_plain = |word: &&str| !word.is_empty() && !word.contains([' ', '/']);
    if let Some(rest) = line.strip_prefix("/bin/sh: ") {
        let words = rest.strip_suffix(": not found").or(rest.strip_suffix(": command not found"))?;
        return words.rsplit(": ").next().filter(is_plain);
    }
    let (speaker, rest) = line.split_once(": ")?;
    let is_make = speaker == "make" || speaker.strip_prefix("make[").is_some_and(|level| level.ends_with(']'));
    rest.strip_suffix(": No such file or directory").filter(|_| is_make).filter(is_plain)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Compiler,
    Other,
    Make,
}

fn error(line: &str, root: &str) -> Option<(Kind, CompileError)> {
    let plain = |message: &str| CompileError { file: None, line: None, message: clip(message), excerpt: String::new() };
    for mark in [": fatal error: ", ": error: "] {
        if let Some((place, message)) = line.split_once(mark) {
            let (file, number) = place_of(place, root);
            return Some((Kind::Compiler, CompileError { file, line: number, message: clip(message), excerpt: String::new() }));
        }
    }
    if let Some((before, message)) = line.split_once(": undefined reference to ") {
        let (file, number) = place_of(linker_place(before), root);
        let message = clip(&format!("undefined reference to {message}"));
        return Some((Kind::Other, CompileError { file, line: number, message, excerpt: String::new() }));
    }
    if line.contains(": multiple definition of ") || line.starts_with("ERROR: modpost: ") || line.starts_with("ERROR: Kernel configuration")
    {
        return Some((Kind::Other, plain(line.trim_start_matches("ERROR: "))));
    }
    if let Some((file, number, message)) = kconfig_error(line) {
        return Some((Kind::Other, CompileError { file: Some(file), line: Some(number), message, excerpt: String::new() }));
    }
    let (speaker, words) = line.split_once(": *** ").filter(|(_, words)| !words.starts_with("Waiting for unfinished jobs"))?;
    let is_make = speaker == "make" || speaker.starts_with("make[");
    is_make.then(|| (Kind::Make, plain(words.trim())))
}

/// `fs/Kconfig:12: syntax error`, `block/Kconfig:3: unknown statement "confg"` and their like.
fn kconfig_error(line: &str) -> Option<(String, u32, String)> {
    let (file, rest) = line.split_once(':')?;
    let (number, message) = rest.split_once(':')?;
    let name = file.rsplit('/').next().unwrap_or(file);
    let words = message.trim();
    // Warnings have the same shape and are not fatal.
    let is_fatal = name.starts_with("Kconfig") && !words.starts_with("warning");
    Some((file.to_owned(), number.parse().ok().filter(|_| is_fatal)?, clip(words)))
}

/// `ld: fs/ext4/super.o: in function ...` stands before the errors of that object.
fn object_of(line: &str) -> Option<&str> {
    let (before, _) = line.split_once(": in function `")?;
    before.rsplit(": ").next()
}

/// The linker knows a source by its last name only, and the object by its path.
fn source_of(object: Option<&str>, file: &str) -> Option<String> {
    let stem = object?.strip_suffix(".o")?;
    let (name, end) = file.rsplit_once('.')?;
    (!file.contains('/') && stem.rsplit('/').next() == Some(name)).then(|| format!("{stem}.{end}"))
}

/// Of `ld: fs/x.o: in function ...` or `fs/x.c:12`, what names the place.
fn linker_place(before: &str) -> &str {
    let words = before.rsplit(": ").find(|word| word.contains('.')).unwrap_or(before);
    words.split(":(").next().unwrap_or(words)
}

/// `fs/ext4/super.c:1805:9` with or without column, or a name alone.
fn place_of(place: &str, root: &str) -> (Option<String>, Option<u32>) {
    let mut parts = place.trim().split(':');
    let file = parts.next().unwrap_or_default();
    let line = parts.next().and_then(|number| number.parse().ok());
    let below = match file.strip_prefix(root) {
        Some(below) => below.trim_start_matches('/'),
        // Objects are made in a folder beside the tree; ccache has its path from there.
        None => {
            let name = root.rsplit('/').next().unwrap_or_default();
            file.strip_prefix("../").and_then(|file| file.strip_prefix(name)?.strip_prefix('/')).unwrap_or(file)
        }
    };
    ((!below.is_empty()).then(|| below.to_owned()), line)
}

/// ` 1805 |     code`, `      |     ^~~~`, and where a macro was used that holds the error.
fn is_excerpt(line: &str) -> bool {
    line.contains(": note: ")
        || line.split_once('|').is_some_and(|(number, _)| !number.is_empty() && number.chars().all(|c| c.is_ascii_digit() || c == ' '))
}

fn clip(line: &str) -> String {
    match line.char_indices().nth(LINE_CHARS) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = "/cache/source";

    fn shown(log: &str) -> String {
        let Errors { first, more } = errors(log, ROOT);
        let mut lines: Vec<String> = first.iter().map(ToString::to_string).collect();
        if more > 0 {
            lines.push(format!("and {more} more"));
        }
        lines.join("\n")
    }

    /// Linux 6.1.192 with faults built in; gcc 12.2 through ccache, binutils 2.40, make 4.3.
    #[test]
    fn real_logs_are_read() {
        let logs = [
            include_str!("fixtures/compile.log"),
            include_str!("fixtures/link.log"),
            include_str!("fixtures/modpost.log"),
            include_str!("fixtures/kconfig.log"),
        ];
        assert!(logs.iter().all(|log| infrastructure(log).is_none()));
        insta::assert_snapshot!(logs.map(shown).join("\n\n"));
    }

    #[test]
    fn errors_of_the_compiler_come_with_their_source() {
        let log = "\
  CC      fs/ext4/super.o
../source/fs/ext4/super.c: In function 'f':
../source/fs/ext4/super.c:6:10: error: 'struct s' has no member named 'b'
    6 |         p->b = IOPRIO(3);
      |          ^~
../source/fs/ext4/super.c:1:26: error: 'undefined_thing' undeclared (first use in this function)
    1 | #define IOPRIO(x) ((x) + undefined_thing)
      |                          ^~~~~~~~~~~~~~~
../source/fs/ext4/super.c:6:16: note: in expansion of macro 'IOPRIO'
    6 |         p->b = IOPRIO(3);
      |                ^~~~~~
../source/fs/ext4/super.c:5:13: warning: unused variable 'unused' [-Wunused-variable]
    5 |         int unused;
      |             ^~~~~~
/cache/source/include/linux/fs.h:7: error: unterminated #ifdef
fs/a.c:1:10: fatal error: nonesuch.h: No such file or directory
    1 | #include <nonesuch.h>
      |          ^~~~~~~~~~~~
compilation terminated.
";
        insta::assert_snapshot!(shown(log));
    }

    #[test]
    fn the_linker_names_what_is_missing_once() {
        let log = "\
ld: vmlinux.o: in function `start':
super.c:(.text+0x5): undefined reference to `elevator'
super.c:(.text+0x9): undefined reference to `elevator'
ld: fs/ext4/super.o: in function `start':
/cache/source/fs/ext4/super.c:2: undefined reference to `journal'
super.c:(.text+0x9): undefined reference to `elevator'
ld: d.o: in function `_start':
d.c:(.text+0x0): multiple definition of `_start'; c.o:c.c:(.text+0x0): first defined here
make[1]: *** [scripts/Makefile.vmlinux:34: vmlinux] Error 1
";
        insta::assert_snapshot!(shown(log), @r"
        super.c: undefined reference to `elevator'
        fs/ext4/super.c:2: undefined reference to `journal'
        fs/ext4/super.c: undefined reference to `elevator'
        d.c:(.text+0x0): multiple definition of `_start'; c.o:c.c:(.text+0x0): first defined here
        ");
    }

    #[test]
    fn words_of_make_count_when_nobody_else_said_anything() {
        let make = "make[1]: *** No rule to make target 'none_defconfig'.  Stop.\nmake: *** [Makefile:242: __sub-make] Error 2\n";
        assert_eq!(shown(make), "No rule to make target 'none_defconfig'.  Stop.\n[Makefile:242: __sub-make] Error 2");
        assert_eq!(shown("fs/Kconfig:3:warning: multi-line strings not supported\n  CC      init/main.o\n"), "");
    }

    #[test]
    fn only_the_first_errors_are_kept() {
        let log: String = (0..20).map(|n| format!("fs/a.c:{n}:1: error: wrong\n")).collect();
        let found = errors(&log, ROOT);
        assert_eq!((found.first.len(), found.more), (KEPT, 20 - KEPT));
        let long = format!("fs/a.c:1:1: error: {}\n", "x".repeat(10_000));
        assert!(errors(&long, ROOT).first[0].message.len() < 2 * LINE_CHARS);
    }

    #[test]
    fn what_the_builder_lacks_is_no_fault_of_the_tree() {
        let cases = [
            ("/bin/sh: 1: bc: not found", "run `bc`: it is not installed; install the Debian package bc"),
            ("/bin/sh: line 1: pahole: command not found", "run `pahole`: it is not installed; install the Debian package pahole"),
            ("make[2]: flex: No such file or directory", "run `flex`: it is not installed; install the Debian package flex"),
            (
                "/cache/source/tools/objtool/include/objtool/elf.h:10:10: fatal error: gelf.h: No such file or directory",
                "compile a tool of the build: gelf.h is missing; install the Debian package libelf-dev",
            ),
            (
                "../source/scripts/sign-file.c:25:10: fatal error: openssl/opensslv.h: No such file or directory",
                "compile a tool of the build: openssl/opensslv.h is missing; install the Debian package libssl-dev",
            ),
            (
                "fs/x.o: final close failed: No space left on device",
                "write: the disk is full; free some space in the cache folder or give another one",
            ),
            (
                "gcc: fatal error: Killed signal terminated program cc1",
                "compile: memory ran out (gcc: fatal error: Killed signal terminated program cc1); give the builder more memory, or fewer processors",
            ),
        ];
        for (line, message) in cases {
            assert_eq!(infrastructure(&format!("  CC      init/main.o\n{line}\n")).as_deref(), Some(message));
        }
        let tree = [
            "fs/ext4/super.c:3:10: fatal error: dwarf.h: No such file or directory",
            "   12 |  pr_err(\"No space left on device\");",
            "fs/a.c:1:1: error: 'x' undeclared",
            "/bin/sh: 1: cannot open include/generated/x: No such file",
        ];
        for line in tree {
            assert_eq!(infrastructure(line), None, "{line}");
        }
    }
}
