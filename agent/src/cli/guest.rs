//! `blklab-agent guest`: the agent inside a host that is booted from outside.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, ValueEnum};
use rustix::system::{RebootCommand, reboot};

use crate::guest::{self, End, channel};
use crate::sys::roots::Roots;

#[derive(Debug, Args)]
pub(super) struct GuestArgs {
    /// The line to the controller.
    #[arg(long, value_enum)]
    channel: Channel,
    /// Journal, mount point and scratch files.
    #[arg(long, value_name = "DIR", default_value = "/run/blklab")]
    state_dir: PathBuf,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Channel {
    /// A virtio-serial port.
    Port,
    /// Standard input and output.
    Stdio,
}

pub(super) fn guest(args: &GuestArgs) -> anyhow::Result<ExitCode> {
    // Messages of the agent itself belong to the console, which the controller keeps.
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_ansi(false).with_target(false).without_time().init();
    std::fs::create_dir_all(parent(&args.state_dir)).context("failed to make the state folder")?;
    let end = match args.channel {
        Channel::Port => {
            let (input, output) = channel::port(&Roots::live()).context("failed to open the line to the controller")?;
            guest::serve(input, output, args.state_dir.clone())
        }
        Channel::Stdio => {
            let (input, output) = channel::standard_streams().context("failed to take the standard streams")?;
            guest::serve(input, output, args.state_dir.clone())
        }
    };
    match end.context("the line to the controller broke")? {
        End::PowerOff => {
            rustix::fs::sync();
            reboot(RebootCommand::PowerOff).context("failed to switch off")?;
        }
        End::Disconnected => {}
    }
    Ok(ExitCode::SUCCESS)
}

fn parent(dir: &Path) -> &Path {
    dir.parent().unwrap_or(dir)
}
