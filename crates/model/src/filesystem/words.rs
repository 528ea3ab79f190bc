//! What an experiment may say to mkfs and mount: nothing that could reach beyond the disk under test.

/// What an experiment may say to `mkfs.TYPE`.
struct MkfsOptions {
    kinds: &'static [&'static str],
    /// Options without a value.
    flags: &'static [&'static str],
    /// Options with one.
    valued: &'static [&'static str],
}

/// From mke2fs(8), mkfs.xfs(8), mkfs.btrfs(8), mkfs.f2fs(8). A list of what is allowed, for only its options tell what a word means: the
/// same bare word is the value of one and a second device after another. Left out are options that read or write other files (ext4 `-d`,
/// `-l`, `-z`; xfs `-c`, `-p`; btrfs `--rootdir`; f2fs `-c`), and those that make something else or nothing at all.
const MKFS_OPTIONS: [MkfsOptions; 4] = [
    MkfsOptions {
        kinds: &["ext2", "ext3", "ext4"],
        flags: &["-c", "-D", "-F", "-j", "-q", "-v"],
        valued: &["-b", "-C", "-e", "-E", "-g", "-G", "-i", "-I", "-J", "-L", "-m", "-N", "-o", "-O", "-r", "-T", "-U"],
    },
    MkfsOptions { kinds: &["xfs"], flags: &["-f", "-K", "-q"], valued: &["-b", "-d", "-i", "-l", "-L", "-m", "-n", "-r", "-s"] },
    MkfsOptions {
        kinds: &["btrfs"],
        flags: &["-f", "-K", "-M", "-q", "-v", "--force", "--nodiscard", "--mixed", "--quiet", "--verbose"],
        #[rustfmt::skip]
        valued: &[
            "-b", "-d", "-L", "-m", "-n", "-O", "-R", "-s", "-U", "--byte-count", "--checksum", "--csum", "--data", "--features", "--label",
            "--metadata", "--nodesize", "--runtime-features", "--sectorsize", "--uuid",
        ],
    },
    MkfsOptions {
        kinds: &["f2fs"],
        flags: &["-f", "-i", "-m", "-q", "-r"],
        valued: &["-a", "-C", "-d", "-e", "-E", "-g", "-l", "-o", "-O", "-R", "-s", "-t", "-T", "-U", "-w", "-z"],
    },
];

/// Keys of sub-options and mount options that name another device, even one without a slash (`LABEL=...`, a device number).
const OTHER_DEVICES: [&str; 7] = ["device", "file", "journal_dev", "journal_path", "logdev", "name", "rtdev"];

/// A word for mkfs or mount that could reach beyond the disk under test.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}; {help}")]
pub struct BadWord {
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub help: String,
}

/// Arguments of `mkfs.TYPE` from an experiment: known options and their values, none of which names a file or another device.
pub fn check_mkfs(kind: &str, args: &[String]) -> Result<(), BadWord> {
    let program = format!("mkfs.{kind}");
    let Some(known) = MKFS_OPTIONS.iter().find(|known| known.kinds.contains(&kind)) else {
        let help = format!("known: {}", super::KNOWN.join(", "));
        return Err(BadWord { message: format!("unknown file system `{kind}`"), help });
    };
    let mut words = args.iter().map(String::as_str);
    while let Some(word) = words.next() {
        check_path(&program, word)?;
        if known.flags.contains(&word) {
            continue;
        }
        let value = match known.value_of(word) {
            None => {
                let help = format!("it takes {} and, each with its value, {}", known.flags.join(" "), known.valued.join(" "));
                return Err(BadWord { message: format!("an experiment may not say `{word}` to {program}"), help });
            }
            Some(Value::Inside(value)) => Some(value),
            Some(Value::Next) => words.next(),
        };
        // A value like an option would make the next word bare; a missing one would swallow the device.
        let Some(value) = value.filter(|value| !value.is_empty() && !value.starts_with('-')) else {
            return Err(BadWord { message: format!("`{word}` of {program} lacks its value"), help: "give it as the next word".to_owned() });
        };
        check_path(&program, value)?;
        check_keys(&program, value)?;
    }
    Ok(())
}

/// Mount options from an experiment: none names a file or another device.
pub fn check_mount(options: &str) -> Result<(), BadWord> {
    check_path("mount", options)?;
    check_keys("mount", options)
}

/// Where the value of an option is.
enum Value<'a> {
    /// `-b4096`, `--nodesize=16k`.
    Inside(&'a str),
    /// `-b 4096`.
    Next,
}

impl MkfsOptions {
    fn value_of<'a>(&self, word: &'a str) -> Option<Value<'a>> {
        if self.valued.contains(&word) {
            return Some(Value::Next);
        }
        let inside = if word.starts_with("--") { word.split_once('=') } else { word.split_at_checked(2) };
        inside.filter(|(option, _)| self.valued.contains(option)).map(|(_, value)| Value::Inside(value))
    }
}

const ONE_DISK: &str = "leave it out: a trial has one disk, and the agent names it by itself";

fn check_path(program: &str, word: &str) -> Result<(), BadWord> {
    if !word.contains('/') {
        return Ok(());
    }
    Err(BadWord { message: format!("`{word}` for {program} names a path"), help: ONE_DISK.to_owned() })
}

fn check_keys(program: &str, value: &str) -> Result<(), BadWord> {
    let mut keys = value.split(',').filter_map(|part| part.split_once('=')).map(|(key, _)| key.trim());
    match keys.find(|key| OTHER_DEVICES.contains(key)) {
        Some(key) => Err(BadWord { message: format!("`{key}=` for {program} names another device"), help: ONE_DISK.to_owned() }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mkfs(kind: &str, line: &str) -> Result<(), BadWord> {
        check_mkfs(kind, &line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn mkfs_and_mount_take_their_own_options() {
        let lines = [
            ("ext4", "-b 4096 -O ^has_journal,extent -E lazy_itable_init=0 -m0 -L name"),
            ("ext3", "-J size=16"),
            ("xfs", "-m crc=1,reflink=0 -d agcount=4 -l size=64m,lazy-count=1 -i size=512 -K"),
            ("btrfs", "-O ^extref --nodesize=16k --data single -m dup"),
            ("f2fs", "-O extra_attr -s 2"),
            ("ext2", ""),
        ];
        for (kind, line) in lines {
            assert_eq!(mkfs(kind, line), Ok(()));
        }
        for options in ["", "noatime", "data=journal,commit=30", "ssd, compress=zstd:3"] {
            assert_eq!(check_mount(options), Ok(()));
        }
    }

    /// Each of these makes one of the programs open something else than the disk under test.
    #[test]
    fn no_word_reaches_another_disk() {
        let lines = [
            ("btrfs", "/dev/sdb"),
            ("btrfs", "sdb"),
            ("btrfs", "-d raid0 sdb"),
            ("btrfs", "-b -L sdb"),
            ("btrfs", "-q -- -b"),
            ("btrfs", "-"),
            ("btrfs", "--rootdir etc"),
            ("btrfs", "--rootdir=etc"),
            ("btrfs", "-fL sdb"),
            ("xfs", "-l logdev=/dev/sdb"),
            ("xfs", "-l size=64m,logdev=sdb"),
            ("xfs", "-lsize=64m,logdev=sdb"),
            ("xfs", "-r rtdev=sdb"),
            ("xfs", "-d name=sdb"),
            ("xfs", "-p proto"),
            ("ext4", "-J device=LABEL=x"),
            ("ext4", "-Jdevice=UUID=x"),
            ("ext4", "-d root"),
            ("ext4", "-z undo"),
            ("ext4", "-L"),
            ("f2fs", "-c sdb"),
            ("f2fs", "-csdb"),
            ("../evil", ""),
        ];
        for (kind, line) in lines {
            assert!(mkfs(kind, line).is_err(), "mkfs.{kind} {line}");
        }
        assert!(check_mkfs("ext4", &["-L".into(), String::new()]).is_err());
        for options in ["logdev=/dev/sdb", "noatime, rtdev=sdb", "device=sdb", "journal_path=sdb", "journal_dev=0x810"] {
            assert!(check_mount(options).is_err(), "{options}");
        }
    }
}
