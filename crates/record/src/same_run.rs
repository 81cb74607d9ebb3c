//! Whether the run in a folder is the one that is wanted, so that it can be resumed.

use std::fs;
use std::path::Path;

use fedflip_fleet::{Direction, MetricInfo};

use crate::changed::difference_in_words;
use crate::error::{FolderProblem, RecordError};
use crate::folder::{Contents, FLEET, PLAN, RECORDS};
use crate::reader;

/// What keeps the run in the folder, whose `run.toml` is `run`, from being the one that is wanted.
pub(crate) fn difference(
    folder: &Path,
    run: &str,
    contents: &Contents<'_>,
) -> Result<Option<FolderProblem>, RecordError> {
    if let Some(keys) = difference_in_words(run, &contents.run, contents.free_keys) {
        return Ok(Some(FolderProblem::OtherScenario(keys)));
    }
    for (name, wanted) in [(FLEET, &contents.fleet), (PLAN, &contents.plan)] {
        let path = folder.join(name);
        let found = fs::read(&path).map_err(RecordError::io(&path, "cannot be read"))?;
        if found != *wanted {
            return Ok(Some(FolderProblem::OtherScenario(of_tables(name, &found, wanted))));
        }
    }
    // Records that cannot be read are refused with better words when they are opened.
    let Ok(header) = reader::header(&folder.join(RECORDS)) else { return Ok(None) };
    let [recorded, now] = [&header.metrics, &contents.header.metrics].map(|metrics| in_words(metrics));
    if recorded != now {
        return Ok(Some(FolderProblem::OtherMetrics { recorded: recorded.join(", "), now: now.join(", ") }));
    }
    match (header.unbiased, contents.header.unbiased) {
        (Some(before), Some(now)) if before != now => {
            Ok(Some(FolderProblem::OtherPromise { scheme: header.scheme, unbiased: before }))
        }
        _ => Ok(None),
    }
}

/// The metrics and which values are better, in the order of the alphabet: a run has them in any order.
fn in_words(metrics: &[MetricInfo]) -> Vec<String> {
    let word = |metric: &MetricInfo| match metric.better {
        Direction::Larger => format!("{} (max)", metric.name),
        Direction::Smaller => format!("{} (min)", metric.name),
    };
    let mut words: Vec<String> = metrics.iter().map(word).collect();
    words.sort();
    words
}

/// The first difference of two tables with one line for each device.
fn of_tables(name: &str, before: &[u8], now: &[u8]) -> String {
    let [before, now] = [before, now].map(String::from_utf8_lossy);
    let [mut old, mut new] = [&before, &now].map(|text| text.lines());
    let different = format!("its {name} is not what the scenario gives now");
    let (Some(titles), Some(new_titles)) = (old.next(), new.next()) else { return different };
    if titles != new_titles || old.clone().count() != new.clone().count() {
        return different;
    }
    for (old, new) in old.zip(new) {
        let device = old.split(',').next().unwrap_or_default();
        let cells = titles.split(',').zip(old.split(',').zip(new.split(',')));
        for (title, (old, new)) in cells {
            if old != new {
                return format!(
                    "in its {name}, {title} of the device {device} is {old}, where this one has {new}"
                );
            }
        }
    }
    different
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_differ_in_a_cell_or_as_a_whole() {
        let table = b"device,q\na,0.5\nb,0.25\n";
        let found = of_tables("plan.csv", table, b"device,q\na,0.5\nb,0.75\n");
        assert_eq!(found, "in its plan.csv, q of the device b is 0.25, where this one has 0.75");
        for other in [&b"device,q\na,0.5\n"[..], b"device,share\na,0.5\nb,0.25\n", b""] {
            assert_eq!(
                of_tables("plan.csv", table, other),
                "its plan.csv is not what the scenario gives now"
            );
        }
    }
}
