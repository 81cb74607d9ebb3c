//! Features by their names: two tables may have the same columns in different orders.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::error::{Problem, SamplesError, listed};
use crate::table::{Features, Table};

impl Table {
    /// Puts the features into the order of these names. A table with other names is refused; a table without names, and
    /// an empty list, change nothing.
    pub fn arrange(&mut self, columns: &[String]) -> Result<(), OtherColumns> {
        if columns.is_empty() || self.columns.is_empty() || self.columns == columns {
            return Ok(());
        }
        let known: BTreeMap<&str, usize> =
            self.columns.iter().enumerate().rev().map(|(place, name)| (name.as_str(), place)).collect();
        let places: Option<Vec<usize>> =
            columns.iter().map(|name| known.get(name.as_str()).copied()).collect();
        // Each name stands for one column: names that repeat cannot be told apart.
        let is_permutation = |places: &Vec<usize>| {
            let mut sorted = places.clone();
            sorted.sort_unstable();
            sorted.iter().copied().eq(0..self.columns.len())
        };
        let Some(places) = places.filter(is_permutation) else { return Err(self.other_columns(columns)) };
        match &mut self.features {
            Features::Bytes(values) => permute(values, &places),
            Features::Floats(values) => permute(values, &places),
        }
        self.columns = columns.to_vec();
        Ok(())
    }

    fn other_columns(&self, columns: &[String]) -> OtherColumns {
        let only = |these: &[String], those: &[String]| {
            let those: BTreeSet<&String> = those.iter().collect();
            these.iter().filter(|name| !those.contains(name)).cloned().collect()
        };
        OtherColumns { extra: only(&self.columns, columns), lacking: only(columns, &self.columns) }
    }
}

/// The columns that only one side has; none if names repeat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherColumns {
    /// Those of the table that are not wanted.
    pub extra: Vec<String>,
    /// Those that are wanted, and that the table does not have.
    pub lacking: Vec<String>,
}

impl OtherColumns {
    /// What a file has and lacks in comparison with others: "has height, which the task does not declare", and "lacks height,
    /// which the task declares".
    pub fn beside(&self, others_lack: &str, others_have: &str) -> String {
        let extra = listed(&self.extra);
        match (self.extra.is_empty(), self.lacking.is_empty()) {
            (false, true) => format!("has {extra}, which {others_lack}"),
            (false, false) => {
                format!("has {extra}, which {others_lack}, and lacks {}", listed(&self.lacking))
            }
            (true, false) => format!("lacks {}, which {others_have}", listed(&self.lacking)),
            (true, true) => "has columns that repeat and cannot be told apart".to_owned(),
        }
    }

    /// The difference between two tables as the file shows it that lacks columns: this one, or the other one.
    pub fn between(self, file: &Path, other: &Path) -> SamplesError {
        let other_lacks = self.lacking.is_empty() && !self.extra.is_empty();
        let (columns, file, first) = match other_lacks {
            true => (Self { extra: self.lacking, lacking: self.extra }, other, file),
            false => (self, file, other),
        };
        Problem::Columns { columns, first: first.to_owned() }.in_file(file)
    }
}

/// Moves the value at `places[n]` of every row to n.
fn permute<T: Copy>(values: &mut [T], places: &[usize]) {
    let mut row = Vec::with_capacity(places.len());
    for values in values.chunks_exact_mut(places.len()) {
        row.clear();
        row.extend(places.iter().map(|place| values[*place]));
        values.copy_from_slice(&row);
    }
}

#[cfg(test)]
mod tests {
    use crate::Labels;

    use super::*;

    fn table(columns: &[&str]) -> Table {
        Table {
            shape: vec![columns.len()],
            columns: columns.iter().map(|name| (*name).to_owned()).collect(),
            features: Features::Floats((0..2 * columns.len()).map(|at| at as f32).collect()),
            labels: Labels::Classes(vec![0, 1]),
            devices: None,
        }
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn equal_names_are_put_into_one_order() {
        let mut found = table(&["c", "a", "b"]);
        found.arrange(&names(&["a", "b", "c"])).unwrap();
        assert_eq!(found.features, Features::Floats(vec![1.0, 2.0, 0.0, 4.0, 5.0, 3.0]));
        assert_eq!(found.columns, ["a", "b", "c"]);
        let mut unnamed = Table { columns: Vec::new(), ..table(&["a", "b"]) };
        unnamed.arrange(&names(&["b", "a"])).unwrap();
        assert_eq!(unnamed.features, table(&["a", "b"]).features);
    }

    #[test]
    fn other_names_are_refused() {
        let refused = table(&["age", "weight"]).arrange(&names(&["age", "height"])).unwrap_err();
        let said = |refused: OtherColumns| refused.beside("the task does not declare", "the task declares");
        assert_eq!(said(refused), "has weight, which the task does not declare, and lacks height");
        let extra = table(&["a", "b"]).arrange(&names(&["a"])).unwrap_err();
        assert_eq!(said(extra), "has b, which the task does not declare");
        assert_eq!(
            said(table(&["a"]).arrange(&names(&["a", "b"])).unwrap_err()),
            "lacks b, which the task declares"
        );
        table(&["a", "a"]).arrange(&names(&["a", "b"])).unwrap_err();
        table(&["a", "b"]).arrange(&names(&["a", "a"])).unwrap_err();
        table(&["a", "a"]).arrange(&names(&["a", "a"])).unwrap();
    }
}
