//! `blklab completions`.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::{Cli, Ended, print};

#[derive(Args)]
#[command(after_help = "Example: blklab completions bash > /etc/bash_completion.d/blklab")]
pub(super) struct CompletionsArgs {
    /// Which shell
    #[arg(value_enum)]
    shell: Shell,
}

pub(super) fn run(args: CompletionsArgs) -> anyhow::Result<Ended> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "blklab", &mut script);
    print::text(&String::from_utf8_lossy(&script));
    Ok(Ended::Well)
}
