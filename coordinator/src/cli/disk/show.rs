//! `blklab disk show`.

use std::fmt::Write as _;

use blklab_diskmodel::PRESETS;
use blklab_diskmodel::profile::{BETWEEN, Profile, left_out};
use clap::Args;

use super::{Ended, print};

/// Columns of a paragraph, as in reports.
const COLUMNS: usize = 72;

#[derive(Args)]
pub(super) struct ShowArgs {
    /// Name of a preset, or a file
    #[arg(value_name = "PRESET|FILE")]
    model: String,
    /// Print the model's file instead
    #[arg(long, conflicts_with = "json")]
    toml: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &ShowArgs) -> anyhow::Result<Ended> {
    let model = super::model(&args.model)?;
    if args.toml {
        // A preset with its comments: they say where the figures are from.
        let shipped = PRESETS.iter().find(|(name, _)| *name == args.model).map(|(_, text)| (*text).to_owned());
        print::text(&shipped.unwrap_or_else(|| model.to_toml()));
        return Ok(Ended::Well);
    }
    let profile = Profile::of(&model);
    if args.json {
        print::line(&serde_json::to_string_pretty(&profile)?);
    } else {
        print::text(&text(&profile));
    }
    Ok(Ended::Well)
}

fn text(profile: &Profile) -> String {
    let model = &profile.model;
    let mut out = String::new();
    let mut line = |text: String| writeln!(out, "{text}").expect("a String takes everything");
    line(format!("{}: {}", model.name, model.title));
    line(format!("{}\n", model.summary()));

    line("Random reads of 4 KiB by their distance from the one before, ms".into());
    line(format!("{:>14} {:>10} {:>10} {:>10}", "distance", "mean", "5 %", "95 %"));
    for at in &profile.distance {
        line(format!("{:>14} {:>10} {:>10} {:>10}", size(at.bytes), ms(at.mean_ms), ms(at.low_ms), ms(at.high_ms)));
    }

    line("\nRandom reads of 4 KiB by queue depth".into());
    line(format!("{:>14} {:>10} {:>10} {:>10} {:>10}", "at a time", "a second", "gain", "mean, ms", "99 %, ms"));
    let first = profile.depth.first().map_or(1.0, |at| at.iops);
    for at in &profile.depth {
        let gain = format!("{:.2}", at.iops / first);
        line(format!("{:>14} {:>10.0} {gain:>10} {:>10} {:>10}", at.depth, at.iops, ms(at.mean_ms), ms(at.p99_ms)));
    }

    line("\nOther loads".into());
    line(format!("{:<40} {:>10} {:>10} {:>10}", "", "a second", "MB/s", "mean, ms"));
    for load in &profile.loads {
        line(format!("{:<40} {:>10.0} {:>10.1} {:>10}", load.name, load.iops, load.mb_s, ms(load.mean_ms)));
    }

    line("\nWhat it leaves out".into());
    for sentence in left_out(model).iter().chain(&BETWEEN) {
        line(wrapped(sentence));
    }
    out
}

/// Three significant digits for what may be microseconds.
fn ms(value: f64) -> String {
    if value < 1.0 { format!("{value:.3}") } else { format!("{value:.2}") }
}

fn size(bytes: u64) -> String {
    match bytes {
        bytes if bytes >= 1 << 30 => format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30)),
        bytes if bytes >= 1 << 20 => format!("{} MiB", bytes >> 20),
        bytes => format!("{} KiB", bytes >> 10),
    }
}

/// An item of a list.
fn wrapped(sentence: &str) -> String {
    let mut lines = vec![String::from("-")];
    for word in sentence.split_whitespace() {
        let last = lines.last_mut().expect("there is a line");
        if last.chars().count() + 1 + word.chars().count() > COLUMNS {
            lines.push(format!("  {word}"));
        } else {
            last.push(' ');
            last.push_str(word);
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use blklab_diskmodel::DiskModel;

    #[test]
    fn a_hard_disk_in_words() {
        insta::assert_snapshot!(text(&Profile::of(&DiskModel::preset("sata-hdd").unwrap())));
    }

    #[test]
    fn lists_are_as_wide_as_reports() {
        for (name, _) in PRESETS {
            for sentence in left_out(&DiskModel::preset(name).unwrap()).iter().chain(&BETWEEN) {
                assert!(wrapped(sentence).lines().all(|line| line.chars().count() <= COLUMNS), "{sentence}");
            }
        }
    }
}
