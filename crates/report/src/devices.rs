//! A scheme's devices: the fleet and the q that the plan gave each.

use std::fs::File;
use std::path::Path;

use fedflip_fleet::{Fleet, csv_file};
use fedflip_record::folder::{FLEET, PLAN};

use crate::problem::Problem;

/// Who could take part, and how likely.
#[derive(Clone, Debug)]
pub struct Devices {
    /// With sample counts as they were.
    pub fleet: Fleet,
    /// Planned participation, in fleet order.
    pub q: Vec<f64>,
    /// Of real devices: how often each was there, as measured at last; `fleet` has what the plan was made with.
    pub availability: Option<Vec<f64>>,
}

/// The fleet of a run on real devices as measured at last.
const MEASURED: &str = "measured.csv";

impl Devices {
    /// Of a run's folder.
    pub(crate) fn read(folder: &Path) -> Result<Self, Problem> {
        let fleet = read_fleet(&folder.join(FLEET))?;
        let path = folder.join(PLAN);
        let text = std::fs::read_to_string(&path)
            .map_err(|error| Problem::new(&path, &format!("cannot be read: {error}")))?;
        let q = parse_q(&text).map_err(|what| Problem::new(&path, &what))?;
        if q.len() != fleet.len() {
            let what = format!("has {} devices, where {FLEET} has {}", q.len(), fleet.len());
            return Err(Problem::new(&path, &what));
        }
        let measured = folder.join(MEASURED);
        let availability =
            if measured.is_file() { Some(read_fleet(&measured)?.availability().to_vec()) } else { None };
        Ok(Self { fleet, q, availability })
    }
}

fn read_fleet(path: &Path) -> Result<Fleet, Problem> {
    let file = File::open(path).map_err(|error| Problem::new(path, &format!("cannot be read: {error}")))?;
    csv_file::read(file, &path.display().to_string()).map_err(|error| Problem::of(&error))
}

/// The column `q` of a `plan.csv`: the last but one, so that a name may hold commas.
fn parse_q(text: &str) -> Result<Vec<f64>, String> {
    let mut lines = text.lines();
    if lines.next() != Some("device,q,weight") {
        return Err("line 1: the header is not device,q,weight".to_owned());
    }
    let parse = |(index, line): (usize, &str)| {
        let cell = line.rsplit(',').nth(1).unwrap_or_default();
        let q: Option<f64> = cell.parse().ok().filter(|q| (0.0..=1.0).contains(q));
        q.ok_or_else(|| format!("line {}: {cell:?} is no probability", index + 2))
    };
    lines.enumerate().map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn q_is_read_whatever_the_names() {
        assert_eq!(parse_q("device,q,weight\n\"a,b\",0.25,1\nc,1,0.5\n").unwrap(), [0.25, 1.0]);
        assert!(parse_q("device,q\n").unwrap_err().starts_with("line 1"));
        assert!(parse_q("device,q,weight\na,2,1\n").unwrap_err().contains("line 2: \"2\""));
    }
}
