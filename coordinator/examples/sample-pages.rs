//! Writes every page over the sample reports into a folder, to look at without a lab:
//! `cargo run -p blklab-coordinator --features test-support --example sample-pages -- FOLDER`, then serve the folder.

use std::path::{Path, PathBuf};

use askama::Template;
use blklab_coordinator::render::html::builds::{BuildPage, BuildsPage};
use blklab_coordinator::render::html::cell::CellPage;
use blklab_coordinator::render::html::disk_models::DiskModelsPage;
use blklab_coordinator::render::html::error::ErrorPage;
use blklab_coordinator::render::html::experiment::ExperimentPage;
use blklab_coordinator::render::html::home::{HomePage, Part};
use blklab_coordinator::render::html::hosts::{HostPage, HostsPage};
use blklab_coordinator::render::html::kernels::{KernelPage, KernelsPage};
use blklab_coordinator::render::html::method::MethodPage;
use blklab_coordinator::render::html::queue::QueuePage;
use blklab_coordinator::render::testing::{self, NOW};
use blklab_coordinator::render::{csv, text};
use blklab_stats::Policy;
use blklab_wire::people::HostDetails;

type Done = Result<(), Box<dyn std::error::Error>>;

fn main() -> Done {
    let folder = PathBuf::from(std::env::args().nth(1).ok_or("failed to start: give a folder to write to")?);
    for (name, content) in [
        ("style.css", include_str!("../assets/style.css")),
        ("live.js", include_str!("../assets/live.js")),
        ("favicon.svg", include_str!("../assets/favicon.svg")),
    ] {
        write(&folder, &format!("assets/{name}"), content)?;
    }
    let under_way = testing::under_way();
    let open = [testing::line(&under_way)];
    let recent = [testing::line(&testing::schedulers()), testing::line(&testing::classic()), testing::line(&testing::hostile())];
    let hosts = testing::hosts();
    page(&folder, "", &HomePage::new(&open, Part { lines: &recent, has_newer: false, has_older: true }, &hosts, NOW))?;
    page(&folder, "empty", &HomePage::new(&[], Part { lines: &[], has_newer: false, has_older: false }, &[], NOW))?;
    page(&folder, "queue", &QueuePage::new(&open, NOW))?;
    page(&folder, "hosts", &HostsPage::new(&hosts, NOW))?;
    for host in &hosts {
        let details = HostDetails { line: host.clone(), boots: Vec::new() };
        page(&folder, &format!("hosts/{}", host.host.name), &HostPage::new(&details, NOW))?;
    }
    page(&folder, "hosts/vm-1", &HostPage::new(&testing::booting_host(), NOW))?;
    let kernels = testing::kernel_lines();
    page(&folder, "kernels", &KernelsPage::new(&kernels, &testing::build_lines(), NOW))?;
    for line in &kernels {
        page(&folder, &format!("kernels/{}", line.kernel.name), &KernelPage::new(line, NOW))?;
    }
    page(&folder, "builds", &BuildsPage::new(&testing::build_lines(), false, NOW))?;
    let log = "  CC      block/bfq-iosched.o\n".repeat(12);
    page(&folder, "builds/b3", &BuildPage::new(&testing::failed_build(), Some((log, true)), NOW))?;
    let presets = blklab_diskmodel::PRESETS.iter().filter_map(|(name, _)| blklab_diskmodel::DiskModel::preset(name));
    let profiles: Vec<_> = presets.map(|model| blklab_diskmodel::profile::Profile::of(&model)).collect();
    page(&folder, "disk-models", &DiskModelsPage::new(&profiles))?;
    page(&folder, "method", &MethodPage::new(Policy::default()))?;
    page(&folder, "error", &ErrorPage { status: 404, error: "there is no experiment x99", help: "look at the list of experiments" })?;
    for report in testing::all() {
        let live = testing::progress(&report);
        let under_way = !report.state.is_over();
        let at = if under_way { "experiments/under-way".to_owned() } else { format!("experiments/{}", report.id) };
        page(&folder, &at, &ExperimentPage::new(&report, under_way.then_some(&live), NOW))?;
        write(&folder, &format!("{at}.txt"), &text::render(&report, "http://lab.example.org:8080"))?;
        write(&folder, &format!("{at}.csv"), &csv::experiment(&report))?;
        for cell in &report.cells {
            let number = cell.id.cell;
            let sheet = CellPage::new(&report, number, NOW).ok_or("failed to find a cell of the report")?;
            page(&folder, &format!("{at}/cells/{number}"), &sheet)?;
        }
    }
    Ok(())
}

fn page(folder: &Path, at: &str, template: &impl Template) -> Done {
    write(folder, format!("{at}/index.html").trim_start_matches('/'), &template.render()?)
}

fn write(folder: &Path, name: &str, content: &str) -> Done {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().ok_or("failed to write: no folder")?)?;
    std::fs::write(path, content)?;
    Ok(())
}
