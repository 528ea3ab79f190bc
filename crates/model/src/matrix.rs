//! From axes and hosts to cells. What cannot be run is listed with its reason, never dropped in silence.

pub mod memory;
mod place;

use std::collections::{BTreeMap, HashMap};

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Deserializer, Serialize};

use crate::disk::Disk;
use crate::experiment::axis::{Axis, in_words};
use crate::experiment::{Experiment, Parameters};
use crate::filesystem::Filesystem;
use crate::host::Host;
use crate::id::{DiskClass, DiskId, HostName, WorkloadName};
use crate::kernel::Kernel;
use crate::scheduler::{QueueTunables, Scheduler};
use crate::workload::Workload;
use place::Place;

/// Arms of all cells of one experiment: a page still shows that many, and a typing error does not fill the queue for a year.
pub const MAX_ARMS: usize = 20_000;

/// One value of each axis that an arm may differ in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// Kernel.
    pub kernel: Kernel,
    /// Scheduler with its tunables.
    pub scheduler: Scheduler,
    /// Tunables of the queue.
    pub tunables: QueueTunables,
    /// File system or raw.
    pub filesystem: Filesystem,
    /// Every parameter that the experiment sets for the workload.
    pub parameters: Parameters,
}

/// An arm of a cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arm {
    /// Value on the compared axis.
    pub label: String,
    /// What is set.
    pub setting: Setting,
}

/// What a cell is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CellKind {
    /// Candidates against the baseline.
    Compare,
    /// The baseline against itself: any change here is a false alarm.
    Aa,
}

/// One point of the matrix without the compared axis, on one disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// From 0, in the order of the expansion.
    pub number: u32,
    /// What it is for.
    pub kind: CellKind,
    /// Its workload.
    pub workload: WorkloadName,
    /// Its class of disks.
    pub disk_class: DiskClass,
    /// The host that measures all arms.
    pub host: HostName,
    /// The disks that measure all arms, at least one; an arm whose workload needs fewer takes the first of them.
    #[serde(alias = "disk", deserialize_with = "one_or_many")]
    pub disks: Vec<DiskId>,
    /// Axes with more than one value, but for the compared one: what tells this cell from others.
    pub labels: BTreeMap<String, String>,
    /// At least two; the first is the baseline.
    pub arms: Vec<Arm>,
}

/// A cell, or one arm of it, that cannot be run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Impossible {
    /// `rt-be-readers, sata-hdd, ext4`, with the arm where only that is meant.
    pub what: String,
    /// Why, and what would cure it.
    pub reason: String,
}

/// What a matrix comes to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Expansion {
    /// To be measured.
    pub cells: Vec<Cell>,
    /// Not to be measured.
    pub impossible: Vec<Impossible>,
}

/// A matrix that cannot be expanded at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MatrixError {
    /// A workload that nobody gave.
    #[error("unknown workload `{name}`; {help}")]
    UnknownWorkload {
        /// Its name.
        name: WorkloadName,
        /// Which there are.
        help: String,
    },
    /// A parameter that no workload of the matrix has.
    #[error("no workload of the matrix has a parameter `{name}`; {help}")]
    UnknownParameter {
        /// Its name.
        name: String,
        /// Which there are.
        help: String,
    },
    /// A value that a workload cannot use.
    #[error("workload `{workload}` with {parameters}: {reason}")]
    BadParameter {
        /// The workload.
        workload: WorkloadName,
        /// The values.
        parameters: String,
        /// What is wrong.
        reason: String,
    },
    /// More than [`MAX_ARMS`].
    #[error("the matrix has {0} combinations, more than {MAX_ARMS}; split it")]
    TooLarge(usize),
}

/// Expands `experiment` over the disks that `hosts` offer. The seed breaks ties between equally loaded disks.
pub fn expand(
    experiment: &Experiment,
    workloads: &BTreeMap<WorkloadName, Workload>,
    hosts: &[Host],
    seed: u64,
) -> Result<Expansion, MatrixError> {
    let mut expander = Expander::new(experiment, workloads, hosts, seed)?;
    let points = expander.points()?;
    let mut expansion = Expansion::default();
    for point in points {
        expander.place(point, &mut expansion);
    }
    expander.add_aa_cells(&mut expansion);
    for (number, cell) in expansion.cells.iter_mut().enumerate() {
        cell.number = u32::try_from(number).expect("no more cells than MAX_ARMS");
    }
    Ok(expansion)
}

/// A cell before it has a disk.
struct Point<'a> {
    workload: &'a Workload,
    disk_class: &'a DiskClass,
    labels: BTreeMap<String, String>,
    arms: Vec<Arm>,
}

/// Points of one workload and class, found by their labels.
struct Points<'a> {
    list: Vec<Point<'a>>,
    by_labels: HashMap<BTreeMap<String, String>, usize>,
}

struct Expander<'a> {
    experiment: &'a Experiment,
    workloads: &'a BTreeMap<WorkloadName, Workload>,
    disks: Vec<(&'a Host, &'a Disk)>,
    load: place::Load,
    rng: ChaCha8Rng,
}

impl<'a> Expander<'a> {
    fn new(
        experiment: &'a Experiment,
        workloads: &'a BTreeMap<WorkloadName, Workload>,
        hosts: &'a [Host],
        seed: u64,
    ) -> Result<Self, MatrixError> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut disks: Vec<_> = hosts.iter().flat_map(|host| host.disks.iter().map(move |disk| (host, disk))).collect();
        disks.shuffle(&mut rng);
        let expander = Expander { experiment, workloads, disks, load: HashMap::new(), rng };
        expander.check_names()?;
        Ok(expander)
    }

    fn check_names(&self) -> Result<(), MatrixError> {
        let mut known = std::collections::BTreeSet::new();
        for name in &self.experiment.matrix.workloads {
            let workload = self.workloads.get(name).ok_or_else(|| MatrixError::UnknownWorkload {
                name: name.clone(),
                help: crate::source::suggest(name.as_str(), self.workloads.keys().map(WorkloadName::as_str)),
            })?;
            known.extend(workload.parameters.keys().map(String::as_str));
        }
        let fixed = self.experiment.parameters_by_disk_class.values().chain([&self.experiment.parameters]).flat_map(|p| p.keys());
        match fixed.chain(self.experiment.matrix.parameters.keys()).find(|name| !known.contains(name.as_str())) {
            Some(name) => {
                Err(MatrixError::UnknownParameter { name: name.clone(), help: crate::source::suggest(name, known.iter().copied()) })
            }
            None => Ok(()),
        }
    }

    /// The cross product. Axes that do not vary are left out of the labels, and a swept parameter that a workload does not have
    /// is left out for it, so that no cell is measured twice.
    fn points(&self) -> Result<Vec<Point<'a>>, MatrixError> {
        self.check_size()?;
        let mut points = Vec::new();
        for name in &self.experiment.matrix.workloads {
            let workload = &self.workloads[name];
            let swept = self.swept(workload);
            for disk_class in &self.experiment.matrix.disk_classes {
                points.extend(self.settings(workload, disk_class, &swept)?);
            }
        }
        Ok(points)
    }

    /// Counted before anything is multiplied out: a short file can ask for more than a memory holds.
    fn check_size(&self) -> Result<(), MatrixError> {
        let matrix = &self.experiment.matrix;
        let axes =
            [matrix.kernels.len(), matrix.schedulers.len(), matrix.tunables.len(), matrix.filesystems.len(), matrix.disk_classes.len()];
        let each = axes.into_iter().fold(1usize, usize::saturating_mul);
        let of = |workload: &Workload| self.swept(workload).iter().fold(each, |product, (_, values)| product.saturating_mul(values.len()));
        let all = matrix.workloads.iter().map(|name| of(&self.workloads[name])).fold(0usize, usize::saturating_add);
        if all > MAX_ARMS { Err(MatrixError::TooLarge(all)) } else { Ok(()) }
    }

    fn swept(&self, workload: &Workload) -> Vec<(&'a String, &'a Vec<String>)> {
        let parameters = self.experiment.matrix.parameters.iter();
        parameters.filter(|(name, _)| workload.parameters.contains_key(*name)).collect()
    }

    fn settings(
        &self,
        workload: &'a Workload,
        disk_class: &'a DiskClass,
        swept: &[(&String, &Vec<String>)],
    ) -> Result<Vec<Point<'a>>, MatrixError> {
        let matrix = &self.experiment.matrix;
        let mut fixed = self.experiment.parameters.clone();
        fixed.extend(self.experiment.parameters_by_disk_class.get(disk_class).cloned().unwrap_or_default());
        fixed.retain(|name, _| workload.parameters.contains_key(name));
        let mut points = Points { list: Vec::new(), by_labels: HashMap::new() };
        for kernel in &matrix.kernels {
            for scheduler in &matrix.schedulers {
                for tunables in &matrix.tunables {
                    for filesystem in self.filesystems(workload) {
                        for parameters in product(swept, &fixed) {
                            let setting = Setting {
                                kernel: kernel.clone(),
                                scheduler: scheduler.clone(),
                                tunables: tunables.clone(),
                                filesystem: filesystem.clone(),
                                parameters,
                            };
                            check_parameters(workload, &setting.parameters)?;
                            self.add_arm(&mut points, workload, disk_class, swept, setting);
                        }
                    }
                }
            }
        }
        let mut points = points.list;
        for point in &mut points {
            // The baseline comes first; the others keep the order of the file.
            point.arms.sort_by_key(|arm| arm.label != self.experiment.baseline);
        }
        Ok(points)
    }

    /// Those that the workload can use. A guard suite on a file system may stand beside a question about the raw disk, so what does not fit
    /// is left out where something else does; where nothing does, or file systems are compared, all are tried and the reason is told.
    fn filesystems(&self, workload: &Workload) -> Vec<&'a Filesystem> {
        let all = &self.experiment.matrix.filesystems;
        let fitting: Vec<&Filesystem> = all.iter().filter(|filesystem| workload.needs.target.fits(&filesystem.format)).collect();
        if fitting.is_empty() || self.experiment.compare == Axis::Filesystem { all.iter().collect() } else { fitting }
    }

    fn add_arm(
        &self,
        points: &mut Points<'a>,
        workload: &'a Workload,
        disk_class: &'a DiskClass,
        swept: &[(&String, &Vec<String>)],
        setting: Setting,
    ) {
        let matrix = &self.experiment.matrix;
        let mut axes = vec![
            (Axis::Kernel, setting.kernel.label().to_owned()),
            (Axis::Scheduler, setting.scheduler.label.clone()),
            (Axis::Tunables, setting.tunables.label.clone()),
            (Axis::Filesystem, setting.filesystem.label.clone()),
        ];
        axes.extend(swept.iter().map(|(name, _)| (Axis::Parameter((*name).clone()), setting.parameters[*name].clone())));
        let mut label = String::new();
        let mut labels = BTreeMap::new();
        for (axis, value) in axes {
            if axis == self.experiment.compare {
                label = value;
            } else if matrix.labels(&axis).len() > 1 {
                labels.insert(axis.to_string(), value);
            }
        }
        let arm = Arm { label, setting };
        let at = *points.by_labels.entry(labels.clone()).or_insert(points.list.len());
        match points.list.get_mut(at) {
            Some(point) => point.arms.push(arm),
            None => points.list.push(Point { workload, disk_class, labels, arms: vec![arm] }),
        }
    }

    /// Gives a point the least loaded disks that can run it.
    fn place(&mut self, mut point: Point<'a>, expansion: &mut Expansion) {
        let what = point.name();
        let place = match place::find(&point, &self.disks, &self.load, self.experiment.clock) {
            Ok(place) => place,
            Err(reason) => {
                expansion.impossible.push(Impossible { what, reason });
                return;
            }
        };
        point.drop_impossible_arms(&place, &self.experiment.baseline, expansion);
        let alone = point.arms.len() < 2 && self.experiment.aa_cells == 0;
        if point.arms.is_empty() || alone || point.arms[0].label != self.experiment.baseline {
            let reason = format!("too few arms are left to compare with the baseline `{}`", self.experiment.baseline);
            expansion.impossible.push(Impossible { what, reason });
            return;
        }
        for disk in &place.disks {
            *self.load.entry((place.host.name.clone(), disk.id.clone())).or_default() += point.arms.len();
        }
        expansion.cells.push(point.into_cell(&place));
    }

    /// Copies some cells with the baseline in both arms. Cells with a single arm were only there to be copied.
    fn add_aa_cells(&mut self, expansion: &mut Expansion) {
        let mut order: Vec<usize> = (0..expansion.cells.len()).collect();
        order.shuffle(&mut self.rng);
        let wanted = usize::try_from(self.experiment.aa_cells).unwrap_or(usize::MAX);
        let mut copies: Vec<Cell> = Vec::new();
        for &index in order.iter().take(wanted) {
            let cell = &expansion.cells[index];
            let twin = |suffix: &str| Arm { label: format!("{} ({suffix})", cell.arms[0].label), setting: cell.arms[0].setting.clone() };
            copies.push(Cell { kind: CellKind::Aa, arms: vec![twin("A"), twin("B")], ..cell.clone() });
        }
        expansion.cells.retain(|cell| cell.arms.len() > 1);
        expansion.cells.extend(copies);
    }
}

impl Point<'_> {
    fn name(&self) -> String {
        let mut words = vec![self.workload.name.to_string(), self.disk_class.to_string()];
        words.extend(self.labels.iter().map(|(axis, value)| in_words(axis, value)));
        words.join(", ")
    }

    /// Disks that every arm can have.
    fn disks(&self) -> usize {
        let of_arm = |arm: &Arm| self.workload.disks_with(&arm.setting.parameters);
        self.arms.iter().map(of_arm).max().unwrap_or(1) as usize
    }

    fn drop_impossible_arms(&mut self, place: &Place<'_>, baseline: &str, expansion: &mut Expansion) {
        let name = self.name();
        self.arms.retain(|arm| match place::arm_refusal(arm, self.workload, place) {
            None => true,
            Some(reason) => {
                let role = if arm.label == baseline { " (baseline)" } else { "" };
                expansion.impossible.push(Impossible { what: format!("{name}: {}{role}", arm.label), reason });
                false
            }
        });
    }

    fn into_cell(self, place: &Place<'_>) -> Cell {
        Cell {
            number: 0,
            kind: CellKind::Compare,
            workload: self.workload.name.clone(),
            disk_class: self.disk_class.clone(),
            host: place.host.name.clone(),
            disks: place.disks.iter().map(|disk| disk.id.clone()).collect(),
            labels: self.labels,
            arms: self.arms,
        }
    }
}

/// Cells that were planned when a trial had one disk say `"disk": "ID"`.
fn one_or_many<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<DiskId>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum OneOrMany {
        One(DiskId),
        Many(Vec<DiskId>),
    }
    Ok(match OneOrMany::deserialize(deserializer)? {
        OneOrMany::One(disk) => vec![disk],
        OneOrMany::Many(disks) => disks,
    })
}

fn check_parameters(workload: &Workload, parameters: &Parameters) -> Result<(), MatrixError> {
    workload.resolve(parameters, 0).map(|_| ()).map_err(|error| MatrixError::BadParameter {
        workload: workload.name.clone(),
        parameters: crate::scheduler::tunables_label(parameters),
        reason: error.to_string(),
    })
}

/// Every combination of the swept values, over the fixed ones.
fn product(swept: &[(&String, &Vec<String>)], fixed: &Parameters) -> Vec<Parameters> {
    swept.iter().fold(vec![fixed.clone()], |combinations, (name, values)| {
        let with = |base: &Parameters, value: &String| {
            let mut combination = base.clone();
            combination.insert((*name).clone(), value.clone());
            combination
        };
        combinations.iter().flat_map(|base| values.iter().map(move |value| with(base, value))).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::DiskHealth;
    use crate::kernel::Clock;
    use crate::testing::{experiment, host, id, workloads};

    fn reasons(expansion: &Expansion) -> String {
        expansion.impossible.iter().map(|i| format!("{}: {}\n", i.what, i.reason)).collect()
    }

    #[test]
    fn arms_share_a_disk_and_the_baseline_comes_first() {
        let asked = experiment(&[("rounds = 6", "rounds = 6\nbaseline = \"bfq\""), ("[\"sata-hdd\"]", "[\"sata-hdd\", \"ssd\"]")]);
        let expansion = expand(&asked, &workloads(&["reader"]), &[host("a", &["sata-hdd", "ssd"])], 1).unwrap();
        assert_eq!(reasons(&expansion), "");
        assert_eq!(expansion.cells.len(), 2);
        for cell in &expansion.cells {
            assert_eq!(cell.arms.iter().map(|arm| arm.label.as_str()).collect::<Vec<_>>(), ["bfq", "none"]);
        }
    }

    #[test]
    fn any_axis_can_be_compared() {
        let axes = [
            ("filesystem", ("[\"ext4\"]", "[\"ext4\", \"xfs\"]")),
            ("parameters.size", ("[matrix]", "[matrix]\nparameters.size = [\"1M\", \"2M\", \"4M\"]")),
            ("tunables", ("[matrix]", "[matrix]\ntunables = [{ read_ahead_kb = 128 }, { read_ahead_kb = 4096 }]")),
        ];
        for (axis, change) in axes {
            let asked = experiment(&[("\"scheduler\"", &format!("\"{axis}\"")), change]);
            let expansion = expand(&asked, &workloads(&["reader"]), &[host("a", &["sata-hdd"])], 1).unwrap();
            assert_eq!(expansion.cells.len(), 2, "{axis}: a cell for each scheduler");
            assert!(expansion.cells.iter().all(|cell| cell.labels.keys().eq(["scheduler"])), "{axis}");
        }
    }

    #[test]
    fn cells_spread_over_the_disks_of_a_class() {
        let asked = experiment(&[("rounds = 6", "rounds = 6"), ("[\"ext4\"]", "[\"ext4\", \"xfs\"]")]);
        let hosts = [host("a", &["sata-hdd"]), host("b", &["sata-hdd"])];
        let expansion = expand(&asked, &workloads(&["reader"]), &hosts, 1).unwrap();
        let mut used: Vec<_> = expansion.cells.iter().map(|cell| cell.host.as_str()).collect();
        used.sort_unstable();
        assert_eq!(used, ["a", "b"]);
    }

    #[test]
    fn what_is_impossible_is_listed_with_its_reason() {
        let mut poor = host("poor", &["ssd"]);
        poor.disks[0].facts.schedulers = vec!["none".into(), "mq-deadline".into()];
        let mut tiny = host("tiny", &["nvme"]);
        tiny.disks[0].facts.size_bytes = 1 << 20;
        let mut bare = host("bare", &["fc"]);
        bare.facts.tools.clear();
        let mut sick = host("sick", &["old"]);
        sick.disks[0].health = DiskHealth::Refused { reason: "mounted on /home".into() };
        let asked =
            experiment(&[("[\"sata-hdd\"]", "[\"sata-hdd\", \"ssd\", \"nvme\", \"fc\", \"old\"]"), ("[\"ext4\"]", "[\"ext4\", \"raw\"]")]);
        let expansion = expand(&asked, &workloads(&["reader"]), &[poor, tiny, bare, sick], 1).unwrap();
        assert_eq!(expansion.cells.len(), 0);
        insta::assert_snapshot!(reasons(&expansion));
    }

    #[test]
    fn a_guard_on_a_file_system_stands_beside_a_question_about_the_raw_disk() {
        let both = ("[\"ext4\"]", "[\"raw\", \"xfs\", \"ext4\"]");
        let hosts = [host("a", &["sata-hdd"])];
        let mut workloads = workloads(&["reader", "guard"]);
        workloads.get_mut(&id("reader")).unwrap().needs.target = crate::workload::Target::Raw;
        let asked = experiment(&[both, ("[\"reader\"]", "[\"reader\", \"guard\"]")]);
        let expansion = expand(&asked, &workloads, &hosts, 1).unwrap();
        let found: Vec<_> = expansion.cells.iter().map(|cell| (cell.workload.as_str(), cell.labels["filesystem"].as_str())).collect();
        assert_eq!(found, [("reader", "raw"), ("guard", "xfs"), ("guard", "ext4")]);
        assert_eq!(expansion.impossible, []);

        let raw_only = experiment(&[("[\"ext4\"]", "[\"raw\"]"), ("[\"reader\"]", "[\"guard\"]")]);
        let expansion = expand(&raw_only, &workloads, &hosts, 1).unwrap();
        assert!(expansion.impossible[0].reason.contains("the cell has a raw disk"), "{:?}", expansion.impossible);
    }

    #[test]
    fn hosts_of_different_clocks_are_never_mixed() {
        let mut virtual_host = host("virtual", &["sata-hdd"]);
        virtual_host.facts.clock = Clock::Virtual;
        let hosts = [virtual_host, host("real", &["sata-hdd"])];
        let many = ("[\"ext4\"]", "[\"ext4\", \"xfs\"]");
        for (clock, only) in [("", "real"), ("\nclock = \"virtual\"", "virtual")] {
            let asked = experiment(&[("rounds = 6", &format!("rounds = 6\naa_cells = 1{clock}")), many]);
            let expansion = expand(&asked, &workloads(&["reader"]), &hosts, 1).unwrap();
            assert_eq!(expansion.cells.len(), 3);
            assert!(expansion.cells.iter().all(|cell| cell.host.as_str() == only), "{only}");
            let alone = expand(
                &asked,
                &workloads(&["reader"]),
                &hosts.clone().map(|mut host| {
                    host.facts.clock = if only == "real" { Clock::Virtual } else { Clock::Real };
                    host
                }),
                1,
            )
            .unwrap();
            assert_eq!(alone.cells, []);
            assert!(alone.impossible[0].reason.contains("time, the experiment asks for"), "{:?}", alone.impossible);
        }
    }

    #[test]
    fn an_aa_cell_has_the_baseline_twice() {
        let asked = experiment(&[("rounds = 6", "rounds = 6\naa_cells = 1")]);
        let expansion = expand(&asked, &workloads(&["reader"]), &[host("a", &["sata-hdd"])], 1).unwrap();
        let aa: Vec<_> = expansion.cells.iter().filter(|cell| cell.kind == CellKind::Aa).collect();
        assert_eq!(aa.len(), 1);
        assert_eq!(aa[0].arms[0].setting, aa[0].arms[1].setting);
        assert_eq!(aa[0].arms[1].label, "none (B)");
        assert_eq!(aa[0].number, 1);
    }

    #[test]
    fn an_experiment_of_aa_cells_alone_is_possible() {
        let asked = experiment(&[("rounds = 6", "rounds = 6\naa_cells = 1"), ("[\"none\", \"bfq\"]", "[\"none\"]")]);
        let expansion = expand(&asked, &workloads(&["reader"]), &[host("a", &["sata-hdd"])], 1).unwrap();
        assert_eq!(expansion.cells.iter().map(|cell| cell.kind).collect::<Vec<_>>(), [CellKind::Aa]);
    }

    #[test]
    fn a_matrix_that_no_memory_holds_is_refused_at_once() {
        let values: Vec<String> = (0..60).map(|n| format!("\"{n}\"")).collect();
        let names = ["a", "b", "c", "d", "e"];
        let swept = names.map(|name| format!("parameters.{name} = [{}]\n", values.join(", "))).concat();
        let mut workloads = workloads(&["reader"]);
        let workload = workloads.get_mut(&id::<WorkloadName>("reader")).unwrap();
        for name in names {
            workload.parameters.insert(name.into(), workload.parameters["size"].clone());
        }
        let asked = experiment(&[("[matrix]\n", &format!("[matrix]\n{swept}"))]);
        let error = expand(&asked, &workloads, &[host("a", &["sata-hdd"])], 1).unwrap_err();
        assert_eq!(error.to_string(), "the matrix has 1555200000 combinations, more than 20000; split it");
    }

    #[test]
    fn names_are_checked_before_anything_is_planned() {
        let hosts = [host("a", &["sata-hdd"])];
        let unknown = expand(&experiment(&[("\"reader\"", "\"raeder\"")]), &workloads(&["reader"]), &hosts, 1).unwrap_err();
        assert_eq!(unknown.to_string(), "unknown workload `raeder`; did you mean `reader`? known: reader");
        let asked = experiment(&[("[matrix]", "[parameters]\nsiez = 1\n[matrix]")]);
        let unknown = expand(&asked, &workloads(&["reader"]), &hosts, 1).unwrap_err();
        assert_eq!(unknown.to_string(), "no workload of the matrix has a parameter `siez`; did you mean `size`? known: size");
        let asked = experiment(&[("[matrix]", "[parameters]\nsize = \"big\"\n[matrix]")]);
        assert!(matches!(expand(&asked, &workloads(&["reader"]), &hosts, 1), Err(MatrixError::BadParameter { .. })));
    }
}
