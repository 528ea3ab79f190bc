//! Reads the vectors and keeps the books: every value a case expects is either compared or named as
//! not covered, so that a new section, key or case cannot slip by.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

use blklab_stats::InvalidInput;
use serde_json::Value;

pub(crate) fn vectors() -> &'static Value {
    static VECTORS: OnceLock<Value> = OnceLock::new();
    VECTORS.get_or_init(|| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/oracle.json");
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
    })
}

/// Runs `check` on every case of a section. `tolerance` repeats the text of the section: if the
/// vectors ask for another one, the numbers in the test must follow.
pub(crate) fn each_case(section: &str, tolerance: &str, check: impl Fn(&Case)) {
    let section_value = &vectors()["sections"][section];
    assert_eq!(section_value["tolerance"], tolerance, "of {section}");
    let cases = section_value["cases"].as_array().unwrap();
    assert!(!cases.is_empty());
    for (index, value) in cases.iter().enumerate() {
        let case = Case { label: label(section, index, value), value, open: RefCell::new(leaves("", &value["expect"])) };
        check(&case);
        let forgotten: Vec<String> = case.open.into_inner().into_keys().collect();
        assert!(forgotten.is_empty(), "{}: not compared: {forgotten:?}", case.label);
    }
}

fn label(section: &str, index: usize, case: &Value) -> String {
    let word = |key: &str| case[key].as_str().unwrap_or("").to_owned();
    let name = word("dataset") + &word("id") + &word("fn") + &word("kind");
    format!("{section}[{index}] {name} {}", word("arm"))
}

/// One case; expectations are ticked off as they are compared.
pub(crate) struct Case {
    pub(crate) label: String,
    pub(crate) value: &'static Value,
    open: RefCell<BTreeMap<String, &'static Value>>,
}

impl Case {
    /// The arms of the dataset the case names.
    pub(crate) fn arms(&self) -> (Vec<f64>, Vec<f64>) {
        let dataset = &vectors()["datasets"][self.dataset()];
        (floats(&dataset["base"]), floats(&dataset["patched"]))
    }

    /// The arms as natural logs.
    pub(crate) fn log_arms(&self) -> (Vec<f64>, Vec<f64>) {
        let ln = |arm: Vec<f64>| arm.into_iter().map(f64::ln).collect();
        let (base, patched) = self.arms();
        (ln(base), ln(patched))
    }

    /// The one arm that the case names.
    pub(crate) fn arm(&self) -> Vec<f64> {
        floats(&vectors()["datasets"][self.dataset()][self.value["arm"].as_str().unwrap()])
    }

    pub(crate) fn dataset(&self) -> &str {
        self.value["dataset"].as_str().unwrap()
    }

    pub(crate) fn is(&self, dataset: &str) -> bool {
        self.value["dataset"] == dataset
    }

    /// Checks a result against `expect_error`, or hands out the value that `expect` describes.
    pub(crate) fn outcome<T: std::fmt::Debug>(&self, got: Result<T, InvalidInput>) -> Option<T> {
        match (self.value["expect_error"].as_str(), got) {
            (None, Ok(value)) => Some(value),
            (Some(code), Err(error)) => {
                assert_eq!(error.code(), code, "{}", self.label);
                None
            }
            (want, got) => panic!("{}: expected error {want:?}, got {got:?}", self.label),
        }
    }

    /// Compares a number (`None` stands for null) within a relative tolerance.
    pub(crate) fn close(&self, key: &str, got: impl Into<Option<f64>>, rel: f64) {
        self.within(key, got, rel, 0.0);
    }

    /// Compares a number within the larger of a relative and an absolute tolerance.
    pub(crate) fn within(&self, key: &str, got: impl Into<Option<f64>>, rel: f64, abs: f64) {
        let want = self.take(key).as_f64();
        let got = got.into();
        let agrees = match (got, want) {
            (None, None) => true,
            (Some(got), Some(want)) => (got - want).abs() <= (rel * want.abs()).max(abs),
            (Some(_), None) | (None, Some(_)) => false,
        };
        assert!(agrees, "{}: {key} is {got:?}, not {want:?}", self.label);
    }

    /// Compares a list of numbers within a relative tolerance.
    pub(crate) fn all_close(&self, key: &str, got: &[f64], rel: f64) {
        let want = floats(self.take(key));
        assert_eq!(got.len(), want.len(), "{}: length of {key}", self.label);
        for (i, (g, w)) in got.iter().zip(&want).enumerate() {
            assert!((g - w).abs() <= rel * w.abs(), "{}: {key}[{i}] is {g:?}, not {w:?}", self.label);
        }
    }

    /// Compares a value of any kind exactly.
    pub(crate) fn same(&self, key: &str, got: impl Into<Value>) {
        assert_eq!(&got.into(), self.take(key), "{}: {key}", self.label);
    }

    /// Ticks off a key that the crate does not compute, with the reason.
    pub(crate) fn not_covered(&self, keys: &[&str], _reason: &str) {
        for key in keys {
            self.open.borrow_mut().remove(*key);
        }
    }

    /// Whether the case expects the key at all (some are absent where undefined).
    pub(crate) fn expects(&self, key: &str) -> bool {
        self.open.borrow().contains_key(key)
    }

    /// The expectation, ticked off.
    pub(crate) fn take(&self, key: &str) -> &'static Value {
        let value = self.open.borrow_mut().remove(key);
        value.unwrap_or_else(|| panic!("{}: no expectation {key:?}", self.label))
    }
}

/// The values of an object by dotted path; lists stay whole, a bare value has the empty path.
fn leaves(prefix: &str, value: &'static Value) -> BTreeMap<String, &'static Value> {
    let Value::Object(object) = value else {
        let is_absent = prefix.is_empty() && value.is_null();
        return (!is_absent).then(|| (prefix.to_owned(), value)).into_iter().collect();
    };
    object
        .iter()
        .flat_map(|(key, value)| {
            let dot = if prefix.is_empty() { "" } else { "." };
            leaves(&format!("{prefix}{dot}{key}"), value)
        })
        .collect()
}

/// A list of numbers; the strings `NaN` and `Infinity` stand for the IEEE values.
pub(crate) fn floats(list: &Value) -> Vec<f64> {
    let number = |v: &Value| match v.as_str() {
        Some(text) => text.parse().unwrap(),
        None => v.as_f64().unwrap(),
    };
    list.as_array().unwrap().iter().map(number).collect()
}
