//! Real kernels of Debian: what was said of them must hold, and no part of one may pass for the whole. Needs packages in `target/kernels`,
//! which `make test` fetches; without them the tests are skipped, or fail when `BLKLAB_REQUIRE_VMS=1` says that they must not be.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use blklab_bootimage::deb::Package;
use blklab_bootimage::image::{self, Kind};
use blklab_bootimage::initramfs;
use blklab_bootimage::modules::{self, DRIVERS, Index, Source, Subset};

/// Bytes between two places where an image is cut.
const STEP: usize = 32 << 10;

fn packages() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/kernels");
    let mut packages: Vec<PathBuf> =
        fs::read_dir(folder).map(|entries| entries.map(|entry| entry.unwrap().path()).collect()).unwrap_or_default();
    packages.retain(|path| path.extension().is_some_and(|end| end == "deb"));
    packages.sort();
    if packages.is_empty() {
        assert!(std::env::var("BLKLAB_REQUIRE_VMS").as_deref() != Ok("1"), "there is no kernel in target/kernels");
        eprintln!("skipped: there is no kernel in target/kernels; `make test` fetches two");
    }
    packages
}

#[test]
fn a_real_image_says_what_it_is_and_no_part_of_it_says_anything() {
    for path in packages() {
        let package = Package::open(&path).unwrap();
        let (inside, bytes) = package.image().unwrap();
        let (facts, vmlinux) = image::inspect(&bytes).unwrap();
        assert_eq!((facts.kind, inside), (Kind::BzImage, format!("boot/vmlinuz-{}", facts.release).as_str()));
        assert_eq!(package.name, format!("linux-image-{}", facts.release));
        assert_eq!((image::release(&bytes).unwrap(), facts.build_id.len()), (facts.release.clone(), 40));
        assert!(facts.has_pvh_entry && facts.toolchain.contains("gcc"), "{facts:?}");
        let (same, _) = image::inspect(&vmlinux).unwrap();
        assert_eq!((same.kind, &same.build_id, &same.banner), (Kind::Vmlinux, &facts.build_id, &facts.banner));

        let near = |end: usize| [end.saturating_sub(1), end, end + 1];
        let places = (0..2048).chain((2048..bytes.len()).step_by(STEP).flat_map(near)).chain([bytes.len() - 1]);
        for end in places.filter(|end| *end < bytes.len()) {
            assert!(image::inspect(&bytes[..end]).is_err(), "{} cut at {end}", path.display());
        }
        let mut damaged = bytes.clone();
        damaged[bytes.len() / 2] ^= 1;
        assert!(image::inspect(&damaged).is_err(), "one bit of the compressed kernel is another");
    }
}

#[test]
fn real_modules_are_packed_with_what_they_need() {
    for path in packages() {
        let package = Package::open(&path).unwrap();
        let release = image::release(&package.image().unwrap().1).unwrap();
        assert!(package.config(&release).unwrap().is_some_and(|config| config.starts_with(b"#")));
        let subset = Subset::choose(&Source::Package(&package), &release).unwrap();
        let mut tar = Vec::new();
        let packed = modules::pack(&subset, &mut tar).unwrap();
        let mut again = Vec::new();
        modules::pack(&subset, &mut again).unwrap();
        assert!(tar == again, "the same modules, other bytes");
        assert!(packed.modules > 50 && packed.bytes < 64 << 20, "{packed:?}");

        let index = Index::of_tar(tar.as_slice(), "modules").unwrap();
        let order = index.load_order(&DRIVERS);
        assert_eq!(order.absent, [""; 0], "{release}");
        let names: Vec<&str> = index.names().collect();
        for file_system in ["xfs", "btrfs"] {
            assert!(names.contains(&file_system), "{release}: {file_system}");
        }
        // What depmod found in their symbols is the truth; each must come after what it needs.
        let text = dependencies(&tar);
        let mut loaded = BTreeSet::new();
        let inside = Path::new("/lib/modules").join(&release);
        for path in &order.paths {
            let below = path.strip_prefix(&inside).unwrap().display().to_string();
            let line = text.lines().find(|line| line.starts_with(&format!("{below}:"))).unwrap();
            for need in line.split_once(':').unwrap().1.split_whitespace() {
                assert!(loaded.contains(need), "{below} needs {need}");
            }
            loaded.insert(below);
        }
        assert!(initramfs::of_kernel(tar.as_slice()).unwrap().contains(&order.paths[0]));
    }
}

/// `modules.dep` of a tar.
fn dependencies(tar: &[u8]) -> String {
    for entry in tar::Archive::new(tar).entries().unwrap() {
        let entry = entry.unwrap();
        if entry.path().unwrap().ends_with("modules.dep") {
            return std::io::read_to_string(entry).unwrap();
        }
    }
    panic!("no modules.dep");
}
