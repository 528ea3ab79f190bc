//! What makes two builds the same: tree, configuration, tools, modules from outside. Not in it: names, paths, times, who asked.

use std::fmt::Write as _;
use std::io::{self, Read};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::spec::ModuleSource;

/// Raised whenever the recipe of a build changes what comes out of it.
const RECIPE: u32 = 1;

/// Hexadecimal SHA-256 over everything that a kernel's behaviour depends on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Signature(String);

impl Signature {
    /// Of a tree id, the text of the final `.config`, the versions of the tools, and modules from outside the tree.
    pub fn of(tree: &str, config: &str, toolchain: &str, modules: &[ModuleSource]) -> Self {
        let mut text = format!("blklab kernel {RECIPE}\ntree {tree}\nconfig {}\ntoolchain {toolchain}\n", digest(config.as_bytes()));
        for module in modules {
            let mut files: Vec<_> = module.files.iter().collect();
            files.sort_by(|a, b| a.name.cmp(&b.name));
            let _ = writeln!(text, "module {}", module.name);
            for file in files {
                let _ = writeln!(text, "file {} {}", file.name, digest(file.text.as_bytes()));
            }
        }
        Signature(digest(text.as_bytes()))
    }

    /// 64 hexadecimal digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Hexadecimal SHA-256.
pub fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Hexadecimal SHA-256 and length of everything that can be read.
pub fn digest_of(mut reader: impl Read) -> io::Result<(String, u64)> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 64 << 10];
    let mut length = 0;
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return Ok((hex(&hasher.finalize()), length)),
            Ok(read) => {
                hasher.update(&buffer[..read]);
                length += read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::super::fake::named;
    use super::*;

    #[test]
    fn whatever_changes_a_kernel_changes_its_signature() {
        let module =
            |files: &[(&str, &str)]| ModuleSource { name: "m".into(), files: files.iter().map(|(name, text)| named(name, text)).collect() };
        let (a, b) = (("Kbuild", "obj-m := a.o\n"), ("a.c", "int a;\n"));
        let base = Signature::of("t", "c", "gcc 12", &[module(&[a, b])]);
        assert_eq!(base.as_str().len(), 64);
        assert_eq!(base, Signature::of("t", "c", "gcc 12", &[module(&[b, a])]), "the order of files means nothing");
        let others = [
            Signature::of("u", "c", "gcc 12", &[module(&[a, b])]),
            Signature::of("t", "d", "gcc 12", &[module(&[a, b])]),
            Signature::of("t", "c", "gcc 13", &[module(&[a, b])]),
            Signature::of("t", "c", "gcc 12", &[module(&[a, ("a.c", "int b;\n")])]),
            Signature::of("t", "c", "gcc 12", &[]),
        ];
        assert!(others.iter().all(|other| *other != base));
    }

    #[test]
    fn digests_are_those_of_sha256sum() {
        assert_eq!(digest(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(digest_of(&b"abc"[..]).unwrap(), (digest(b"abc"), 3));
    }
}
