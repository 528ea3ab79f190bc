//! Two real Debian kernels for the demo and the tests: fetched from the archive that this machine uses, kept in `target/kernels`. They are
//! not installed, so this needs no root.

use std::path::{Path, PathBuf};

use crate::run::{Failed, output, program, program_in, succeeds};

/// Where they are kept; a fresh clone fetches them again.
const FOLDER: &str = "target/kernels";

/// Package names are `linux-image-6.1.0-NUMBER-amd64`: one stable series, so that two neighbours differ by fixes only.
const PREFIX: &str = "linux-image-6.1.0-";
const SUFFIX: &str = "-amd64";

/// The two newest kernels of Debian 12, the older one first. What is there already is not fetched again.
pub(crate) fn fetch() -> Result<[PathBuf; 2], Failed> {
    let folder = Path::new(FOLDER);
    std::fs::create_dir_all(folder).map_err(|error| Failed(format!("cannot make {FOLDER}: {error}")))?;
    let mut found = there(folder)?;
    if found.len() < 2 {
        let mut numbers = offered()?;
        if numbers.len() < 2 && succeeds("test", &["-w", "/var/lib/apt/lists"]) {
            // The lists of a fresh machine are empty or old.
            program("apt-get", &["update", "--quiet"])?;
            numbers = offered()?;
        }
        let [.., older, newer] = numbers.as_slice() else {
            let remedy = "run `apt-get update`, or put two packages linux-image-6.1.0-*-amd64_*.deb there";
            return Err(Failed(format!("this machine's archive has no two Debian kernels for {FOLDER}; {remedy}")));
        };
        for number in [older, newer] {
            eprintln!("fetching {PREFIX}{number}{SUFFIX}, a kernel that virtual hosts boot (70 MB)");
            program_in(folder, "apt-get", &["download", "--quiet", &format!("{PREFIX}{number}{SUFFIX}")])?;
        }
        found = there(folder)?;
    }
    let packages: Vec<PathBuf> = found.into_iter().map(|(_, path)| path).collect();
    match packages.as_slice() {
        [.., older, newer] => Ok([older.clone(), newer.clone()]),
        _ => Err(Failed(format!("two kernels were fetched, but {FOLDER} does not have them; empty it and try again"))),
    }
}

/// Numbers of the kernels that the archive has, as far as this machine knows.
fn offered() -> Result<Vec<u32>, Failed> {
    let listed = output("apt-cache", &["search", "--names-only", "^linux-image-6[.]1[.]0-[0-9]+-amd64$"])?;
    let mut numbers: Vec<u32> = listed.lines().filter_map(|line| number(line.split_whitespace().next()?)).collect();
    numbers.sort_unstable();
    numbers.dedup();
    Ok(numbers)
}

/// Packages in the folder by their number.
fn there(folder: &Path) -> Result<Vec<(u32, PathBuf)>, Failed> {
    let entries = std::fs::read_dir(folder).map_err(|error| Failed(format!("cannot read {FOLDER}: {error}")))?;
    let mut found: Vec<(u32, PathBuf)> = entries
        .flatten()
        .filter_map(|entry| {
            let path = entry.path();
            let name = path.file_name()?.to_str()?.strip_suffix(".deb")?.split('_').next()?.to_owned();
            Some((number(&name)?, path))
        })
        .collect();
    found.sort();
    Ok(found)
}

fn number(package: &str) -> Option<u32> {
    package.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_kernels_of_the_series_count() {
        assert_eq!(number("linux-image-6.1.0-57-amd64"), Some(57));
        for other in ["linux-image-6.1.0-57-cloud-amd64", "linux-image-6.1.0-57-amd64-dbg", "linux-image-6.12.117+deb12-amd64"] {
            assert_eq!(number(other), None, "{other}");
        }
    }
}
