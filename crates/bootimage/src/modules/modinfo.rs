//! What a module says of itself: the section `.modinfo`, texts `key=value` with a zero after each (include/linux/moduleparam.h).

use super::{ModulesError, normal};
use crate::elf::Elf;

/// What is read of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct ModInfo {
    /// Names of modules that must be there before.
    pub(super) depends: Vec<String>,
    /// Names of modules or aliases that it will ask for (modprobe.d(5), `softdep`).
    pub(super) soft: Vec<String>,
    /// Release of the kernel that it was built for.
    pub(super) release: String,
}

impl ModInfo {
    /// Of an uncompressed module. `path` is for messages.
    pub(super) fn read(module: &[u8], path: &str) -> Result<Self, ModulesError> {
        let bad = |what: String| ModulesError::BadModule { path: path.to_owned(), what };
        let elf = Elf::read(module).map_err(|error| bad(error.to_string()))?;
        let section = elf.section(b".modinfo").ok_or_else(|| bad("it has no section .modinfo, so it is no module".to_owned()))?;
        let mut info = ModInfo::default();
        for text in section.split(|&byte| byte == 0) {
            let Some((key, value)) = std::str::from_utf8(text).ok().and_then(|text| text.split_once('=')) else { continue };
            match key {
                "depends" => info.depends.extend(value.split(',').filter(|name| !name.is_empty()).map(normal)),
                "softdep" => info.soft.extend(value.split_whitespace().filter(|word| !word.ends_with(':')).map(normal)),
                "vermagic" => value.split(' ').next().unwrap_or_default().clone_into(&mut info.release),
                _ => {}
            }
        }
        Ok(info)
    }
}

#[cfg(any(test, feature = "test-support"))]
pub(crate) mod testing {
    use crate::elf::testing::elf;

    /// A module of kernel `release`; `more` is further texts, each with a zero at its end.
    pub(crate) fn module_of(release: &str, depends: &str, more: &str) -> Vec<u8> {
        let info = format!("license=GPL\0depends={depends}\0{more}vermagic={release} SMP preempt mod_unload modversions \0");
        elf(b"code", &[], &[(".text", b"x"), (".modinfo", info.as_bytes())])
    }

    /// A module of 6.1.0-lab.
    #[cfg(test)]
    pub(crate) fn module(depends: &str, more: &str) -> Vec<u8> {
        module_of("6.1.0-lab", depends, more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn needs_are_read() {
        let info = ModInfo::read(&testing::module("jbd2,mbcache,xts-ce", "softdep=pre: crc32c post: b-c\0"), "ext4.ko").unwrap();
        assert_eq!(info.depends, ["jbd2", "mbcache", "xts_ce"]);
        assert_eq!((info.soft, info.release), (vec!["crc32c".into(), "b_c".into()], "6.1.0-lab".into()));
        assert_eq!(ModInfo::read(&testing::module("", ""), "x").unwrap().depends, [""; 0]);
        let error = ModInfo::read(&testing::module("", "")[..200], "x.ko").unwrap_err().to_string();
        assert!(error.starts_with("module x.ko: it is cut short"), "{error}");
    }
}
