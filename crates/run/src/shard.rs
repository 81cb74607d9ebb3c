//! Comparisons and sweeps in several parts, each by a process of its own: arrays of jobs without an engine.
//!
//! The runs and pilots of all points are numbered, and shard i of n does those whose number leaves the remainder i. A
//! shard keeps its own runs where a whole comparison would keep them. Runs that it needs the result of, and does not own,
//! are read if they are over, and repeated in a hidden folder otherwise.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use fedflip_record::Fold;
use fedflip_record::folder::RECORDS;

/// One part of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    index: u64,
    count: u64,
}

impl Shard {
    /// Part `index` of `count`, counted from 0; none if there is no such part.
    pub fn new(index: u64, count: u64) -> Option<Self> {
        (index < count).then_some(Self { index, count })
    }

    /// Whether the shard does the work with this number.
    pub fn owns(self, item: u64) -> bool {
        item % self.count == self.index
    }

    /// The folder of what a shard repeats for itself. Reports do not look into it.
    fn hidden(self) -> String {
        format!(".shard-{}-of-{}", self.index, self.count)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts =
            text.split_once('/').and_then(|(index, count)| index.parse().ok().zip(count.parse().ok()));
        parts
            .and_then(|(index, count)| Self::new(index, count))
            .ok_or_else(|| "write I/N, such as 0/3, 1/3 and 2/3: I counts from 0 and is below N".to_owned())
    }
}

impl std::fmt::Display for Shard {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}/{}", self.index, self.count)
    }
}

/// A shard of the work that begins with a number.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// The shard that this process does.
    pub shard: Shard,
    /// The number of the first run or pilot.
    pub first: u64,
}

impl Part {
    /// The same shard of work that begins `items` runs later.
    #[must_use]
    pub fn after(self, items: u64) -> Self {
        Self { first: self.first + items, ..self }
    }

    /// Whether the shard does the run with this number, counted from the first.
    pub fn owns(self, item: u64) -> bool {
        self.shard.owns(self.first + item)
    }

    /// Where a run goes that has this name below `out`.
    pub(crate) fn place(self, item: u64, out: &Path, below: &str, name: &str) -> Place {
        let folder = out.join(below).join(name);
        if self.owns(item) {
            return Place::Own(folder);
        }
        match Fold::read(&folder.join(RECORDS)) {
            Ok(fold) if fold.summary.end.is_some() => Place::Done(folder, Box::new(fold)),
            _ => Place::Repeated(out.join(self.shard.hidden()).join(below).join(name)),
        }
    }
}

/// Where a shard has a run.
pub(crate) enum Place {
    /// The shard does the run.
    Own(PathBuf),
    /// Another shard has done the run.
    Done(PathBuf, Box<Fold>),
    /// The shard needs the result, which is not there yet.
    Repeated(PathBuf),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_divide_the_work_without_rest() {
        let shards: Vec<Shard> = (0..3).map(|index| format!("{index}/3").parse().unwrap()).collect();
        for item in 0..20 {
            assert_eq!(shards.iter().filter(|shard| shard.owns(item)).count(), 1, "{item}");
        }
        let own = |shard: &Shard| (0..20).filter(|item| shard.owns(*item)).count();
        assert_eq!(shards.iter().map(own).collect::<Vec<_>>(), [7, 7, 6]);
    }

    #[test]
    fn shards_that_do_not_exist_are_refused() {
        for text in ["3/3", "0/0", "1", "-1/3", "a/b", "1/3/5", ""] {
            assert!(text.parse::<Shard>().unwrap_err().contains("0/3"), "{text}");
        }
        assert_eq!("2/5".parse::<Shard>().unwrap().to_string(), "2/5");
    }

    #[test]
    fn later_points_go_on_counting() {
        let part = Part { shard: Shard::new(1, 3).unwrap(), first: 0 };
        assert!(part.owns(1) && !part.owns(0));
        assert!(part.after(4).owns(0) && !part.after(4).owns(1));
    }
}
