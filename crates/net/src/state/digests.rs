//! Digests of rows, over every column and its type.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Params, Row, Statement};

use crate::wire::numbers::{DIGEST_BYTES, VectorDigest, digest_of_bytes};

/// Appends the first columns of a row to `bytes`, so that no other values give the same bytes.
pub(super) fn push_columns(bytes: &mut Vec<u8>, row: &Row<'_>, columns: usize) -> rusqlite::Result<()> {
    let mut push = |kind: u8, length: Option<usize>, content: &[u8]| {
        bytes.push(kind);
        length.into_iter().for_each(|length| bytes.extend((length as u64).to_le_bytes()));
        bytes.extend(content);
    };
    for column in 0..columns {
        match row.get_ref(column)? {
            ValueRef::Null => push(0, None, &[]),
            ValueRef::Integer(number) => push(1, None, &number.to_le_bytes()),
            ValueRef::Real(number) => push(2, None, &number.to_bits().to_le_bytes()),
            ValueRef::Text(text) => push(3, Some(text.len()), text),
            ValueRef::Blob(blob) => push(4, Some(blob.len()), blob),
        }
    }
    Ok(())
}

fn push_row(bytes: &mut Vec<u8>, row: &Row<'_>) -> rusqlite::Result<()> {
    push_columns(bytes, row, row.as_ref().column_count())
}

/// Appends all rows that a statement finds for `key`; says how many there are.
pub(super) fn push_rows(
    bytes: &mut Vec<u8>,
    statement: &mut Statement<'_>,
    key: i64,
) -> rusqlite::Result<usize> {
    let mut rows = statement.query([key])?;
    let mut count = 0;
    while let Some(row) = rows.next()? {
        push_row(bytes, row)?;
        count += 1;
    }
    Ok(count)
}

/// The digest of rows that may change: the exclusive or of their digests. A row that is written or removed changes the
/// sum by its own digest, whatever the size of the table. Rows contain their keys, so no two of them cancel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sum(pub VectorDigest);

impl Sum {
    /// The sum of the rows that a query finds.
    pub(super) fn of(state: &Connection, query: &str, params: impl Params) -> rusqlite::Result<Self> {
        let mut statement = state.prepare(query)?;
        let mut rows = statement.query(params)?;
        let (mut sum, mut bytes) = (Self::default(), Vec::new());
        while let Some(row) = rows.next()? {
            bytes.clear();
            push_row(&mut bytes, row)?;
            sum.toggle(Self(digest_of_bytes(&bytes)));
        }
        Ok(sum)
    }

    /// Adds new rows or removes old ones: both are the same operation.
    pub(super) fn toggle(&mut self, rows: Self) {
        (0..DIGEST_BYTES).for_each(|place| self.0[place] ^= rows.0[place]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_and_every_type_counts() {
        let state = Connection::open_in_memory().unwrap();
        let bytes = |values: &str| {
            let mut bytes = Vec::new();
            let mut statement = state.prepare(&format!("SELECT {values} WHERE ?1 = 0")).unwrap();
            assert_eq!(push_rows(&mut bytes, &mut statement, 0).unwrap(), 1);
            bytes
        };
        let different =
            ["1", "1.0", "'1'", "x'31'", "NULL", "1, NULL", "'1', ''", "'', '1'", "'11'", "2", "1, 1"];
        for (at, one) in different.iter().enumerate() {
            assert_eq!(bytes(one), bytes(one));
            different[..at].iter().for_each(|other| assert_ne!(bytes(one), bytes(other), "{one} {other}"));
        }
    }
}
