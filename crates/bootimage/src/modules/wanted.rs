//! The modules that a host of the lab may need: its buses and disks, what is stacked on disks, schedulers, file systems, and what tells of
//! a kernel's end. A kernel of a distribution has 4,000 modules, most of them for hardware that no virtual host has.

/// Drivers of a virtual host's own hardware and of its disks, to be loaded when it starts: nothing else would load them, as there is no
/// udev. To be given to [`super::Index::load_order`].
pub const DRIVERS: [&str; 12] = [
    "virtio_pci",
    "virtio_console",
    "virtio_blk",
    "virtio_scsi",
    "virtio_rng",
    "ahci",
    "nvme",
    "sd_mod",
    "i6300esb",
    "pvpanic",
    "pvpanic_pci",
    "pvpanic_mmio",
];

/// Modules that are packed with what they need, where a kernel has them. The kernel or a tool asks for them by name (modprobe(8)), or an
/// experiment does.
pub(super) const ON_DEMAND: [&str; 56] = [
    // Schedulers; blk_mq asks for NAME-iosched (block/elevator.c).
    "bfq",
    "kyber-iosched",
    "mq-deadline",
    // Disks made of files, memory or nothing.
    "brd",
    "loop",
    "nbd",
    "null_blk",
    "scsi_debug",
    "zram",
    // Disks over disks.
    "dm-delay",
    "dm-dust",
    "dm-flakey",
    "dm-mod",
    "md-mod",
    "raid0",
    "raid1",
    "raid10",
    "raid456",
    // Other adapters that a virtual host may have.
    "ata_piix",
    "megaraid_sas",
    "mptsas",
    "mptspi",
    "sg",
    "virtio_net",
    // File systems.
    "bcachefs",
    "btrfs",
    "exfat",
    "ext4",
    "f2fs",
    "fuse",
    "jfs",
    "nilfs2",
    "overlay",
    "squashfs",
    "vfat",
    "xfs",
    // Check sums and compression that file systems ask the crypto layer for, by other names.
    "blake2b_generic",
    "crc32_generic",
    "crc32_pclmul",
    "crc32c_generic",
    "crc32c_intel",
    "crc64_rocksoft_generic",
    "crct10dif_generic",
    "crct10dif_pclmul",
    "lz4",
    "lzo",
    "lzo-rle",
    "sha256_generic",
    "sha256_ssse3",
    "xxhash_generic",
    "zstd",
    // Code pages of vfat.
    "nls_ascii",
    "nls_cp437",
    "nls_iso8859-1",
    "nls_utf8",
    // A hang of a host without the other watchdog.
    "softdog",
];

/// All of them.
pub(super) fn all() -> impl Iterator<Item = &'static str> {
    DRIVERS.into_iter().chain(ON_DEMAND)
}
