//! NIST Statistical Reference Datasets: constructed sets from recipes, observed sets from the design
//! material beside the checkout where it exists.

use std::path::Path;

use blklab_stats::{Moments, lag1, oneway_f};
use serde_json::Value;

use crate::harness::{each_case, floats};

#[test]
fn constructed_univariate_sets() {
    let tolerance = "mean rel 1e-14, sd/lag1 rel 1e-9 against exact_for_f64_inputs (two-pass or Welford)";
    each_case("nist_strd_univariate", tolerance, |case| {
        let values = match case.value["id"].as_str().unwrap() {
            "NumAcc1" => vec![10_000_001.0, 10_000_003.0, 10_000_002.0],
            "NumAcc2" => alternating("1.2", "1.1", "1.3"),
            "NumAcc3" => alternating("1000000.2", "1000000.1", "1000000.3"),
            "NumAcc4" => alternating("10000000.2", "10000000.1", "10000000.3"),
            other => panic!("no recipe for {other}"),
        };
        let want = &case.value["exact_for_f64_inputs"];
        let got = Moments::of(&values);
        assert_eq!(values.len() as u64, case.value["n"].as_u64().unwrap());
        close(&case.label, got.mean, &want["mean"], 1e-14);
        close(&case.label, got.sd, &want["sd"], 1e-9);
        close(&case.label, lag1(&values).unwrap(), &want["lag1"], 1e-9);
    });
}

#[test]
fn constructed_anova_sets() {
    let tolerance = "rel 1e-9 against F_exact_for_f64_inputs (two-pass on group means)";
    each_case("nist_strd_anova", tolerance, |case| {
        let id = case.value["id"].as_str().unwrap();
        let offset: u64 = match id {
            "SmLs01" | "SmLs02" | "SmLs03" => 1,
            "SmLs04" | "SmLs05" | "SmLs06" => 1_000_000,
            "SmLs07" | "SmLs08" | "SmLs09" => 1_000_000_000_000,
            other => panic!("no recipe for {other}"),
        };
        let per_group = case.value["n_per_group"].as_u64().unwrap() as usize;
        // Tenths of the level c_g; a neighbour is one tenth below or above. Each value is written
        // in decimal and rounded once.
        let groups: Vec<Vec<f64>> = [4, 3, 5, 3, 5, 3, 5, 3, 5]
            .iter()
            .map(|level: &u64| {
                let value = |i: usize| match i {
                    0 => *level,
                    i if i % 2 == 1 => level - 1,
                    _ => level + 1,
                };
                let decimal = |i: usize| format!("{offset}.{}", value(i)).parse().unwrap();
                (0..per_group).map(decimal).collect()
            })
            .collect();
        let views: Vec<&[f64]> = groups.iter().map(Vec::as_slice).collect();
        let got = oneway_f(&views).unwrap();
        close(id, got.f, &case.value["F_exact_for_f64_inputs"], 1e-9);
        assert_eq!(vec![got.df1, got.df2], floats(&case.value["df"]), "{id}");
    });
}

/// The observed sets are not ours to copy.
#[test]
fn observed_sets() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/oracle/nist_observed.json");
    let Ok(text) = std::fs::read_to_string(&path) else {
        println!("skipped: the observed NIST sets are not beside the checkout ({})", path.display());
        return;
    };
    let sets: Value = serde_json::from_str(&text).unwrap();
    for case in sets["cases"].as_array().unwrap() {
        let id = case["id"].as_str().unwrap();
        let certified = &case["certified"];
        if let Some(groups) = case["groups"].as_array() {
            let groups: Vec<Vec<f64>> = groups.iter().map(floats).collect();
            let views: Vec<&[f64]> = groups.iter().map(Vec::as_slice).collect();
            // Nine constant digits of AtmWtAgt are lost when its decimals become f64.
            let rel = if id == "AtmWtAgt" { 1e-8 } else { 1e-12 };
            close(id, oneway_f(&views).unwrap().f, &certified["F"], rel);
            continue;
        }
        let values = floats(&case["values"]);
        let got = Moments::of(&values);
        close(id, got.mean, &certified["mean"], 1e-13);
        close(id, got.sd, &certified["sd"], 1e-12);
        close(id, lag1(&values).unwrap(), &certified["lag1"], 1e-12);
    }
}

/// One value, then 500 pairs around it; parsed from decimals, so each is rounded once.
fn alternating(first: &str, low: &str, high: &str) -> Vec<f64> {
    let number = |text: &str| text.parse::<f64>().unwrap();
    let pairs = [number(low), number(high)].repeat(500);
    std::iter::once(number(first)).chain(pairs).collect()
}

fn close(id: &str, got: f64, want: &Value, rel: f64) {
    let want = want.as_f64().unwrap();
    assert!((got - want).abs() <= rel * want.abs(), "{id}: {got} not {want}");
}
