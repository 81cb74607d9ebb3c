//! A scheme's devices: the fleet and the q that the plan gave each.

use std::fs::File;
use std::path::Path;

use fedflip_fleet::{Fleet, csv_file};
use fedflip_plan::{Plan, Schedule};
use fedflip_record::folder::{FLEET, PLAN};

use crate::config::Config;
use crate::problem;

/// Who could take part, and how likely.
#[derive(Clone, Debug)]
pub struct Devices {
    /// With sample counts as they were.
    pub fleet: Fleet,
    /// The plans of its rounds.
    pub schedule: Schedule,
    /// Planned participation over all rounds, in fleet order.
    pub q: Vec<f64>,
    /// Of real devices: how often each was there, as measured at last; `fleet` has what the plan was made with.
    pub availability: Option<Vec<f64>>,
}

/// The fleet of a run on real devices as measured at last.
const MEASURED: &str = "measured.csv";

impl Devices {
    /// Of a run's folder, whose scenario is `config`.
    pub(crate) fn read(folder: &Path, config: &Config) -> Result<Self, String> {
        let fleet = read_fleet(&folder.join(FLEET))?;
        let path = folder.join(PLAN);
        let text = std::fs::read_to_string(&path)
            .map_err(|error| problem::about(&path, &format!("cannot be read: {error}")))?;
        let refused = |what: &str| problem::about(&path, what);
        let q = column(&text, "q").map_err(|what| refused(&what))?;
        let q = q.ok_or_else(|| refused("line 1: there is no column q"))?;
        if q.len() != fleet.len() {
            let what = format!("has {} devices, where {FLEET} has {}", q.len(), fleet.len());
            return Err(refused(&what));
        }
        let plan = |q| Plan::from_q(&fleet, q).map_err(|error| refused(&error.to_string()));
        let mut schedule = Schedule::new(plan(q)?, u64::MAX);
        if let Some(quiet_q) = column(&text, "quiet_q").map_err(|what| refused(&what))? {
            let every = config.get("plan.quiet_every").and_then(|every| every.parse().ok());
            let every =
                every.ok_or_else(|| refused("has quiet rounds, which the scenario does not mention"))?;
            let quiet = schedule.with_quiet(every, plan(quiet_q)?);
            schedule = quiet.map_err(|error| refused(&error.to_string()))?;
        }
        let q = schedule.mean_q();
        let measured = folder.join(MEASURED);
        let availability =
            if measured.is_file() { Some(read_fleet(&measured)?.availability().to_vec()) } else { None };
        Ok(Self { fleet, schedule, q, availability })
    }
}

fn read_fleet(path: &Path) -> Result<Fleet, String> {
    let file = File::open(path).map_err(|error| problem::about(path, &format!("cannot be read: {error}")))?;
    csv_file::read(file, &path.display().to_string()).map_err(|error| problem::of(&error))
}

/// The probabilities in a column of a `plan.csv`; none if there is no such column. Columns are counted from the end of a
/// line, so that a name may hold commas.
fn column(text: &str, name: &str) -> Result<Option<Vec<f64>>, String> {
    let mut lines = text.lines();
    let mut heads = lines.next().unwrap_or_default().rsplit(',');
    let Some(from_end) = heads.position(|head| head == name) else { return Ok(None) };
    let parse = |(number, line): (usize, &str)| {
        let cell = line.rsplit(',').nth(from_end).unwrap_or_default();
        let q: Option<f64> = cell.parse().ok().filter(|q| (0.0..=1.0).contains(q));
        q.ok_or_else(|| format!("line {number}: {cell:?} is no probability"))
    };
    (2..).zip(lines).map(parse).collect::<Result<Vec<f64>, String>>().map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn q_is_read_whatever_the_names() {
        let usual = "device,q,weight\n\"a,b\",0.25,1\nc,1,0.5\n";
        assert_eq!(column(usual, "q"), Ok(Some(vec![0.25, 1.0])));
        assert_eq!(column(usual, "quiet_q"), Ok(None));
        let both = "device,quiet_q,quiet_weight,q,weight\n\"a,b\",0.5,2,0.25,4\n";
        assert_eq!(["q", "quiet_q"].map(|name| column(both, name)), [0.25, 0.5].map(|q| Ok(Some(vec![q]))));
        assert_eq!(column("", "q"), Ok(None));
        assert!(column("device,q,weight\na,2,1\n", "q").unwrap_err().contains("line 2: \"2\""));
        let wrong = "device,quiet_q,quiet_weight,q,weight\na,0.1,1,0.1,1\nb,1.5,1,0.1,1\n";
        assert!(column(wrong, "quiet_q").unwrap_err().contains("line 3: \"1.5\""));
    }
}
