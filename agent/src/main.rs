//! `blklab-agent`: see [`blklab_agent::cli`].

fn main() -> std::process::ExitCode {
    blklab_agent::cli::main()
}
