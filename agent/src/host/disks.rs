//! The disks that this host offers, and the one that a trial has taken. Nothing in here writes to a disk that [`guard::decide`] has not
//! just passed, and every write finds the disk again by its id first: a kernel name may have changed hands meanwhile.

use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::time::Duration;

use blklab_model::disk::{Disk, DiskFacts, DiskHealth};
use blklab_model::filesystem::words::check_mkfs;
use blklab_model::id::{DiskClass, DiskId};
use blklab_model::outcome::Fault;

use super::loop_disks::DiskBelow;
use super::{LabHost, fault};
use crate::cycle::machine::{Problem, Record};
use crate::guard::probe::{self, Subject};
use crate::guard::{self, Signature};
use crate::inventory::{self, Found};
use crate::sys::cgroup::Limits;
use crate::sys::{self, SysError, block, command};

/// Zeroed at both ends of a disk to make it blank. All file systems that the lab makes have their first super block in the first MiB
/// (btrfs has the farthest, at 64 KiB); GPT and some RAID labels repeat themselves at the end.
const WIPED_BYTES: u64 = 1 << 20;

/// The disk under test.
#[derive(Debug, Clone)]
pub(super) struct TakenDisk {
    pub(super) id: DiskId,
    /// Kernel name.
    pub(super) name: String,
    /// `/dev/NAME`.
    pub(super) device: PathBuf,
    /// Where its file system is mounted.
    pub(super) dir: PathBuf,
    /// Set on the disk below.
    pub(super) limits: Limits,
    pub(super) below: Option<DiskBelow>,
    /// The guard let us write to it: what is on it from then on is the trial's, and is wiped at the end.
    is_blanked: bool,
    /// It holds a file system of ours.
    pub(super) is_formatted: bool,
}

/// Where a disk of the allow-list is now.
struct Place {
    name: String,
    same_id: usize,
    limits: Limits,
    below: Option<DiskBelow>,
}

impl LabHost {
    /// Every disk of the allow-list with its present health.
    pub(super) fn offer(&self) -> Vec<Disk> {
        let found = inventory::scan(&self.state.roots);
        let classes = self.config.disks.iter().map(|disk| (&disk.id, &disk.class));
        let loop_classes = self.config.loop_disks.iter().map(|disk| (&disk.id, &disk.class));
        classes.chain(loop_classes).map(|(id, class)| self.offer_one(id, class, &found)).collect()
    }

    fn offer_one(&self, id: &DiskId, class: &DiskClass, found: &[Found]) -> Disk {
        let disk = |facts, health| Disk { id: id.clone(), class: class.clone(), facts, health };
        let place = match self.find(id, found) {
            Ok(Some(place)) => place,
            Ok(None) => return disk(DiskFacts::default(), DiskHealth::Missing),
            Err(reason) => return disk(DiskFacts::default(), DiskHealth::Refused { reason }),
        };
        let mut facts = inventory::facts(&self.state.roots, &place.name);
        if !place.limits.is_none() {
            facts.limits = format!("throttled below: {}", place.limits.words());
        }
        let health = match self.guard(id, &place) {
            Ok(()) => DiskHealth::Usable,
            Err(problem) => DiskHealth::Refused { reason: problem.message },
        };
        disk(facts, health)
    }

    fn find(&self, id: &DiskId, found: &[Found]) -> Result<Option<Place>, String> {
        if let Some(disk) = self.loop_disks.iter().find(|disk| disk.id == *id) {
            let device = disk.device.clone()?;
            device.check_ours(&self.state.roots)?;
            let limits = self.config.loop_disks.iter().find(|config| config.id == *id).map(|config| config.limits).unwrap_or_default();
            return Ok(Some(Place { name: device.name, same_id: 1, limits, below: device.below }));
        }
        let same: Vec<&Found> = found.iter().filter(|found| found.id.as_ref() == Some(id)).collect();
        let place =
            |found: &&Found| Place { name: found.facts.kernel_name.clone(), same_id: same.len(), limits: Limits::default(), below: None };
        Ok(same.first().map(place))
    }

    /// Looks at the disk now and asks the guard.
    fn guard(&self, id: &DiskId, place: &Place) -> Result<(), Problem> {
        let allowed = self.config.ids().any(|listed| listed == id);
        let subject = Subject { name: &place.name, id: Some(id), allowed, same_id: place.same_id };
        let standing = probe::standing(&self.state.roots, &subject).map_err(fault(Fault::Lab))?;
        guard::decide(&standing, self.state.journal.signature(id)).map_err(|refusal| Problem::lab(refusal.to_string()))
    }

    pub(super) fn take_disk(&mut self, id: &DiskId, space_bytes: u64, record: &mut Record) -> Result<(), Problem> {
        if !self.config.ids().any(|listed| listed == id) {
            let message = format!("disk `{id}` is not on the allow-list of this agent; list it under [[disk]] if the lab may use it");
            return Err(Problem::lab(message));
        }
        let found = inventory::scan(&self.state.roots);
        let missing = || Problem::lab(format!("disk `{id}` is gone; check its cable, or take it off the allow-list"));
        let place = self.find(id, &found).map_err(Problem::lab)?.ok_or_else(missing)?;
        self.guard(id, &place)?;
        let size_bytes = block::size_bytes(&self.state.roots, &place.name).map_err(fault(Fault::Lab))?;
        if size_bytes < space_bytes {
            let sizes = format!("{} MiB, the disk has {} MiB", space_bytes >> 20, size_bytes >> 20);
            return Err(Problem::lab(format!("the workload needs {sizes}; use a larger disk, or smaller parameters")));
        }
        let scratch = self.scratch_dir();
        std::fs::create_dir_all(&scratch).map_err(SysError::io(format!("make folder {}", scratch.display()))).map_err(fault(Fault::Lab))?;
        let index = self.trial.disks.len();
        if index == 0 {
            record.note("kernel.release", rustix::system::uname().release().to_string_lossy());
        }
        record.note(numbered("disk.kernel_name", index), &place.name);
        if let Some(below) = &place.below {
            record.note(numbered("disk.below", index), &below.name);
        }
        self.trial.disks.push(TakenDisk {
            id: id.clone(),
            device: self.state.roots.device(&place.name),
            dir: self.mount_dir(index),
            name: place.name,
            limits: place.limits,
            below: place.below,
            is_blanked: false,
            is_formatted: false,
        });
        Ok(())
    }

    /// Looks once more, right before the first write.
    pub(super) fn blank_disks(&mut self) -> Result<(), Problem> {
        for index in 0..self.trial.disks.len() {
            let disk = self.disk(index)?.clone();
            self.guard(&disk.id, &self.find_again(&disk)?)?;
            self.wipe(&disk)?;
            self.trial.disks[index].is_blanked = true;
        }
        Ok(())
    }

    pub(super) fn make_filesystems(&mut self, kind: &str, args: &[String], limit: Duration, record: &mut Record) -> Result<(), Problem> {
        // Without device and UUID, which differ from trial to trial and mean nothing.
        record.note("mkfs", [&[format!("mkfs.{kind}")], args].concat().join(" "));
        (0..self.trial.disks.len()).try_for_each(|index| self.make_filesystem(index, kind, args, limit))
    }

    fn make_filesystem(&mut self, index: usize, kind: &str, args: &[String], limit: Duration) -> Result<(), Problem> {
        let disk = self.disk(index)?.clone();
        let uuid = random_uuid().map_err(fault(Fault::Lab))?;
        let device = disk.device.to_string_lossy().into_owned();
        let argv = mkfs_argv(kind, &uuid, args, &device)?;
        self.state.journal.will_sign(&disk.id, &uuid).map_err(fault(Fault::Lab))?;
        let argv: Vec<&str> = argv.iter().map(String::as_str).collect();
        // With arguments of the experiment, it is the experiment that mkfs does not understand.
        let whose = if args.is_empty() { Fault::Lab } else { Fault::Workload };
        // While this is open the kernel gives the name to no other disk, so what is checked now is what mkfs opens.
        let held = File::open(&disk.device).map_err(SysError::io(format!("open {device}"))).map_err(fault(Fault::Lab))?;
        self.find_again(&disk)?;
        command::run(&argv, limit).map_err(fault(whose))?;
        drop(held);
        match probe::signature(&disk.device) {
            Signature::Found { uuid: Some(made), .. } if made == uuid => {}
            // An argument of the experiment chose another UUID; it is ours all the same, for we saw it made.
            Signature::Found { uuid: Some(made), .. } => self.state.journal.will_sign(&disk.id, &made).map_err(fault(Fault::Lab))?,
            Signature::Found { kind, uuid: None } => {
                return Err(Problem::lab(format!("mkfs.{kind} left no file system with a UUID on {device}")));
            }
            Signature::Blank => return Err(Problem::lab(format!("mkfs.{kind} left nothing on {device}"))),
            Signature::Unknown { reason } => return Err(Problem::lab(reason)),
        }
        self.trial.disks[index].is_formatted = true;
        Ok(())
    }

    /// Leaves the disks blank for the next trial, all that can be. A disk that the guard refused was never ours and stays as it is.
    pub(super) fn release_disks(&mut self) -> Result<(), Problem> {
        let mut first = Ok(());
        for disk in std::mem::take(&mut self.trial.disks).iter().filter(|disk| disk.is_blanked) {
            let wiped = self.wipe(disk);
            first = first.and(wiped);
        }
        let _ = std::fs::remove_dir_all(self.scratch_dir());
        first
    }

    /// Zeroes both ends through an exclusive claim: if anybody mounts the disk in this moment, one of the two of us fails. The claim
    /// comes before the last look, since the kernel gives the name of an open disk to no other.
    fn wipe(&mut self, disk: &TakenDisk) -> Result<(), Problem> {
        let act = || format!("wipe {}", disk.device.display());
        let claimed = OpenOptions::new().read(true).write(true).custom_flags(libc::O_EXCL).open(&disk.device);
        // A disk that went away is told as such, not as a name that cannot be opened.
        self.find_again(disk)?;
        let mut file = claimed.map_err(SysError::io(act())).map_err(fault(Fault::Lab))?;
        zero_ends(&mut file).map_err(SysError::io(act())).map_err(fault(Fault::Lab))?;
        self.state.journal.wiped(&disk.id).map_err(fault(Fault::Lab))
    }

    /// The id must still lead to the kernel name that the trial has taken.
    fn find_again(&self, disk: &TakenDisk) -> Result<Place, Problem> {
        let place = self.find(&disk.id, &inventory::scan(&self.state.roots));
        let same = place.and_then(|place| same_place(disk, place));
        same.map_err(|reason| Problem::lab(format!("{reason}; nothing is written to {}", disk.name)))
    }
}

/// A name in the environment record: that of the first disk bare, those of the others with their number.
pub(super) fn numbered(name: &str, index: usize) -> String {
    if index == 0 { name.to_owned() } else { format!("{name} (disk {})", index + 1) }
}

fn same_place(disk: &TakenDisk, now: Option<Place>) -> Result<Place, String> {
    let place = now.ok_or_else(|| format!("disk `{}` is gone from the host; check its cable", disk.id))?;
    if place.same_id != 1 {
        return Err(format!("{} disks now carry the id `{}`", place.same_id, disk.id));
    }
    if place.name != disk.name {
        return Err(format!("disk `{}` was {} and is now {}", disk.id, disk.name, place.name));
    }
    Ok(place)
}

fn zero_ends(file: &mut File) -> std::io::Result<()> {
    let zeros = vec![0; usize::try_from(WIPED_BYTES).expect("1 MiB fits")];
    let size = file.seek(SeekFrom::End(0))?;
    for offset in [0, size.saturating_sub(WIPED_BYTES)] {
        file.seek(SeekFrom::Start(offset))?;
        file.write_all(&zeros)?;
    }
    file.sync_all()
}

/// `mkfs.KIND` with what the lab needs (no questions, our UUID), then the experiment's own arguments, which win where they disagree. The
/// coordinator has checked those when it took the experiment; they are checked here because here they become a command line of root.
fn mkfs_argv(kind: &str, uuid: &str, args: &[String], device: &str) -> Result<Vec<String>, Problem> {
    check_mkfs(kind, args).map_err(|bad| Problem::workload(bad.to_string()))?;
    let ours: &[&str] = match kind {
        "ext2" | "ext3" | "ext4" => &["-q", "-F", "-U", uuid],
        "xfs" => &["-q", "-f", "-m", &format!("uuid={uuid}")],
        "btrfs" | "f2fs" => &["-q", "-f", "-U", uuid],
        _other => &[],
    };
    let words = std::iter::once(format!("mkfs.{kind}")).chain(ours.iter().map(|word| (*word).to_owned()));
    Ok(words.chain(args.iter().cloned()).chain([device.to_owned()]).collect())
}

/// Version 4 (RFC 9562): random but for its version and variant.
fn random_uuid() -> sys::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| SysError::Unsupported { act: "draw a UUID".into(), reason: error.to_string() })?;
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok([hex[..4].concat(), hex[4..6].concat(), hex[6..8].concat(), hex[8..10].concat(), hex[10..].concat()].join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_experiment_has_the_last_word_at_mkfs() {
        let argv = mkfs_argv("ext4", "u-1", &["-b".into(), "4096".into()], "/dev/loop3").unwrap();
        assert_eq!(argv.join(" "), "mkfs.ext4 -q -F -U u-1 -b 4096 /dev/loop3");
        assert_eq!(mkfs_argv("xfs", "u-1", &[], "/dev/loop3").unwrap().join(" "), "mkfs.xfs -q -f -m uuid=u-1 /dev/loop3");
    }

    #[test]
    fn no_argument_brings_another_disk_to_mkfs() {
        for (kind, args) in [("btrfs", vec!["/dev/sdb"]), ("xfs", vec!["-l", "logdev=/dev/sdb"]), ("ext4", vec!["-L"]), ("../sh", vec![])] {
            let args: Vec<String> = args.into_iter().map(str::to_owned).collect();
            let problem = mkfs_argv(kind, "u-1", &args, "/dev/loop3").unwrap_err();
            assert_eq!(problem.fault, Fault::Workload, "{}", problem.message);
        }
    }

    #[test]
    fn a_disk_that_changed_its_name_is_not_written_to() {
        let id: DiskId = "wwn-0x5".parse().unwrap();
        let (device, limits) = (PathBuf::from("/dev/sdb"), Limits::default());
        let dir = PathBuf::from("/lab/mnt");
        let disk = TakenDisk { id, name: "sdb".into(), device, dir, limits, below: None, is_blanked: true, is_formatted: true };
        let place = |name: &str, same_id| Place { name: name.into(), same_id, limits, below: None };
        assert!(same_place(&disk, Some(place("sdb", 1))).is_ok());
        let reasons = [None, Some(place("sdc", 1)), Some(place("sdb", 2))].map(|now| same_place(&disk, now).err().unwrap());
        assert_eq!(reasons[0], "disk `wwn-0x5` is gone from the host; check its cable");
        assert_eq!(reasons[1], "disk `wwn-0x5` was sdb and is now sdc");
        assert_eq!(reasons[2], "2 disks now carry the id `wwn-0x5`");
    }

    #[test]
    fn uuids_have_their_form() {
        let uuid = random_uuid().unwrap();
        let lengths: Vec<usize> = uuid.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12]);
        assert_eq!(&uuid[14..15], "4");
        assert_ne!(uuid, random_uuid().unwrap());
    }

    #[test]
    fn both_ends_are_wiped_and_the_middle_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("disk");
        std::fs::write(&path, vec![7; 4 << 20]).unwrap();
        let mut file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        zero_ends(&mut file).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let count = |range: std::ops::Range<usize>| bytes[range].iter().filter(|byte| **byte != 0).count();
        assert_eq!((bytes.len(), count(0..1 << 20), count(1 << 20..3 << 20), count(3 << 20..4 << 20)), (4 << 20, 0, 2 << 20, 0));
    }
}
