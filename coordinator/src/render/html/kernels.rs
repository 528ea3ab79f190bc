//! `/kernels` and `/kernels/NAME`: what the lab can boot, and where each of it comes from.

use askama::Template;
use blklab_model::kernel::{Blob, KernelSource};
use blklab_model::time::TimestampMs;
use blklab_wire::people::{BuildLine, KernelLine};

use super::builds::BuildRow;
use crate::render::kernel::source;
use crate::render::number::bytes;
use crate::render::when::When;

/// Experiments named for each kernel of the list.
const MAX_EXAMPLES: usize = 3;

/// All kernels.
#[derive(Template)]
#[template(path = "kernels/list.html")]
pub struct KernelsPage {
    kernels: Vec<KernelRow>,
    builds: Vec<BuildRow>,
}

/// One kernel.
#[derive(Template)]
#[template(path = "kernels/one.html")]
pub struct KernelPage {
    name: String,
    source: &'static str,
    facts: Vec<(&'static str, String)>,
    patches: Vec<String>,
    files: Vec<FileRow>,
    build: Option<String>,
    experiments: Vec<String>,
    added: When,
}

/// A kernel in the list.
struct KernelRow {
    name: String,
    release: String,
    source: String,
    id: String,
    build_id: String,
    size: String,
    added: When,
    experiments: Vec<String>,
    more: usize,
}

/// A file of a kernel.
struct FileRow {
    what: &'static str,
    url: String,
    size: String,
    sha256: String,
}

impl KernelsPage {
    /// From the kernels, the newest first, and the newest builds.
    pub fn new(kernels: &[KernelLine], builds: &[BuildLine], now: TimestampMs) -> KernelsPage {
        KernelsPage {
            kernels: kernels.iter().map(|line| KernelRow::new(line, now)).collect(),
            builds: builds.iter().map(|line| BuildRow::new(line, now)).collect(),
        }
    }
}

impl KernelRow {
    fn new(line: &KernelLine, now: TimestampMs) -> KernelRow {
        let kernel = &line.kernel;
        let size = kernel.image.bytes + kernel.modules.as_ref().map_or(0, |modules| modules.bytes);
        KernelRow {
            name: kernel.name.to_string(),
            release: kernel.release.clone(),
            source: source(&kernel.source),
            id: kernel.id.short().to_owned(),
            build_id: kernel.build_id.chars().take(12).collect(),
            size: bytes(size),
            added: When::new(kernel.created, now),
            experiments: line.experiments.iter().take(MAX_EXAMPLES).map(ToString::to_string).collect(),
            more: line.experiments.len().saturating_sub(MAX_EXAMPLES),
        }
    }
}

impl KernelPage {
    /// Everything about one kernel.
    pub fn new(line: &KernelLine, now: TimestampMs) -> KernelPage {
        let kernel = &line.kernel;
        let mut facts = vec![
            ("release", kernel.release.clone()),
            ("id", kernel.id.to_string()),
            ("build id", kernel.build_id.clone()),
            ("toolchain", kernel.toolchain.clone()),
            ("command line", kernel.arguments.clone()),
        ];
        let (source, patches) = match &kernel.source {
            KernelSource::Package { package, version } => {
                facts.extend([("package", package.clone()), ("version", version.clone())]);
                ("from a package", Vec::new())
            }
            KernelSource::Upload { file } => {
                facts.push(("file", file.clone()));
                ("uploaded", Vec::new())
            }
            KernelSource::Git { repo, commit, tree, patches } => {
                facts.extend([("repository", repo.clone()), ("commit", commit.clone()), ("tree", tree.clone())]);
                ("built from git", patches.clone())
            }
        };
        facts.retain(|(_, value)| !value.is_empty());
        let name = kernel.name.to_string();
        let raw = |blob: &Blob| format!("/api/v1/blobs/{}", blob.sha256);
        let file = |what, blob: Option<&Blob>, url: fn(&str) -> String| {
            blob.map(|blob| FileRow { what, url: url(&name), size: bytes(blob.bytes), sha256: blob.sha256.clone() })
        };
        let image =
            FileRow { what: "image", url: raw(&kernel.image), size: bytes(kernel.image.bytes), sha256: kernel.image.sha256.clone() };
        let modules = kernel.modules.as_ref().map(|blob| FileRow {
            what: "modules",
            url: raw(blob),
            size: bytes(blob.bytes),
            sha256: blob.sha256.clone(),
        });
        let config = file("configuration", kernel.config.as_ref(), |name| format!("/kernels/{name}/config"));
        let log = file("log of its build", kernel.log.as_ref(), |name| format!("/kernels/{name}/log"));
        KernelPage {
            source,
            facts,
            patches,
            files: [Some(image), modules, config, log].into_iter().flatten().collect(),
            build: line.build.map(|build| build.to_string()),
            experiments: line.experiments.iter().map(ToString::to_string).collect(),
            added: When::new(kernel.created, now),
            name,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::testing::{self, NOW};

    #[test]
    fn kernels_and_builds_in_a_list() {
        insta::assert_snapshot!(KernelsPage::new(&testing::kernel_lines(), &testing::build_lines(), NOW).render().unwrap());
    }

    #[test]
    fn an_empty_list_says_how_to_begin() {
        let page = KernelsPage::new(&[], &[], NOW).render().unwrap();
        assert!(page.contains("blklab kernel add --deb"), "{page}");
    }

    #[test]
    fn a_kernel_from_git() {
        insta::assert_snapshot!(KernelPage::new(&testing::kernel_lines()[0], NOW).render().unwrap());
    }

    #[test]
    fn texts_of_a_kernel_stay_text() {
        let mut line = testing::kernel_lines().remove(0);
        let evil = "<script>alert(1)</script>";
        line.kernel.toolchain = evil.into();
        line.kernel.source = KernelSource::Git { repo: evil.into(), commit: evil.into(), tree: evil.into(), patches: vec![evil.into()] };
        for page in [KernelPage::new(&line, NOW).render().unwrap(), KernelsPage::new(&[line], &[], NOW).render().unwrap()] {
            assert!(!page.contains("<script>"), "{page}");
        }
    }
}
