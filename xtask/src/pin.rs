//! `cargo xtask pin`: count the instructions of every layer and write the table of limits anew, for a
//! change that makes layers cheaper, or dearer for a reason. `git diff` then shows what it came to.

use std::fs;

use crate::bench;
use crate::error::TaskError;
use crate::repo::Repo;

const BENCHMARK: &str = "crates/learn/benches/instructions.rs";
const TABLE_HEAD: &str = "const LIMITS: &[(&str, u64)] = &[\n";
const TABLE_TAIL: &str = "];\n";

pub(crate) fn run(repo: &Repo) -> Result<(), TaskError> {
    let counts = counts_in(&bench::layer_counts(repo)?);
    let text = with_limits(&repo.read(BENCHMARK)?, &counts)?;
    let path = repo.path(BENCHMARK);
    fs::write(&path, text).map_err(|source| TaskError::File { path, source })?;
    println!("   {} limits written; what changed: git diff {BENCHMARK}", counts.len());
    Ok(())
}

/// Names and instructions, from what gungraun prints: a line `module::group::function name:(arguments)`, and
/// below it `Instructions: now|before`.
fn counts_in(output: &str) -> Vec<(String, u64)> {
    let mut counts = Vec::new();
    let mut name = None;
    for line in output.lines() {
        if line.starts_with("instructions::") {
            name = line.split_once(' ').and_then(|(_, rest)| Some(rest.split_once(":(")?.0.to_owned()));
        } else if let Some(numbers) = line.trim().strip_prefix("Instructions:") {
            let now = numbers.trim().split(['|', ' ']).next().and_then(|now| now.parse().ok());
            counts.extend(name.take().zip(now));
        }
    }
    counts
}

/// The benchmark's source with a limit for each count.
fn with_limits(source: &str, counts: &[(String, u64)]) -> Result<String, TaskError> {
    let refused = |why: &str| TaskError::Answer(format!("{BENCHMARK}: {why}"));
    let (before, rest) =
        source.split_once(TABLE_HEAD).ok_or_else(|| refused("no table `LIMITS` to write to"))?;
    let (old, after) = rest.split_once(TABLE_TAIL).ok_or_else(|| refused("its table has no end"))?;
    if old.lines().count() != counts.len() {
        return Err(refused(&format!(
            "{} limits, but {} counts: give every benchmark a line in the table first",
            old.lines().count(),
            counts.len()
        )));
    }
    let lines: String = counts
        .iter()
        .map(|(name, count)| format!("    (\"{name}\", {}),\n", grouped(limit(*count))))
        .collect();
    Ok(format!("{before}{TABLE_HEAD}{lines}{TABLE_TAIL}{after}"))
}

/// A tenth above the count, in three digits.
fn limit(count: u64) -> u64 {
    let with_margin = count + count / 10;
    let digit = 10_u64.pow(with_margin.max(100).ilog10() - 2);
    with_margin.next_multiple_of(digit)
}

/// Writes 1234567 as `1_234_567`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push('_');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "\
instructions::learn::layer pool:(inner(MaxPoolRelu :: new(10, 24)))
  Instructions:                                     213209|N/A                  (*********)

Performance has regressed: Instructions (213209) exceeds limit by 213209 (>0)
instructions::learn::layer lstm:(inner(Lstm :: new(\"lstm\", 0, 8, 256, 256)))
  Instructions:                                   22778839|22778839             (No change)

Regressions:

  instructions::learn::layer pool:
    Callgrind: Instructions (213209): 213209 exceeds limit of 0 by 213209
";

    #[test]
    fn counts_are_read_once_for_each_benchmark() {
        assert_eq!(counts_in(OUTPUT), [("pool".to_owned(), 213_209), ("lstm".to_owned(), 22_778_839)]);
    }

    #[test]
    fn the_table_is_replaced_and_nothing_else() {
        let source = format!("// a\n{TABLE_HEAD}    (\"pool\", 0),\n    (\"lstm\", 1),\n{TABLE_TAIL}// b\n");
        let pinned = with_limits(&source, &counts_in(OUTPUT)).unwrap();
        let table = "    (\"pool\", 235_000),\n    (\"lstm\", 25_100_000),\n";
        assert_eq!(pinned, format!("// a\n{TABLE_HEAD}{table}{TABLE_TAIL}// b\n"));
    }

    #[test]
    fn a_table_that_does_not_fit_the_counts_is_left_alone() {
        let source = format!("{TABLE_HEAD}    (\"pool\", 0),\n{TABLE_TAIL}");
        assert!(with_limits(&source, &counts_in(OUTPUT)).is_err());
        assert!(with_limits("", &[]).is_err());
    }

    #[test]
    fn the_benchmark_has_the_table() {
        let source = Repo::here().read(BENCHMARK).unwrap();
        assert!(source.contains(TABLE_HEAD));
    }

    #[test]
    fn limits_have_a_margin_and_three_digits() {
        assert_eq!(limit(1_000), 1_100);
        assert_eq!(limit(52_491), 57_800);
        assert_eq!(limit(0), 0);
        assert_eq!(grouped(limit(49_644_818)), "54_700_000");
    }
}
