//! Between columns and model types: JSON, words and numbers that must be readable, and the place to name when they are not.

use std::error::Error;
use std::fmt::Display;
use std::str::FromStr;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::StoreError;

/// The row that is read, for messages.
pub(super) struct Place<'a> {
    pub(super) table: &'static str,
    /// Its id as people write it.
    pub(super) key: &'a dyn Display,
}

impl Place<'_> {
    /// Reads JSON.
    pub(super) fn json<T: DeserializeOwned>(&self, column: &'static str, text: &str) -> Result<T, StoreError> {
        serde_json::from_str(text).map_err(|error| self.broken(column, error))
    }

    /// Reads JSON that may be missing.
    pub(super) fn json_if_any<T: DeserializeOwned>(&self, column: &'static str, text: Option<&str>) -> Result<Option<T>, StoreError> {
        text.map(|text| self.json(column, text)).transpose()
    }

    /// Reads an id or a name.
    pub(super) fn parse<T: FromStr<Err: Error + Send + Sync + 'static>>(&self, column: &'static str, text: &str) -> Result<T, StoreError> {
        text.parse().map_err(|error| self.broken::<T::Err>(column, error))
    }

    /// Reads a number of the model: the columns are wider than it.
    pub(super) fn number(&self, column: &'static str, number: i64) -> Result<u32, StoreError> {
        u32::try_from(number).map_err(|error| self.broken(column, format!("{number}: {error}")))
    }

    /// The error for a value that cannot be read.
    pub(super) fn broken<E: Into<Box<dyn Error + Send + Sync>>>(&self, column: &'static str, source: E) -> StoreError {
        StoreError::Broken { table: self.table, key: self.key.to_string(), column, source: source.into() }
    }
}

/// Writes JSON.
pub(super) fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("model types have text keys and no failing serialisers")
}
