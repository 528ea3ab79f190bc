//! The main job of a lab: two real kernels on virtual hosts, from boot to verdict.

use std::path::Path;
use std::time::Duration;

use super::super::{Ended, kernel};
use super::{DemoArgs, config, lab, measure, serve};
use crate::client::Client;

/// The tour's experiment.
const EXPERIMENT: &str = "two-kernels";

/// What the experiment calls the kernels, in the order of the command line.
const NAMES: [&str; 2] = ["older", "newer"];

/// The tools are packed, and each host boots its known-good kernel once; an emulated boot took 62 s at worst on a crowded machine.
const READY_WITHIN: Duration = Duration::from_secs(400);

pub(super) async fn tour(args: &DemoArgs, folder: &Path) -> anyhow::Result<Ended> {
    eprintln!("demo: starting three virtual hosts ...");
    let server = lab::ready(folder, config::VIRTUAL_HOSTS, READY_WITHIN).await?;
    let client = Client::new(&server.url, Some(server.token))?;
    eprintln!("demo: pages at {}/", server.url);
    for (name, package) in NAMES.iter().zip(&args.kernel) {
        let added = kernel::add_package(&client, name, package).await?;
        eprintln!("demo: kernel `{name}` is {} ({})", added.release, added.source.summary());
    }
    measure(&client, &[EXPERIMENT], args.quick).await?;
    serve(args, &server.url).await
}
