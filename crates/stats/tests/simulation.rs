//! Simulations with known answers: what the method promises must come out at the promised rate.
//! Seeds are fixed, so a failure is a change of the method and never bad luck. Bounds are the promise
//! plus about three standard errors of the number of trials.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use blklab_stats::{Arm, Better, Comparison, Design, Policy, Verdict, compare, judge, logs, paired, two_modes, welch};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// A machine: draws measurements in seconds around 1.
struct Machine(ChaCha8Rng);

/// Noise models of the method's own simulation.
#[derive(Debug, Clone, Copy)]
enum Noise {
    /// Normal with this coefficient of variation.
    Normal(f64),
    /// Lognormal with this standard deviation of the logs.
    Lognormal(f64),
    /// Normal 2 %, and 5 % of the runs take three times as long.
    Outliers,
    /// Normal 2 %, and 30 % of the runs take a path 1.93 times slower.
    Bimodal,
}

const ALL_NOISE: [Noise; 5] = [Noise::Normal(0.02), Noise::Normal(0.08), Noise::Lognormal(0.25), Noise::Outliers, Noise::Bimodal];

impl Machine {
    fn new(seed: u64) -> Machine {
        Machine(ChaCha8Rng::seed_from_u64(seed))
    }

    /// Uniform in 0 to 1, both ends excluded.
    fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }

    /// Standard normal (Box and Muller 1958).
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    fn run(&mut self, noise: Noise) -> f64 {
        match noise {
            Noise::Normal(cv) => (1.0 + cv * self.normal()).max(0.01),
            Noise::Lognormal(sd) => (sd * self.normal()).exp(),
            Noise::Outliers => {
                let slow = if self.uniform() < 0.05 { 3.0 } else { 1.0 };
                slow * self.run(Noise::Normal(0.02))
            }
            Noise::Bimodal => {
                let slow = if self.uniform() < 0.3 { 1.93 } else { 1.0 };
                slow * self.run(Noise::Normal(0.02))
            }
        }
    }

    fn arm(&mut self, noise: Noise, n: usize, factor: f64) -> Vec<f64> {
        (0..n).map(|_| factor * self.run(noise)).collect()
    }

    /// A comparison of `n` randomised pairs; the patched arm takes `factor` times as long.
    fn cell(&mut self, noise: Noise, n: usize, factor: f64) -> Comparison {
        let (base, patched) = (self.arm(noise, n, 1.0), self.arm(noise, n, factor));
        let options = Policy::default().options();
        compare(&base, &patched, Design::RANDOMISED_PAIRS, options).unwrap()
    }
}

/// Share of `trials` in which something happens, in percent.
fn percent_of(trials: u32, mut happens: impl FnMut() -> bool) -> f64 {
    let count = (0..trials).filter(|_| happens()).count();
    100.0 * count as f64 / f64::from(trials)
}

fn verdict(comparison: &Comparison) -> Verdict {
    judge(comparison, Better::Lower, &Policy::default()).verdict
}

fn assert_between(what: &str, got: f64, low: f64, high: f64) {
    assert!((low..=high).contains(&got), "{what}: {got} is not within {low} to {high}");
}

/// The same build under two labels: the combined p stays at or below its nominal 5 % under every noise
/// (and is not dead either), and the effect gate makes suspicions rarer still.
#[test]
fn a_against_a_stays_silent() {
    const TRIALS: u32 = 1_000;
    for noise in ALL_NOISE {
        for n in [5, 10] {
            let mut machine = Machine::new(17 + n as u64);
            let (mut significant, mut suspect) = (0, 0);
            for _ in 0..TRIALS {
                let cell = machine.cell(noise, n, 1.0);
                significant += u32::from(cell.p_combined.unwrap() <= 0.05);
                let word = verdict(&cell);
                suspect += u32::from(matches!(word, Verdict::SuspectRegression | Verdict::SuspectImprovement));
            }
            let share = |count: u32| 100.0 * f64::from(count) / f64::from(TRIALS);
            let what = format!("{noise:?}, n {n}, significant");
            assert_between(&what, share(significant), 1.0, 5.0 + 1.0);
            assert!(suspect <= significant);
            if matches!(noise, Noise::Normal(cv) if cv < 0.05) {
                assert_eq!(suspect, 0, "a gate of 5 % at a noise of 2 %, n {n}");
            }
        }
    }
}

/// Linear drift of 10 % over the period: pairs in random order keep their level, all of base before
/// all of patched gives a false alarm nearly every time.
#[test]
fn randomised_pairs_survive_a_drift_that_ruins_sequential_runs() {
    const TRIALS: u32 = 3_000;
    for n in [5, 10] {
        let mut machine = Machine::new(23);
        let drifting = |machine: &mut Machine, slot: usize| {
            let level = 1.0 + 0.10 * slot as f64 / (2 * n - 1) as f64;
            level * machine.run(Noise::Normal(0.02))
        };
        let pairs = percent_of(TRIALS, || {
            let (mut base, mut patched) = (Vec::new(), Vec::new());
            for round in 0..n {
                let first = drifting(&mut machine, 2 * round).ln();
                let second = drifting(&mut machine, 2 * round + 1).ln();
                let base_first = machine.uniform() < 0.5;
                base.push(if base_first { first } else { second });
                patched.push(if base_first { second } else { first });
            }
            paired(&base, &patched, 0.0).unwrap().p <= 0.05
        });
        let sequential = percent_of(TRIALS, || {
            let slots =
                |machine: &mut Machine, from: usize| -> Vec<f64> { (from..from + n).map(|slot| drifting(machine, slot).ln()).collect() };
            let (base, patched) = (slots(&mut machine, 0), slots(&mut machine, n));
            welch(&base, &patched).unwrap().p <= 0.05
        });
        assert_between(&format!("random pairs, n {n}"), pairs, 3.8, 6.2);
        assert_between(&format!("base then patched, n {n}"), sequential, 80.0, 100.0);
    }
}

/// The regressions that the method promises to see, +10 % here, at n where it promises them.
#[test]
fn real_regressions_are_suspected() {
    const TRIALS: u32 = 400;
    for (noise, n, at_least) in [(Noise::Normal(0.02), 5, 99.0), (Noise::Outliers, 10, 90.0), (Noise::Normal(0.08), 20, 90.0)] {
        let mut machine = Machine::new(31);
        let found = percent_of(TRIALS, || verdict(&machine.cell(noise, n, 1.10)) == Verdict::SuspectRegression);
        assert_between(&format!("{noise:?}, n {n}"), found, at_least, 100.0);
    }
}

/// A change just beyond the margin is called "no change" in at most 5 % of the cells, although half of
/// the cells without a change are.
#[test]
fn equivalence_is_not_claimed_for_changes_that_matter() {
    const TRIALS: u32 = 1_000;
    let mut machine = Machine::new(41);
    let noise = Noise::Normal(0.03);
    let mut claimed = |factor: f64| percent_of(TRIALS, || verdict(&machine.cell(noise, 10, factor)) == Verdict::Equivalent);
    assert_between("+5 %", claimed(1.05), 0.0, 5.0 + 2.0);
    assert_between("no change", claimed(1.0), 50.0, 100.0);
}

/// The 95 % rank interval holds the true shift in at least 95 % of the cells, whatever the noise.
#[test]
fn rank_intervals_cover() {
    const TRIALS: u32 = 800;
    for noise in ALL_NOISE {
        let mut machine = Machine::new(43);
        let truth = 1.2f64.ln();
        let covered = percent_of(TRIALS, || {
            let ci = machine.cell(noise, 8, 1.2).ci95.unwrap();
            ci.low <= truth && truth <= ci.high
        });
        assert_between(&format!("{noise:?}"), covered, 95.0 - 2.3, 100.0);
    }
}

/// A change of the size that a report prints as the smallest detectable one is detected in nearly 80 %
/// of the cells: the estimate takes the better of two noisy figures, which costs a few points.
#[test]
fn the_smallest_detectable_change_is_detected_about_four_times_in_five() {
    const TRIALS: u32 = 600;
    for (noise, n) in [(Noise::Normal(0.08), 5), (Noise::Normal(0.08), 10), (Noise::Lognormal(0.25), 20)] {
        let mut machine = Machine::new(47);
        let null_cells = (0..TRIALS).map(|_| machine.cell(noise, n, 1.0));
        let sizes = null_cells.map(|cell| cell.smallest_detectable_log.unwrap());
        let typical = sizes.sum::<f64>() / f64::from(TRIALS);
        let found = percent_of(TRIALS, || machine.cell(noise, n, typical.exp()).p_combined.unwrap() <= 0.05);
        assert_between(&format!("{noise:?}, n {n}"), found, 67.0, 88.0);
    }
}

/// More spread at the same level: seen when real, silent when not (and with outliers in both arms).
#[test]
fn variance_regressions_are_claimed_only_when_real() {
    const TRIALS: u32 = 800;
    let mut machine = Machine::new(53);
    for noise in [Noise::Normal(0.02), Noise::Normal(0.08), Noise::Outliers] {
        let silent = percent_of(TRIALS, || verdict(&machine.cell(noise, 10, 1.0)) == Verdict::VarianceRegression);
        assert_between(&format!("{noise:?}"), silent, 0.0, 1.0);
    }
    let found = percent_of(TRIALS, || {
        let base = machine.arm(Noise::Normal(0.01), 20, 1.0);
        let patched = machine.arm(Noise::Normal(0.03), 20, 1.0);
        let options = Policy::default().options();
        let cell = compare(&base, &patched, Design::RANDOMISED_PAIRS, options).unwrap();
        verdict(&cell) == Verdict::VarianceRegression
    });
    assert_between("three times the spread", found, 80.0, 100.0);
}

/// One normal arm in a hundred looks bimodal by chance; a 70:30 mixture of modes nearly always does.
#[test]
fn two_modes_are_seen_and_not_invented() {
    const TRIALS: u32 = 4_000;
    let mut machine = Machine::new(59);
    let mut bimodal = |noise: Noise| {
        percent_of(TRIALS, || {
            let arm = logs(Arm::Base, &machine.arm(noise, 10, 1.0)).unwrap();
            two_modes(Arm::Base, &arm).unwrap().unwrap().bimodal
        })
    };
    assert_between("normal 25 %", bimodal(Noise::Normal(0.25)), 0.5, 2.0);
    assert_between("30 % in a slow mode", bimodal(Noise::Bimodal), 75.0, 95.0);
}
