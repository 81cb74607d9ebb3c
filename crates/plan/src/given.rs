//! Participation probabilities that a person chose: a CSV file with the columns `device,q`.

use std::io::Read;
use std::sync::Arc;

use fedflip_fleet::csv_table::{Column, Format};
use fedflip_fleet::named::NamedNumbers;
use fedflip_fleet::{Fleet, FleetError, Probability, nearest};

use crate::error::PlanError;

/// A file that [`crate::Schedule::csv`] wrote has more columns, which are skipped: they follow from q and the fleet, or
/// belong to quiet rounds, whose plan follows from their variance.
static FORMAT: Format = Format {
    what: "plan",
    header: "device,q",
    columns: &[
        Column::required("device", ""),
        Column::required("q", "write a probability above 0 and at most 1"),
        Column::optional("weight", ""),
        Column::optional("quiet_q", ""),
        Column::optional("quiet_weight", ""),
    ],
};

/// An error names this many devices at most.
const NAMED_MAX: usize = 3;

/// q of devices by their names, as a file has them. Copies share the rows, of which there may be millions.
#[derive(Clone, Debug, PartialEq)]
pub struct GivenQ {
    /// The name in `file=NAME`.
    name: Arc<str>,
    rows: Arc<NamedNumbers>,
    /// Whether the file may name devices that are not in the fleet.
    allows_absent: bool,
}

impl GivenQ {
    /// Reads the file that the scheme `file=NAME` names; errors name the input as `file`.
    pub fn read(input: impl Read, name: &str, file: &str) -> Result<Self, FleetError> {
        let rows = NamedNumbers::read(input, file, &FORMAT, |q| Probability::new(q).map(Probability::get))?;
        Ok(Self { name: name.into(), rows: Arc::new(rows), allows_absent: false })
    }

    /// The same q for a fleet that lacks some devices of the file: they have not enrolled yet, or take no part.
    #[must_use]
    pub fn allowing_absent(&self) -> Self {
        Self { allows_absent: true, ..self.clone() }
    }

    /// The name behind `file=`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same q under another name, such as that of a copy.
    #[must_use]
    pub fn renamed(&self, name: &str) -> Self {
        Self { name: name.into(), ..self.clone() }
    }

    /// The name of the file in error messages.
    pub fn file(&self) -> &str {
        &self.rows.file
    }

    /// q of a device, if the file names it.
    pub fn q(&self, device: &str) -> Option<f64> {
        self.rows.number(device)
    }

    /// q in fleet order. The file must name every device of the fleet and, unless devices may be absent, no other.
    pub fn for_fleet(&self, fleet: &Fleet) -> Result<Vec<f64>, PlanError> {
        let rows = &*self.rows;
        let row_of = |position: usize| {
            // Most files are in the order of their fleet.
            let name = fleet.name(position);
            if rows.devices.get(position) == name { Some(position) } else { rows.find(name) }
        };
        let (mut q, mut is_used, mut missing) = (Vec::new(), vec![false; rows.numbers.len()], Vec::new());
        for position in 0..fleet.len() {
            match row_of(position) {
                Some(row) => {
                    q.push(rows.numbers[row]);
                    is_used[row] = true;
                }
                None => missing.push(position),
            }
        }
        let mut unused = (0..is_used.len()).filter(|&row| !is_used[row]);
        if !self.allows_absent
            && let Some(row) = unused.next()
        {
            return Err(unknown(rows, row, fleet, &missing).into());
        }
        if missing.is_empty() { Ok(q) } else { Err(without(rows, fleet, &missing, unused)) }
    }
}

/// The error of a row whose device is not in the fleet. It was meant for one that has no row, if there is any.
fn unknown(rows: &NamedNumbers, row: usize, fleet: &Fleet, missing: &[usize]) -> FleetError {
    let name = rows.devices.get(row);
    let meant = match missing {
        [] => nearest(name, (0..fleet.len()).map(|position| fleet.name(position))),
        missing => nearest(name, missing.iter().map(|&position| fleet.name(position))),
    };
    FleetError::Cell {
        file: rows.file.clone(),
        line: rows.lines[row],
        column: FORMAT.columns[0].name.to_owned(),
        value: name.to_owned(),
        problem: format!("is not a device of the fleet, which has {}", count(fleet.len())),
        hint: match meant {
            Some(meant) => format!("did you mean {meant:?}?"),
            None => "leave out the line, or use the fleet that the file was made for".to_owned(),
        },
    }
}

/// The error of devices without a row.
fn without(
    rows: &NamedNumbers,
    fleet: &Fleet,
    missing: &[usize],
    mut unused: impl Iterator<Item = usize>,
) -> PlanError {
    let named = missing.iter().take(NAMED_MAX).map(|&position| fleet.name(position).to_owned());
    let first = missing.first().map_or("", |&position| fleet.name(position));
    let meant = nearest(first, unused.by_ref().map(|row| rows.devices.get(row)));
    let line = meant.and_then(|meant| rows.find(meant)).map(|row| rows.lines[row]);
    PlanError::NoQ {
        file: rows.file.clone(),
        devices: named.collect(),
        more: missing.len().saturating_sub(NAMED_MAX),
        nearest: meant.map(str::to_owned).zip(line),
    }
}

fn count(devices: usize) -> String {
    if devices == 1 { "1 device".to_owned() } else { format!("{devices} devices") }
}

#[cfg(test)]
mod tests {
    use fedflip_fleet::{Mbps, csv_file};

    use super::*;
    use crate::plan::{Plan, PlanStatus};
    use crate::planning::{Planning, schedule, solve};
    use crate::problem::Problem;
    use crate::schedule::Quiet;
    use crate::scheme::Scheme;

    fn fleet() -> Fleet {
        let file = "device,compute_secs,comm_secs,samples,availability\n\
                    phone-01,2,7,300,1\nphone-02,0.4,7,100,0.5\n\"lab, north\",1,7,200,1\n";
        csv_file::read(file.as_bytes(), "fleet.csv").unwrap()
    }

    fn given(text: &str) -> Result<GivenQ, FleetError> {
        GivenQ::read(text.as_bytes(), "q.csv", "plans/q.csv")
    }

    fn planned(text: &str) -> Result<Plan, PlanError> {
        Plan::baseline(&fleet(), &Scheme::File(given(text)?))
    }

    /// The refusal and its hint, as a person reads them.
    fn refusal(text: &str) -> String {
        let error = planned(text).unwrap_err();
        format!("{error}; {}", error.hint())
    }

    #[test]
    fn names_decide_and_not_the_order_of_lines_and_columns() {
        let wanted = [0.25, 0.5, 1.0];
        for text in [
            "device,q\nphone-01,0.25\nphone-02,0.5\n\"lab, north\",1\n",
            "q,device\n1,\"lab, north\"\n0.5,phone-02\n\n2.5e-1,phone-01\n",
            "\u{feff}device,weight,q\r\nphone-02,9,.5\r\nphone-01,9,.25\r\n\"lab, north\",,1",
        ] {
            let plan = planned(text).unwrap();
            assert_eq!((plan.q(), plan.status()), (&wanted[..], PlanStatus::Given), "{text:?}");
            assert_eq!(plan.aggregation_weights()[0], 0.5 / 0.25);
            assert_eq!(plan.capped(), 0);
        }
    }

    #[test]
    fn a_q_above_the_availability_is_capped_as_in_other_schemes_without_optimisation() {
        let plan = planned("device,q\nphone-01,0.25\nphone-02,0.9\n\"lab, north\",1\n").unwrap();
        assert_eq!((plan.q(), plan.capped()), (&[0.25, 0.5, 1.0][..], 1));
        assert_eq!(plan.aggregation_weights()[1], fleet().weights()[1] / 0.5);
    }

    #[test]
    fn every_refusal_names_file_line_device_and_remedy() {
        let rest = "phone-02,0.5\n\"lab, north\",1\n";
        for (first, wanted) in [
            ("phone-01,0\n", "line 2, column q: \"0\" is out of range; it must be a probability above 0"),
            ("phone-01,1.5\n", "line 2, column q: \"1.5\" is out of range"),
            ("phone-01,NaN\n", "line 2, column q: \"NaN\" is out of range"),
            ("phone-01,\n", "line 2, column q: \"\" is empty; write a probability above 0"),
            ("phone-01,often\n", "line 2, column q: \"often\" is not a number"),
            ("phone-01\n", "line 2, column q: \"\" does not fit: the line has 1 fields"),
            (
                "phone-01,0.1\nphone-02,0.2\n",
                "line 4, column device: \"phone-02\" already names the device in line 3; keep one line",
            ),
            (
                "phnoe-01,0.1\n",
                "line 2, column device: \"phnoe-01\" is not a device of the fleet, which has 3 devices; \
                 did you mean \"phone-01\"?",
            ),
            ("phone-01,0.1\nzzz,0.2\n", "line 3, column device: \"zzz\" is not a device of the fleet"),
            ("", "no q for the device \"phone-01\"; add a line for each"),
        ] {
            let refusal = refusal(&format!("device,q\n{first}{rest}"));
            assert!(refusal.starts_with("plans/q.csv") && refusal.contains(wanted), "{first:?}: {refusal}");
        }
        assert!(refusal("device,q\n").contains("no device"));
        assert!(refusal("device,p\na,1\n").contains("not a column of a plan file; the columns are device,q"));
        assert!(refusal("phone-01,0.25\n").contains("the header is missing"));
    }

    #[test]
    fn devices_may_be_absent_where_that_is_said_and_none_may_lack_a_q() {
        let text = "device,q\nphone-01,0.25\nphone-03,0.125\nphone-02,0.5\n\"lab, north\",1\n";
        assert!(refusal(text).contains("line 3, column device: \"phone-03\""));
        let given = given(text).unwrap().allowing_absent();
        assert_eq!(given.for_fleet(&fleet()), Ok(vec![0.25, 0.5, 1.0]));
        assert_eq!(given.for_fleet(&fleet().subset(&[2, 0]).unwrap()), Ok(vec![1.0, 0.25]));
        assert_eq!([given.q("phone-03"), given.q("phone-3")], [Some(0.125), None]);
        let other = "device,compute_secs,comm_secs,samples\nphone-3,1,1,1\na,1,1,1\nb,1,1,1\nc,1,1,1\n";
        let other = csv_file::read(other.as_bytes(), "fleet.csv").unwrap();
        let error = given.for_fleet(&other).unwrap_err();
        let text = "plans/q.csv: there is no q for the devices \"phone-3\", \"a\", \"b\" and 1 more";
        assert_eq!(error.to_string(), text);
        assert!(error.hint().ends_with("line 3 has \"phone-03\""), "{}", error.hint());
    }

    #[test]
    fn a_written_plan_reads_back_to_the_bit_also_with_quiet_rounds() {
        let fleet = fleet();
        let problem = Problem::new(&fleet, Mbps::new(9.0).unwrap());
        for quiet in [None, Some(Quiet { variance: 0.6, every: 4 })] {
            let planning = Planning { quiet, ..Planning::new(Scheme::Auto) };
            let made = schedule(&problem, &planning).unwrap().schedule;
            let csv = made.csv(&fleet);
            let scheme = Scheme::File(GivenQ::read(&csv[..], "plan.csv", "plan.csv").unwrap());
            let again =
                schedule(&problem, &Planning { scheme: scheme.clone(), ..planning }).unwrap().schedule;
            assert_eq!(again.csv(&fleet), csv);
            assert_eq!(solve(&problem, &Planning::new(scheme)).unwrap().q(), made.usual().q());
        }
    }
}
