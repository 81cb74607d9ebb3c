//! Transposes matrices: columns become rows.

use crate::nn::groups::run;
use crate::real::Real;

/// How many rows and columns are moved at a time: whole cache lines of either side.
const BLOCK: usize = 16;

/// Columns become rows: `from` has rows of `columns` numbers.
pub(crate) fn transpose<T: Real>(from: &[T], columns: usize, to: &mut [T]) {
    let rows = from.len() / columns;
    run(
        #[inline(always)]
        move || {
            for top in (0..rows).step_by(BLOCK) {
                let height = BLOCK.min(rows - top);
                for left in (0..columns).step_by(BLOCK) {
                    for column in left..columns.min(left + BLOCK) {
                        let to = &mut to[column * rows + top..][..height];
                        for (row, to) in to.iter_mut().enumerate() {
                            *to = from[(top + row) * columns + column];
                        }
                    }
                }
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use super::transpose;

    #[test]
    fn rows_become_columns() {
        for (rows, columns) in [(1, 1), (3, 5), (16, 16), (17, 40), (33, 2)] {
            let from: Vec<f64> = (0..rows * columns).map(|n| n as f64).collect();
            let mut to = vec![-1.0; from.len()];
            transpose(&from, columns, &mut to);
            for (n, &number) in to.iter().enumerate() {
                assert_eq!(number, ((n % rows) * columns + n / rows) as f64);
            }
        }
    }
}
