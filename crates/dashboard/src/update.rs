//! What a reader is sent: everything at first, then what is new.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::current::{Current, RunStatus};
use crate::live::{Earlier, Live};
use crate::log::Line;
use crate::series::{Growth, Seen, Series};
use crate::standings::Row;
use crate::tally::Timeline;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    /// The version of the view; none before anything was read.
    version: Option<u64>,
    run: u64,
    lines: u64,
    /// Of each curve, in the order of [`Current::curves`].
    curves: Vec<Seen>,
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
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "shared")]
    earlier: Vec<Arc<Earlier>>,
}

fn shared<S: Serializer>(runs: &[Arc<Earlier>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(runs.iter().map(|run| &**run))
}

#[derive(Debug, Serialize)]
struct Status {
    state: &'static str,
    ended: Option<String>,
    runs: u64,
    /// How the schemes did so far.
    schemes: Vec<Row>,
    is_done: bool,
    #[serde(flatten)]
    run: Option<RunStatus>,
}

#[derive(Debug, Serialize)]
struct Curves {
    metrics: BTreeMap<String, Growth>,
    round_secs: Growth,
    participants: Growth,
}

impl Live {
    /// What has happened since, and how far that leads; none if nothing has. A reader whose curves were merged
    /// since, or that knows another run, gets everything: there is no queue, so a slow reader costs nothing.
    pub fn since(&self, cursor: &Cursor) -> Option<(Update, Cursor)> {
        if cursor.version == Some(self.version) {
            return None;
        }
        let current = self.current.as_ref();
        let growth =
            current.filter(|_| cursor.run == self.runs).and_then(|current| current.growth(&cursor.curves));
        let whole = growth.is_none();
        let update = Update {
            whole,
            version: self.version,
            status: self.status(),
            curves: growth
                .or_else(|| current?.growth(&current?.curves().map(Series::unseen).collect::<Vec<_>>())),
            timeline: current.map(|current| current.timeline.clone()),
            log: self.log.since(if whole { 0 } else { cursor.lines }),
            earlier: if whole { self.earlier.iter().cloned().collect() } else { Vec::new() },
        };
        let next = Cursor {
            version: Some(self.version),
            run: self.runs,
            lines: self.log.written(),
            curves: current.map_or(Vec::new(), |current| current.curves().map(Series::seen).collect()),
        };
        Some((update, next))
    }

    fn status(&self) -> Status {
        let run = self.current.as_ref().map(|current| &current.status);
        Status {
            state: run.map_or("waiting", RunStatus::state),
            ended: run.and_then(RunStatus::ended),
            runs: self.runs,
            schemes: self.standings.rows().to_vec(),
            is_done: self.is_done,
            run: run.cloned(),
        }
    }
}

impl Current {
    fn curves(&self) -> impl Iterator<Item = &Series> {
        self.metrics.iter().map(|(_, curve)| curve).chain([&self.round_secs, &self.participants])
    }

    /// None if some curve is no longer the one that was seen.
    fn growth(&self, seen: &[Seen]) -> Option<Curves> {
        let mut grown = self.curves().zip(seen).map(|(curve, seen)| curve.since(*seen));
        let mut next = || grown.next().flatten();
        let metrics = self.metrics.iter().map(|(info, _)| Some((info.name.to_string(), next()?))).collect();
        let metrics: Option<BTreeMap<String, Growth>> = metrics;
        Some(Curves { metrics: metrics?, round_secs: next()?, participants: next()? })
    }
}

#[cfg(test)]
mod tests {
    use fedflip_record::{End, EndReason, Initial, Lost, Round};
    use serde_json::Value;

    use super::*;
    use crate::live::{EARLIER_MAX, Run};
    use crate::testing::{fleet, header, regression_header, round};

    fn begin(live: &mut Live, title: &str) {
        let (fleet, header) = (fleet(10), header(10));
        let q = vec![0.1; 10];
        live.begin(&Run { title, label: "exact", header: &header, fleet: &fleet, q: &q, folder: None });
    }

    fn read(live: &Live, cursor: &mut Cursor) -> Option<Value> {
        let (update, next) = live.since(cursor)?;
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
        assert_eq!(numbers(&whole["curves"]["metrics"]["accuracy"]["new"]), 2 * 4);
        assert_eq!(
            (&whole["status"]["summary"]["rounds"], &whole["status"]["real_secs"]),
            (&4.into(), &1.5.into())
        );
        assert_eq!(whole["status"]["seed"], "7");
        assert_eq!(whole["timeline"]["bars"][1]["mbps"], 40.0);

        live.round(&round(5, 0.35), 2.0);
        let delta = read(&live, &mut cursor).unwrap();
        assert_eq!(delta["whole"], false);
        assert_eq!(delta.get("earlier"), None);
        let accuracy = &delta["curves"]["metrics"]["accuracy"];
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
        assert_eq!((&delta["whole"], &delta["status"]["summary"]["rounds"]), (&false.into(), &5.into()));
        assert_eq!(
            (&delta["status"]["header"]["devices"], &delta["status"]["header"]["expected_rounds"]),
            (&12.into(), &7.0.into())
        );
        assert_eq!(delta["log"][0]["text"], "a new plan after round 4: two came");
        assert!(delta["status"]["header"]["deployed"].is_object());
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
            estimated: None,
            test: Default::default(),
            detail: None,
        };
        live.end(Some(&end), 9.0);
        let ended = read(&live, &mut cursor).unwrap();
        assert_eq!(ended["whole"], false);
        assert_eq!(ended["status"]["ended"], "ended at its cap on rounds");
        assert_eq!(ended["status"]["summary"]["metrics"]["accuracy"], 0.75);

        begin(&mut live, "two");
        let next = read(&live, &mut cursor).unwrap();
        assert_eq!((&next["whole"], &next["status"]["title"]), (&true.into(), &"two".into()));
        assert_eq!(next["earlier"][0]["title"], "one");
        let curve = next["earlier"][0]["curves"]["accuracy"].as_array().unwrap();
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
                let (update, next) = live.since(&cursor).unwrap();
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
            (&whole["status"]["lost"], &whole["status"]["summary"]["biased_rounds"]),
            (&50_000.into(), &10_000.into())
        );
    }

    #[test]
    fn a_task_without_accuracy_has_its_own_curves_and_headline() {
        let (mut live, mut cursor) = (Live::default(), Cursor::default());
        let (fleet, header, q) = (fleet(2), regression_header(2), vec![0.5; 2]);
        live.begin(&Run {
            title: "one",
            label: "exact",
            header: &header,
            fleet: &fleet,
            q: &q,
            folder: None,
        });
        live.initial(&Initial { metrics: [("rmse", 2.0), ("loss", 4.0)].into(), ..Initial::default() });
        for (n, rmse) in [(1, 1.9), (2, 1.4), (3, 1.5)] {
            live.round(
                &Round { metrics: [("rmse", rmse), ("loss", rmse * rmse)].into(), ..round(n, 0.0) },
                0.0,
            );
        }
        let whole = read(&live, &mut cursor).unwrap();
        let rmse = &whole["curves"]["metrics"]["rmse"];
        assert_eq!((&rmse["new"][1], &rmse["new"][0], numbers(&rmse["new"])), (&2.0.into(), &0.0.into(), 8));
        assert_eq!(numbers(&whole["curves"]["metrics"]["loss"]["new"]), 8);
        assert_eq!(whole["status"]["header"]["metrics"][0]["name"], "rmse");
        assert_eq!(whole["status"]["summary"]["metrics"]["rmse"], 1.5);
        // Ten percent better is worth a line; what is worse is not.
        let lines: Vec<&str> =
            whole["log"].as_array().unwrap().iter().filter_map(|line| line["text"].as_str()).collect();
        assert_eq!(lines, ["one: began", "round 2: rmse 1.4"]);
        live.begin(&Run {
            title: "two",
            label: "exact",
            header: &header,
            fleet: &fleet,
            q: &q,
            folder: None,
        });
        let next = read(&live, &mut cursor).unwrap();
        assert_eq!(numbers(&next["earlier"][0]["curves"]["rmse"]), 8);
    }

    #[test]
    fn rounds_before_any_run_are_left_out() {
        let mut live = Live::default();
        live.round(&round(1, 0.5), 0.0);
        live.end(None, 0.0);
        assert_eq!(live.version(), 0);
    }
}
