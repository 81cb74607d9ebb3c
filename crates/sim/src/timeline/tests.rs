#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use fedflip_fleet::{Columns, Download, Mbps};
use fedflip_plan::CohortSize;
use proptest::prelude::*;

use super::*;

fn fleet(compute_secs: &[f64], comm_secs: &[f64]) -> Fleet {
    let samples = vec![1.0; compute_secs.len()];
    Fleet::from_columns(Columns { compute_secs, comm_secs, samples: &samples, ..Columns::default() }).unwrap()
}

fn mbps(mbps: f64) -> Mbps {
    Mbps::new(mbps).unwrap()
}

fn buffered(updates: usize, concurrency: usize, devices: usize) -> Buffered {
    Buffered::new(CohortSize::new(updates).unwrap(), Some(concurrency), devices).unwrap()
}

fn timeline(fleet: &Fleet, [updates, concurrency]: [usize; 2], conditions: Conditions) -> Timeline<'_> {
    Timeline::new(fleet, buffered(updates, concurrency, fleet.len()), mbps(10.0).into(), conditions, (7, 0.0))
}

/// Time, and the device and version of each update.
fn step(timeline: &mut Timeline<'_>) -> (f64, Vec<(usize, u64)>) {
    let mut step = Step::default();
    timeline.next_step(&mut step);
    let who = step.ended.iter().map(|ended| (ended.device_job.device, ended.version)).collect();
    ((step.secs * 1e9).round() / 1e9, who)
}

/// Three devices that always work; 10 Mbit at 10 Mbit/s each. By hand: until 2.5 s the second device has half of the
/// bandwidth; it ends at 3 s. The first one is back at 3.5 s, and alone until the third comes at 4 s and the second at 4.5 s.
#[test]
fn three_devices_by_hand() {
    let fleet = fleet(&[1.0, 1.5, 4.0], &[10.0; 3]);
    let mut timeline = timeline(&fleet, [1, 3], Conditions::default());
    assert_eq!(step(&mut timeline), (2.5, vec![(0, 0)]));
    assert_eq!(step(&mut timeline), (3.0, vec![(1, 0)]));
    assert_eq!(step(&mut timeline), (5.25, vec![(0, 1)]));
    assert_eq!(timeline.versions().collect::<Vec<_>>(), [0, 2], "the third and the second still work");
    assert_eq!(step(&mut timeline), (6.25, vec![(2, 0)]));
}

/// With as many updates as devices, a step is a round in which everybody takes part.
#[test]
fn a_buffer_for_everybody_makes_rounds() {
    let fleet = fleet(&[1.0, 1.5, 4.0], &[10.0; 3]);
    let mut timeline = timeline(&fleet, [3, 3], Conditions::default());
    assert_eq!(step(&mut timeline), (5.0, vec![(0, 0), (1, 0), (2, 0)]));
    assert_eq!(step(&mut timeline), (10.0, vec![(0, 1), (1, 1), (2, 1)]));
    assert_eq!(timeline.versions().count(), 0);
}

#[test]
fn every_idle_device_is_equally_likely() {
    let fleet = fleet(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[1.0; 6]);
    let mut timeline = timeline(&fleet, [1, 1], Conditions::default());
    let mut pairs = [[0_u32; 6]; 6];
    let draws = 36_000;
    let mut before = step(&mut timeline).1[0].0;
    for _ in 0..draws {
        let device = step(&mut timeline).1[0].0;
        pairs[before][device] += 1;
        before = device;
    }
    let expected = f64::from(draws) / 36.0;
    for count in pairs.iter().flatten() {
        // Five standard deviations.
        assert!((f64::from(*count) - expected).abs() < 5.0 * expected.sqrt(), "{pairs:?}");
    }
}

/// Fast devices deliver more often: with one device of each speed at work all the time, in the ratio of their speeds.
#[test]
fn fast_devices_deliver_more_often() {
    let fleet = fleet(&[1.0, 4.0], &[0.001; 2]);
    let mut timeline = timeline(&fleet, [1, 2], Conditions::default());
    let fast = (0..1000).filter(|_| step(&mut timeline).1[0].0 == 0).count();
    assert!((795..=805).contains(&fast), "{fast}");
}

#[test]
fn time_passes_also_if_everybody_vanishes() {
    let fleet = fleet(&[1.0, 1.5, 4.0], &[10.0; 3]);
    let conditions = Conditions { dropout: 1.0, ..Conditions::default() };
    let mut timeline = timeline(&fleet, [2, 2], conditions);
    let mut before = 0.0;
    for _ in 0..20 {
        let mut step = Step::default();
        timeline.next_step(&mut step);
        assert_eq!(step.ended.len(), 3, "each device is lost once");
        assert!(step.ended.iter().all(|ended| !ended.delivered));
        assert!(step.secs > before && step.secs < before + 15.0);
        before = step.secs;
    }
    assert_eq!(timeline.versions().count(), 0, "nothing is trained");
}

fn any_case() -> impl Strategy<Value = (Vec<(f64, f64)>, [f64; 2], Conditions, RoundCosts)> {
    let devices = prop::collection::vec((0.0..5.0_f64, 0.0..20.0_f64), 1..12);
    let conditions = (0.0..0.5_f64, 0.0..4.0_f64, prop_oneof![Just(0.0), 0.0..1.0_f64])
        .prop_map(|(compute_jitter, fading_db, dropout)| Conditions { compute_jitter, fading_db, dropout });
    let costs = (prop_oneof![Just(0.0), 0.0..3.0_f64], 0..3_usize, 1.0..20.0_f64).prop_map(
        |(overhead, mode, down)| {
            let download = Download { bandwidth: mbps(down), per_upload: 0.7 };
            let downlink = [Downlink::None, Downlink::Broadcast(download), Downlink::Unicast(download)][mode];
            RoundCosts { downlink, overhead_secs: overhead, ..mbps(10.0).into() }
        },
    );
    (devices, [0.0..1.0_f64, 0.0..1.0_f64], conditions, costs)
}

proptest! {
    #[test]
    fn steps_are_sound((devices, [updates, concurrency], conditions, costs) in any_case()) {
        let (compute_secs, comm_secs): (Vec<f64>, Vec<f64>) = devices.into_iter().unzip();
        let fleet = fleet(&compute_secs, &comm_secs);
        let count = |share: f64| 1 + (share * fleet.len() as f64) as usize;
        let (updates, concurrency) = (count(updates), count(concurrency));
        let both = buffered(updates, concurrency, fleet.len());
        let mut timeline = Timeline::new(&fleet, both, costs, conditions, (3, 2.0));
        let (mut step, mut before, mut tasks) = (Step::default(), 2.0, Vec::new());
        for number in 0..30 {
            timeline.next_step(&mut step);
            prop_assert!(step.secs >= before + costs.overhead_secs * (1.0 - 1e-12), "the server needs its time");
            before = step.secs;
            let devices: Vec<usize> = step.ended.iter().map(|ended| ended.device_job.device).collect();
            prop_assert!(devices.is_sorted_by(|a, b| a < b), "nobody twice: {devices:?}");
            let delivered = step.ended.iter().filter(|ended| ended.delivered).count();
            prop_assert!(delivered == updates || (delivered < updates && step.ended.len() == fleet.len()));
            prop_assert!(timeline.tasks.len() <= concurrency);
            for ended in &step.ended {
                prop_assert!(ended.version <= number);
                // Nobody is faster than alone on both bands.
                let job = ended.device_job.job;
                let least = costs.upload_alone_secs(job) * f64::from(u8::from(ended.delivered));
                prop_assert!(ended.share.upload_secs >= least * (1.0 - 1e-9) - 1e-9, "{ended:?}");
                if ended.delivered && conditions.compute_jitter == 0.0 {
                    let least = costs.downlink.alone_secs(job) + job.compute_secs;
                    prop_assert!(ended.share.compute_secs >= least * (1.0 - 1e-9) - 1e-9, "{ended:?}");
                }
                tasks.push(ended.task);
            }
        }
        let all = tasks.len();
        tasks.sort_unstable();
        tasks.dedup();
        prop_assert_eq!(tasks.len(), all, "no task ends twice");
    }
}
