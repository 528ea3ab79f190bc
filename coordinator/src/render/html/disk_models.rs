//! `/disk-models`: what the disks of virtual hosts are made of.

use askama::Template;
use blklab_diskmodel::PRESETS;
use blklab_diskmodel::profile::{BETWEEN, DEPTHS, Profile, left_out};

use crate::render::number;
use crate::render::svg::{Axis, Curve, Point, Svg, curves};

/// Ticks of distances, in bytes.
const DISTANCE_TICKS: [f64; 6] = [1e5, 1e6, 1e7, 1e8, 1e9, 1e10];

const TIME: Axis<'static> = Axis { name: "time of a read", unit: "s" };
const RATE: Axis<'static> = Axis { name: "random reads", unit: "1/s" };
const DISTANCE: Axis<'static> = Axis { name: "distance from the read before (whole disk: 8.6 GB)", unit: "B" };
const DEPTH: Axis<'static> = Axis { name: "reads at a time", unit: "" };

/// The disk models that come with the lab.
#[derive(Template)]
#[template(path = "disk-models/page.html")]
pub struct DiskModelsPage {
    by_distance: Svg,
    by_depth: Svg,
    models: Vec<Model>,
    between: &'static [&'static str],
}

/// One of them.
struct Model {
    name: String,
    title: String,
    summary: String,
    random_read: String,
    reads_at_once: String,
    gain: String,
    stream: String,
    flushed_write: String,
    by_distance: Svg,
    by_depth: Svg,
    loads: Vec<[String; 4]>,
    file: &'static str,
    left_out: &'static [&'static str],
}

impl DiskModelsPage {
    /// Of these profiles, in their order.
    pub fn new(profiles: &[Profile]) -> DiskModelsPage {
        let all = |curve: fn(usize, &Profile) -> Curve<'_>| -> Vec<Curve<'_>> {
            profiles.iter().enumerate().map(|(look, profile)| curve(look, profile)).collect()
        };
        // Ranges of several disks would hide each other.
        let mut distances = all(distance_curve);
        distances.iter_mut().flat_map(|curve| &mut curve.points).for_each(|point| point.range = None);
        DiskModelsPage {
            by_distance: curves("Time of a random read by distance", DISTANCE, &DISTANCE_TICKS, TIME, &distances),
            by_depth: curves("Random reads a second by queue depth", DEPTH, &depth_ticks(), RATE, &all(depth_curve)),
            models: profiles.iter().enumerate().map(|(look, profile)| Model::new(look, profile)).collect(),
            between: &BETWEEN,
        }
    }
}

impl Model {
    fn new(look: usize, profile: &Profile) -> Model {
        let model = &profile.model;
        let at = |depth: u32| profile.depth.iter().find(|at| at.depth == depth);
        let load = |name: &str| profile.load(name);
        Model {
            name: model.name.clone(),
            title: model.title.clone(),
            summary: model.summary(),
            random_read: at(1).map_or("-".to_owned(), |at| time(at.mean_ms)),
            reads_at_once: at(32).map_or("-".to_owned(), |at| count(at.iops)),
            gain: format!("{:.1}", profile.depth_gain()),
            stream: load("sequential read, 128 KiB").map_or("-".to_owned(), |load| rate(load.mb_s)),
            flushed_write: load("random write, 4 KiB, and a flush").map_or("-".to_owned(), |load| time(load.mean_ms)),
            by_distance: curves(
                &format!("{}: time of a random read by distance", model.name),
                DISTANCE,
                &DISTANCE_TICKS,
                TIME,
                &[distance_curve(look, profile)],
            ),
            by_depth: curves(
                &format!("{}: random reads a second by queue depth", model.name),
                DEPTH,
                &depth_ticks(),
                RATE,
                &[depth_curve(look, profile)],
            ),
            loads: profile.loads.iter().map(|load| [load.name.to_owned(), count(load.iops), rate(load.mb_s), time(load.mean_ms)]).collect(),
            file: PRESETS.iter().find(|(name, _)| *name == model.name).map_or("", |(_, text)| text),
            left_out: left_out(model),
        }
    }
}

fn distance_curve(look: usize, profile: &Profile) -> Curve<'_> {
    let point = |at: &blklab_diskmodel::profile::AtDistance| Point {
        x: at.bytes as f64,
        y: at.mean_ms / 1e3,
        range: Some((at.low_ms / 1e3, at.high_ms / 1e3)),
    };
    Curve { label: &profile.model.name, look, points: profile.distance.iter().map(point).collect() }
}

fn depth_curve(look: usize, profile: &Profile) -> Curve<'_> {
    let points = profile.depth.iter().map(|at| Point { x: f64::from(at.depth), y: at.iops, range: None }).collect();
    Curve { label: &profile.model.name, look, points }
}

fn depth_ticks() -> Vec<f64> {
    DEPTHS.iter().map(|depth| f64::from(*depth)).collect()
}

fn time(ms: f64) -> String {
    number::quantity(ms / 1e3, "s")
}

fn rate(mb_s: f64) -> String {
    number::quantity(mb_s * 1e6, "B/s")
}

/// Requests a second, whole ones.
fn count(iops: f64) -> String {
    format!("{iops:.0}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use blklab_diskmodel::DiskModel;

    #[test]
    fn every_preset_has_its_plots_its_file_and_its_limits() {
        let profiles: Vec<Profile> =
            PRESETS.iter().filter_map(|(name, _)| DiskModel::preset(name)).map(|model| Profile::of(&model)).collect();
        let html = DiskModelsPage::new(&profiles).render().unwrap();
        assert_eq!(html.matches("<svg").count(), 2 + 2 * PRESETS.len());
        for (name, _) in PRESETS {
            assert!(html.contains(&format!("id=\"{name}\"")), "{name}");
        }
        assert!(html.contains("average_seek_ms = 8.5") && html.contains("MAX_NBD_REQUESTS"));
        assert_eq!(html.matches("What it leaves out").count(), PRESETS.len());
    }
}
