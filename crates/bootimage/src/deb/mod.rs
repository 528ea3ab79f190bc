//! Debian packages of kernels (deb(5)): what is in them, without installing them and without dpkg, which other distributions lack.

mod ar;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::compress::{Format, UnpackError};
use crate::modules::below_release;

/// Longest contents of a package, unpacked: a Debian kernel has 400 MB, with BTF and debugging information 5 GB, which no host wants.
const MAX_DATA_BYTES: u64 = 2 << 30;

/// Longest control archive, unpacked: check sums of 4,500 files are 0.4 MB.
const MAX_CONTROL_BYTES: u64 = 16 << 20;

/// Longest image or text taken from a package; images of Debian have 12 MB.
pub const MAX_FILE_BYTES: u64 = 256 << 20;

/// Why a package is not read.
#[derive(Debug, thiserror::Error)]
pub enum DebError {
    /// The system.
    #[error("{}: {error}", .path.display())]
    Io {
        /// The package.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Not as deb(5) says.
    #[error("{} is no usable Debian package: {what}", .path.display())]
    Bad {
        /// The package.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// Its contents are not unpacked.
    #[error("{}: its contents are not unpacked: {error}", .path.display())]
    Unpack {
        /// The package.
        path: PathBuf,
        /// Why.
        error: UnpackError,
    },
    /// Another package.
    #[error("{package} holds no kernel image (boot/vmlinuz-RELEASE); give the file of a package linux-image-RELEASE")]
    NoImage {
        /// Its name.
        package: String,
    },
}

/// A package whose contents can be read.
#[derive(Debug)]
pub struct Package {
    path: PathBuf,
    /// `linux-image-6.1.0-40-amd64`.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The unpacked contents: a file without a name.
    data: File,
    /// Where each file lies in them, by its path without a leading `./`.
    files: BTreeMap<String, Extent>,
}

#[derive(Debug, Clone, Copy)]
struct Extent {
    start: u64,
    bytes: u64,
}

impl Package {
    /// Unpacks the contents into a nameless file in the folder for temporary files.
    pub fn open(path: &Path) -> Result<Self, DebError> {
        let io = |error| DebError::Io { path: path.to_owned(), error };
        let bad = |what: String| DebError::Bad { path: path.to_owned(), what };
        let unpack = |error| DebError::Unpack { path: path.to_owned(), error };
        let mut file = File::open(path).map_err(io)?;
        let members = ar::members(&mut file).map_err(&bad)?;
        if members.first().map(|member| member.name.as_str()) != Some("debian-binary") {
            return Err(bad("it does not begin with debian-binary".to_owned()));
        }
        let member = |stem: &str| {
            let found =
                members.iter().find(|member| member.name.strip_prefix(stem).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')));
            found.ok_or_else(|| bad(format!("it has no {stem}")))
        };
        let mut control = Vec::new();
        extract(&file, member("control.tar")?, &mut control, MAX_CONTROL_BYTES).map_err(unpack)?;
        let control = control_text(&control).map_err(|error| bad(format!("control.tar: {error}")))?;
        let field = |name: &str| field(&control, name).ok_or_else(|| bad(format!("its control file has no {name}")));
        let (name, version) = (field("Package")?, field("Version")?);
        let mut data = tempfile::tempfile().map_err(io)?;
        extract(&file, member("data.tar")?, &mut data, MAX_DATA_BYTES).map_err(unpack)?;
        let files = extents(&data).map_err(|error| bad(format!("data.tar: {error}")))?;
        Ok(Package { path: path.to_owned(), name, version, data, files })
    }

    /// Paths of its files, sorted.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// The kernel image: its path and its bytes.
    pub fn image(&self) -> Result<(&str, Vec<u8>), DebError> {
        let is_image = |path: &&str| path.starts_with("boot/vmlinuz-") || (below_modules(path) && path.ends_with("/vmlinuz"));
        let path = self.paths().find(is_image).ok_or_else(|| DebError::NoImage { package: self.name.clone() })?;
        Ok((path, self.read(path, MAX_FILE_BYTES)?))
    }

    /// The configuration of kernel `release`, if it is in the package.
    pub fn config(&self, release: &str) -> Result<Option<Vec<u8>>, DebError> {
        let path = format!("boot/config-{release}");
        if self.files.contains_key(&path) { self.read(&path, MAX_FILE_BYTES).map(Some) } else { Ok(None) }
    }

    /// Files of `lib/modules/RELEASE`: the path below it, and the path in the package.
    pub fn modules(&self, release: &str) -> impl Iterator<Item = (String, String)> {
        self.paths().filter_map(move |path| {
            let (found, below) = below_release(Path::new(path))?;
            (found == release && !below.is_empty()).then(|| (below, path.to_owned()))
        })
    }

    /// The contents of one file.
    pub fn read(&self, path: &str, limit_bytes: u64) -> Result<Vec<u8>, DebError> {
        let bad = |what: &str| DebError::Bad { path: self.path.clone(), what: format!("{path} {what}") };
        let extent = self.files.get(path).ok_or_else(|| bad("is not in it"))?;
        if extent.bytes > limit_bytes {
            return Err(bad(&format!("is longer than {} MiB", limit_bytes >> 20)));
        }
        let mut bytes = vec![0; extent.bytes as usize];
        let read = std::os::unix::fs::FileExt::read_exact_at(&self.data, &mut bytes, extent.start);
        read.map_err(|error| DebError::Io { path: self.path.clone(), error })?;
        Ok(bytes)
    }
}

fn below_modules(path: &str) -> bool {
    below_release(Path::new(path)).is_some()
}

fn extract(package: &File, member: &ar::Member, out: impl io::Write, limit_bytes: u64) -> Result<(), UnpackError> {
    let io = |error| UnpackError::Program(crate::ProgramError::Io { program: member.name.clone(), error });
    let mut from = package;
    from.seek(SeekFrom::Start(member.start)).map_err(io)?;
    let input = from.take(member.bytes);
    match Format::of_name(&member.name) {
        Some(format) => format.unpack(input, out, limit_bytes).map(drop),
        // A bare tar, which old packages may have.
        None => io::copy(&mut input.take(limit_bytes), &mut { out }).map(drop).map_err(io),
    }
}

fn control_text(tar: &[u8]) -> io::Result<String> {
    for entry in tar::Archive::new(tar).entries()? {
        let mut entry = entry?;
        if entry.path()?.file_name().is_some_and(|name| name == "control") {
            let mut text = String::new();
            entry.read_to_string(&mut text)?;
            return Ok(text);
        }
    }
    Err(io::Error::other("there is no control file in it"))
}

/// A field of one line (deb-control(5)).
fn field(control: &str, name: &str) -> Option<String> {
    let lines = control.lines().filter_map(|line| line.split_once(':'));
    let value = lines.into_iter().find(|(key, _)| key.eq_ignore_ascii_case(name))?.1.trim();
    (!value.is_empty()).then(|| value.to_owned())
}

fn extents(tar: &File) -> io::Result<BTreeMap<String, Extent>> {
    let mut from = tar;
    from.rewind()?;
    let mut files = BTreeMap::new();
    for entry in tar::Archive::new(from).entries_with_seek()? {
        let entry = entry?;
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let path = entry.path()?.to_string_lossy().trim_start_matches("./").to_owned();
        files.insert(path, Extent { start: entry.raw_file_position(), bytes: entry.size() });
    }
    Ok(files)
}

#[cfg(any(test, feature = "test-support"))]
pub(crate) mod testing {
    use super::*;
    use crate::compress::testing::pack;

    /// A package with these files.
    pub(crate) fn package(format: Format, files: &[(&str, &[u8])]) -> Vec<u8> {
        let tar = |files: &[(&str, &[u8])]| {
            let mut tar = tar::Builder::new(Vec::new());
            for (path, bytes) in files {
                let mut header = tar::Header::new_gnu();
                header.set_size(bytes.len() as u64);
                tar.append_data(&mut header, path, *bytes).expect("memory takes everything");
            }
            pack(format, &tar.into_inner().expect("memory takes everything")).expect("the compressor is installed")
        };
        let ending = if format == Format::Zstd { "zst" } else { "xz" };
        let control = tar(&[("./control", b"Package: linux-image-6.1.0-lab\nVersion: 6.1.7-1\nDescription: a kernel\n for tests\n")]);
        ar::testing::archive(&[
            ("debian-binary", b"2.0\n"),
            (&format!("control.tar.{ending}"), &control),
            (&format!("data.tar.{ending}"), &tar(files)),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(bytes: &[u8]) -> Result<Package, DebError> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        Package::open(file.path())
    }

    const FILES: [(&str, &[u8]); 3] = [
        ("./boot/config-6.1.0-lab", b"CONFIG_BLOCK=y\n"),
        ("./lib/modules/6.1.0-lab/kernel/fs/ext4/ext4.ko", b"module"),
        ("./usr/share/doc/x", b"doc"),
    ];

    #[test]
    fn both_compressions_of_debian_and_ubuntu_are_read() {
        let image = crate::testing::vmlinux("6.1.0-lab", 1);
        let files = [&FILES[..], &[("./boot/vmlinuz-6.1.0-lab", image.as_slice())]].concat();
        for format in [Format::Xz, Format::Zstd] {
            let package = open(&testing::package(format, &files)).unwrap();
            assert_eq!((package.name.as_str(), package.version.as_str()), ("linux-image-6.1.0-lab", "6.1.7-1"));
            assert_eq!(package.image().unwrap(), ("boot/vmlinuz-6.1.0-lab", image.clone()));
            assert_eq!(package.config("6.1.0-lab").unwrap().as_deref(), Some(&b"CONFIG_BLOCK=y\n"[..]));
            assert_eq!(package.config("6.1").unwrap(), None);
            let modules: Vec<_> = package.modules("6.1.0-lab").collect();
            assert_eq!(modules, [("kernel/fs/ext4/ext4.ko".to_owned(), "lib/modules/6.1.0-lab/kernel/fs/ext4/ext4.ko".to_owned())]);
            assert_eq!(package.read(&modules[0].1, 100).unwrap(), b"module");
            assert!(package.read(&modules[0].1, 5).unwrap_err().to_string().contains("is longer than"));
        }
    }

    #[test]
    fn other_packages_say_so() {
        let error = open(&testing::package(Format::Xz, &FILES)).unwrap().image().unwrap_err().to_string();
        assert_eq!(
            error,
            "linux-image-6.1.0-lab holds no kernel image (boot/vmlinuz-RELEASE); give the file of a package linux-image-RELEASE"
        );
        assert!(open(b"PK\x03\x04").unwrap_err().to_string().ends_with("is no usable Debian package: it is no ar archive"));
        let object = ar::testing::archive(&[("a.o", b"x")]);
        assert!(open(&object).unwrap_err().to_string().ends_with("it does not begin with debian-binary"));
    }

    #[test]
    fn no_cut_gives_a_package() {
        let whole = testing::package(Format::Xz, &FILES);
        for end in (0..whole.len()).step_by(13).chain([whole.len() - 1]) {
            assert!(open(&whole[..end]).is_err(), "{end} of {}", whole.len());
        }
    }
}
