//! What a reader is sent: everything at first, then what is new.

use std::sync::Arc;

use serde::Serialize;
use serde::ser::{SerializeSeq, Serializer};

use crate::live::{Current, Earlier, Live, Phase};
use crate::log::Line;
use crate::series::{Point, Seen, Series, flat};
use crate::standings::Row;
use crate::tally::Timeline;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    /// The version of the view; none before anything was read.
    version: Option<u64>,
    run: u64,
    lines: u64,
    curves: [Seen; 4],
}

#[derive(Debug, Serialize)]
pub struct Update {
    /// It replaces what the reader has.
    pub whole: bool,
    /// Of the view that it leads to.
    pub version: u64,
    status: Status,
    curves: Option<Curves>,
    timeline: Option<Timeline>,
    log: Vec<Line>,
    /// Only in a whole one: runs that are over do not change.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "earlier")]
    earlier: Option<Vec<Arc<Earlier>>>,
}

#[derive(Debug, Serialize)]
struct Status {
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<String>,
    runs: u64,
    /// How the schemes did so far.
    schemes: Vec<Row>,
    is_done: bool,
    #[serde(flatten)]
    run: Option<RunStatus>,
}

#[derive(Debug, Serialize)]
struct RunStatus {
    title: String,
    label: String,
    task: String,
    scheme: String,
    /// As text: a browser's numbers have 53 bits.
    seed: String,
    devices: usize,
    parameters: usize,
    bandwidth_mbps: f64,
    target_accuracy: Option<f64>,
    target_loss: Option<f64>,
    expected_rounds: Option<f64>,
    expected_round_secs: Option<f64>,
    expected_participants: f64,
    round: u64,
    secs: f64,
    accuracy: Option<f64>,
    loss: Option<f64>,
    mean_participants: f64,
    empty_rounds: u64,
    biased_rounds: u64,
    lost: u64,
    real_secs: f64,
    /// Whether devices are real, and so `secs`.
    is_deployed: bool,
    folder: Option<String>,
}

#[derive(Debug, Serialize)]
struct Curves {
    accuracy: Growth,
    loss: Growth,
    round_secs: Growth,
    participants: Growth,
}

#[derive(Debug, Serialize)]
struct Growth {
    #[serde(serialize_with = "flat_points")]
    new: Vec<Point>,
    /// The end, which replaces the last one.
    #[serde(serialize_with = "flat_points")]
    tail: Vec<Point>,
}

#[expect(clippy::ptr_arg, reason = "the signature that serde asks for")]
fn flat_points<S: Serializer>(points: &Vec<Point>, serializer: S) -> Result<S::Ok, S::Error> {
    flat(points, serializer)
}

fn earlier<S: Serializer>(runs: &Option<Vec<Arc<Earlier>>>, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Shown<'a> {
        title: &'a str,
        label: &'a str,
        #[serde(serialize_with = "flat_points")]
        accuracy: &'a Vec<Point>,
        #[serde(serialize_with = "flat_points")]
        loss: &'a Vec<Point>,
    }
    let runs = runs.as_deref().unwrap_or_default();
    let mut list = serializer.serialize_seq(Some(runs.len()))?;
    for run in runs {
        let Earlier { title, label, accuracy, loss } = &**run;
        list.serialize_element(&Shown { title, label, accuracy, loss })?;
    }
    list.end()
}

impl Live {
    /// What has happened since, and how far that leads; none if nothing has. A reader whose curves were merged
    /// since, or that knows another run, gets everything: there is no queue, so a slow reader costs nothing.
    pub fn since(&self, cursor: Cursor) -> Option<(Update, Cursor)> {
        if cursor.version == Some(self.version) {
            return None;
        }
        let run = self.runs;
        let growth = match &self.current {
            Some(current) if cursor.run == run => current.growth(cursor.curves),
            _ => None,
        };
        let whole = growth.is_none();
        let update = Update {
            whole,
            version: self.version,
            status: self.status(),
            curves: growth.or_else(|| self.current.as_ref().map(Current::all)),
            timeline: self.current.as_ref().map(|current| current.latest.timeline(&current.roster.fleet)),
            log: self.log.since(if whole { 0 } else { cursor.lines }),
            earlier: whole.then(|| self.earlier.iter().cloned().collect()),
        };
        let curves = self.current.as_ref().map(|current| current.curves.each_ref().map(Series::seen));
        let next = Cursor {
            version: Some(self.version),
            run,
            lines: self.log.written(),
            curves: curves.unwrap_or_default(),
        };
        Some((update, next))
    }

    fn status(&self) -> Status {
        let Some(current) = &self.current else {
            return Status {
                state: "waiting",
                ended: None,
                runs: self.runs,
                schemes: Vec::new(),
                is_done: self.is_done,
                run: None,
            };
        };
        let state = match current.phase {
            Phase::Running => "running",
            Phase::Ended(_) => "ended",
            Phase::Stopped => "stopped",
        };
        let ended = (current.phase != Phase::Running).then(|| match &current.detail {
            Some(detail) => format!("{}: {detail}", current.words()),
            None => current.words(),
        });
        Status {
            state,
            ended,
            runs: self.runs,
            schemes: self.standings.rows().to_vec(),
            is_done: self.is_done,
            run: Some(current.status()),
        }
    }
}

impl Current {
    fn status(&self) -> RunStatus {
        let header = &self.header;
        RunStatus {
            title: self.title.clone(),
            label: self.label.clone(),
            task: header.task.clone(),
            scheme: header.scheme.clone(),
            seed: header.seed.to_string(),
            devices: header.devices,
            parameters: header.parameters,
            bandwidth_mbps: header.bandwidth_mbps,
            target_accuracy: header.target_of("accuracy"),
            target_loss: header.target_of("loss"),
            expected_rounds: header.expected_rounds,
            expected_round_secs: header.expected_round_secs,
            expected_participants: header.expected_participants,
            round: self.round,
            secs: self.secs,
            accuracy: self.accuracy,
            loss: self.loss,
            mean_participants: self.taken as f64 / self.round.max(1) as f64,
            empty_rounds: self.empty_rounds,
            biased_rounds: self.biased_rounds,
            lost: self.lost,
            real_secs: self.real_secs,
            is_deployed: header.deployed.is_some(),
            folder: self.folder.clone(),
        }
    }

    /// None if some curve is no longer the one that was seen.
    fn growth(&self, seen: [Seen; 4]) -> Option<Curves> {
        let mut grown = self.curves.iter().zip(seen).map(|(curve, seen)| {
            let new = curve.since(seen)?.to_vec();
            Some(Growth { new, tail: curve.tail() })
        });
        let mut next = || grown.next().flatten();
        Some(Curves { accuracy: next()?, loss: next()?, round_secs: next()?, participants: next()? })
    }

    fn all(&self) -> Curves {
        let [accuracy, loss, round_secs, participants] =
            self.curves.each_ref().map(|curve| Growth { new: curve.points().to_vec(), tail: curve.tail() });
        Curves { accuracy, loss, round_secs, participants }
    }
}

#[cfg(test)]
mod tests {
    use fedflip_record::{End, EndReason, Lost, Round};
    use serde_json::Value;

    use super::*;
    use crate::live::{EARLIER_MAX, Run};
    use crate::testing::{fleet, header, round};

    fn begin(live: &mut Live, title: &str) {
        let (fleet, header) = (fleet(10), header(10));
        let q = vec![0.1; 10];
        live.begin(&Run { title, label: "exact", header: &header, fleet: &fleet, q: &q, folder: None });
    }

    fn read(live: &Live, cursor: &mut Cursor) -> Option<Value> {
        let (update, next) = live.since(*cursor)?;
        *cursor = next;
        Some(serde_json::to_value(update).unwrap())
    }

    fn numbers(value: &Value) -> usize {
        value.as_array().unwrap().len()
    }

    #[test]
    fn everything_at_first_then_what_is_new_then_nothing() {
        let (mut live, mut cursor) = (Live::default(), Cursor::default());
        let waiting = read(&live, &mut cursor).unwrap();
        assert_eq!((&waiting["whole"], &waiting["status"]["state"]), (&true.into(), &"waiting".into()));
        assert!(read(&live, &mut cursor).is_none());

        begin(&mut live, "one");
        (1..=4).for_each(|n| live.round(&round(n, 0.2), 1.5));
        let whole = read(&live, &mut cursor).unwrap();
        assert_eq!(whole["whole"], true);
        assert_eq!(numbers(&whole["curves"]["accuracy"]["new"]), 2 * 4);
        assert_eq!((&whole["status"]["round"], &whole["status"]["real_secs"]), (&4.into(), &1.5.into()));
        assert_eq!(whole["status"]["seed"], "7");
        assert_eq!(whole["timeline"]["bars"][1]["mbps"], 40.0);

        live.round(&round(5, 0.35), 2.0);
        let delta = read(&live, &mut cursor).unwrap();
        assert_eq!(delta["whole"], false);
        assert_eq!(delta.get("earlier"), None);
        let accuracy = &delta["curves"]["accuracy"];
        assert_eq!((numbers(&accuracy["new"]), numbers(&accuracy["tail"])), (0, 2));
        assert_eq!(delta["log"][0]["text"], "round 5: accuracy 35.0 %");
        assert!(read(&live, &mut cursor).is_none());
    }

    #[test]
    fn a_new_plan_is_followed_and_the_run_goes_on() {
        let (mut live, mut cursor) = (Live::default(), Cursor::default());
        begin(&mut live, "one");
        (1..=4).for_each(|n| live.round(&round(n, 0.2), 1.5));
        read(&live, &mut cursor);
        let (fleet, mut header) = (fleet(12), header(12));
        (header.expected_rounds, header.deployed) = (Some(7.0), Some(Default::default()));
        let q = vec![0.25; 12];
        let run = Run { title: "one", label: "exact", header: &header, fleet: &fleet, q: &q, folder: None };
        live.replan(&run, "two came");
        live.round(&Round { cohort: vec![1, 11], mbps: vec![1.0; 2], ..round(5, 0.2) }, 2.0);
        let roster = live.roster().unwrap();
        assert_eq!((roster.fleet.len(), roster.q[0], roster.run), (12, 0.25, 1));
        let taken: Vec<u32> = live.tallies(1, 0..12).unwrap().iter().map(|tally| tally.taken).collect();
        assert_eq!((taken[1], taken[11]), (5, 1));
        let delta = read(&live, &mut cursor).unwrap();
        assert_eq!((&delta["whole"], &delta["status"]["round"]), (&false.into(), &5.into()));
        assert_eq!(
            (&delta["status"]["devices"], &delta["status"]["expected_rounds"]),
            (&12.into(), &7.0.into())
        );
        assert_eq!(delta["log"][0]["text"], "a new plan after round 4: two came");
        assert_eq!(delta["status"]["is_deployed"], true);
    }

    #[test]
    fn a_new_run_replaces_the_view_and_leaves_its_curves() {
        let (mut live, mut cursor) = (Live::default(), Cursor::default());
        begin(&mut live, "one");
        (1..=1000).for_each(|n| live.round(&round(n, 0.5), 0.0));
        read(&live, &mut cursor);
        let end = End {
            reason: EndReason::RoundsMax,
            rounds: 1000,
            secs: 100.0,
            metrics: [("accuracy", 0.75), ("loss", 0.25)].into(),
            detail: None,
        };
        live.end(Some(&end), 9.0);
        let ended = read(&live, &mut cursor).unwrap();
        assert_eq!(ended["whole"], false);
        assert_eq!(ended["status"]["ended"], "ended at its cap on rounds");
        assert_eq!(ended["status"]["accuracy"], 0.75);

        begin(&mut live, "two");
        let next = read(&live, &mut cursor).unwrap();
        assert_eq!((&next["whole"], &next["status"]["title"]), (&true.into(), &"two".into()));
        assert_eq!(next["earlier"][0]["title"], "one");
        let curve = next["earlier"][0]["accuracy"].as_array().unwrap();
        assert!(curve.len() <= 2 * 203, "{}", curve.len());
        assert_eq!(curve.last(), Some(&0.75.into()));
        (0..2 * EARLIER_MAX).for_each(|n| begin(&mut live, &n.to_string()));
        assert_eq!(numbers(&read(&live, &mut cursor).unwrap()["earlier"]), EARLIER_MAX);
    }

    /// The brief of a dashboard: after a hundred thousand rounds it sends no more than after two thousand.
    #[test]
    fn a_hundred_thousand_rounds_stay_small() {
        let (mut live, mut cursor) = (Live::default(), Cursor::default());
        begin(&mut live, "long");
        let (mut whole, mut most, mut deltas) = (0, 0, 0);
        for n in 1..=100_000_u64 {
            live.round(&round(n, 0.5 + 0.4 * (n as f64).sin()), n as f64);
            // As a reader at five updates a second would.
            if n % 1000 == 0 {
                let (update, next) = live.since(cursor).unwrap();
                cursor = next;
                let bytes = serde_json::to_string(&update).unwrap().len();
                most = most.max(bytes);
                if update.whole { whole += 1 } else { deltas += bytes }
            }
        }
        assert!(most < 250_000, "{most} bytes");
        // A few wholes after halvings, and a reader who keeps up gets little besides.
        assert!(whole <= 8, "{whole}");
        assert!(deltas < 100 * 20_000, "{deltas} bytes");
    }

    #[test]
    fn many_losses_do_not_flood_the_log() {
        let (mut live, mut cursor) = (Live::default(), Cursor::default());
        begin(&mut live, "lossy");
        let lost: Vec<Lost> = (0..5).map(|device| Lost { device, reason: "vanished".to_owned() }).collect();
        for n in 1..=10_000 {
            live.round(&Round { lost: lost.clone(), metrics: Default::default(), ..round(n, 0.0) }, 0.0);
        }
        let whole = read(&live, &mut cursor).unwrap();
        let lines = whole["log"].as_array().unwrap();
        assert!(lines.len() < 40, "{}", lines.len());
        assert_eq!(
            lines[1]["text"],
            "round 1: lost phone-000000 (vanished), tablet-000001 (vanished), phone-000002 (vanished) and 2 more"
        );
        assert_eq!(
            (&whole["status"]["lost"], &whole["status"]["biased_rounds"]),
            (&50_000.into(), &10_000.into())
        );
    }

    #[test]
    fn rounds_before_any_run_are_left_out() {
        let mut live = Live::default();
        live.round(&round(1, 0.5), 0.0);
        live.end(None, 0.0);
        assert_eq!(live.version(), 0);
    }
}
