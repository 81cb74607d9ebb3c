//! Who works when, where there are no rounds: a simulation of events that knows no models.
//!
//! A number of devices works at a time. Each downloads the model, computes, and uploads; then the next one is drawn. When
//! enough updates have arrived, the server steps. None of this depends on what devices learn, so the timeline of a run
//! can be replayed without training: a resumed run begins with that.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use fedflip_fleet::bandwidth::{self, DeviceJob, Share};
use fedflip_fleet::transfers::Transfers;
use fedflip_fleet::{Band, Conditions, Downlink, Fleet, Purpose, RoundCosts, StreamKey};
use fedflip_plan::Buffered;
use rand::RngExt;

use crate::task::{Fate, Task};

/// The work of all devices over virtual time, step by step of the server.
#[derive(Clone, Debug)]
pub struct Timeline<'f> {
    fleet: &'f Fleet,
    buffered: Buffered,
    costs: RoundCosts,
    conditions: Conditions,
    seed: u64,
    secs: f64,
    /// The steps that the server has made: the version of its model.
    steps: u64,
    /// The number of the task that began last.
    last_task: u64,
    /// The devices that can be drawn: they neither work nor wait for the next step.
    idle: Vec<usize>,
    /// The tasks under way, by number.
    tasks: BTreeMap<u64, Task>,
    /// Shared downloads; other downloads are part of `waits`.
    downloads: Option<Transfers>,
    /// Tasks that download alone or compute, by the time at which that ends.
    waits: BinaryHeap<Reverse<(Moment, u64)>>,
    uploads: Transfers,
    /// Updates that no step has taken, in the order of arrival.
    buffer: VecDeque<Ended>,
    /// Devices that vanished since the last step.
    lost: Vec<Ended>,
    /// The end of the server's step, while it makes one.
    busy_until_secs: Option<f64>,
    /// For each version, the tasks that began with it and whose update no step has taken.
    versions: BTreeMap<u64, usize>,
    events: u64,
}

/// A task that is over.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ended {
    /// The number of the task, counted from 1.
    pub task: u64,
    /// The device and its job.
    pub device_job: DeviceJob,
    /// The steps that the server had made when the task began.
    pub version: u64,
    /// The times from the start of the task, and the mean rate of the upload.
    pub share: Share,
    /// Whether the update has arrived.
    pub delivered: bool,
}

/// A step of the server.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    /// The time at which the new model is ready.
    pub secs: f64,
    /// The tasks whose updates are part of the step, and those of devices that vanished before it; by device.
    pub ended: Vec<Ended>,
}

/// A time as a key of a heap.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Moment(f64);

impl Eq for Moment {}

impl PartialOrd for Moment {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Moment {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl<'f> Timeline<'f> {
    /// Before the first task. The clock starts at `secs`.
    pub fn new(
        fleet: &'f Fleet,
        buffered: Buffered,
        costs: RoundCosts,
        conditions: Conditions,
        (seed, secs): (u64, f64),
    ) -> Self {
        let downloads = match costs.downlink {
            Downlink::Unicast(download) => Some(Transfers::new(Band::Linear(download.bandwidth))),
            Downlink::None | Downlink::Broadcast(_) => None,
        };
        Self {
            fleet,
            buffered,
            costs,
            conditions,
            seed,
            secs,
            steps: 0,
            last_task: 0,
            idle: (0..fleet.len()).collect(),
            tasks: BTreeMap::new(),
            downloads,
            waits: BinaryHeap::new(),
            uploads: Transfers::new(costs.band),
            buffer: VecDeque::new(),
            lost: Vec::new(),
            busy_until_secs: None,
            versions: BTreeMap::new(),
            events: 0,
        }
    }

    /// The present virtual time in seconds.
    pub fn secs(&self) -> f64 {
        self.secs
    }

    /// The steps so far.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The starts and ends of downloads, computations and uploads so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The versions of the model from which devices train whose updates no step has taken, oldest first.
    pub fn versions(&self) -> impl Iterator<Item = u64> {
        self.versions.keys().copied()
    }

    /// Lets devices work until the server has made its next step, which replaces `step`.
    ///
    /// The server steps when K updates are there. It also steps when nobody works and nobody can be drawn: where all
    /// devices vanish, time still passes. While it is at its step, it hands out no work.
    pub fn next_step(&mut self, step: &mut Step) {
        loop {
            let due = self.buffer.len() >= self.buffered.updates();
            if self.busy_until_secs.is_none() && !due {
                self.hand_out();
            }
            if self.busy_until_secs.is_none() && (due || self.tasks.is_empty()) {
                self.busy_until_secs = Some(self.secs + self.costs.overhead_secs);
            }
            let event_secs = self.next_event_secs();
            match self.busy_until_secs {
                Some(end_secs) if end_secs <= event_secs => {
                    self.secs = end_secs;
                    return self.finish(step);
                }
                _ => self.happen(event_secs),
            }
        }
    }

    /// Ends the server's step.
    fn finish(&mut self, step: &mut Step) {
        self.busy_until_secs = None;
        self.steps += 1;
        step.secs = self.secs;
        step.ended.clear();
        let taken = self.buffer.len().min(self.buffered.updates());
        for ended in self.buffer.drain(..taken) {
            if let Some(tasks) = self.versions.get_mut(&ended.version) {
                *tasks -= 1;
                if *tasks == 0 {
                    self.versions.remove(&ended.version);
                }
            }
            step.ended.push(ended);
        }
        step.ended.append(&mut self.lost);
        step.ended.sort_unstable_by_key(|ended| ended.device_job.device);
        self.idle.extend(step.ended.iter().map(|ended| ended.device_job.device));
    }

    /// Gives work to devices, until enough of them work or nobody is idle.
    fn hand_out(&mut self) {
        while self.tasks.len() < self.buffered.concurrency() && !self.idle.is_empty() {
            self.last_task += 1;
            let key = StreamKey { seed: self.seed, purpose: Purpose::Cohort, round: self.last_task };
            let drawn = key.shared().random_range(0..self.idle.len());
            let device = self.idle.swap_remove(drawn);
            // The fleet has a job for each of its positions.
            let Some(device_job) = bandwidth::device_jobs(self.fleet, &[device]).next() else { continue };
            self.start(device_job);
        }
    }

    fn start(&mut self, mut device_job: DeviceJob) {
        let (seed, number, device) = (self.seed, self.last_task, device_job.device);
        device_job.job.load_mbit *= self.conditions.fade(seed, number, device);
        let download_alone_secs = self.costs.downlink.alone_secs(device_job.job);
        let compute_secs = device_job.job.compute_secs * self.conditions.jitter(seed, number, device);
        let upload_alone_secs = self.costs.upload_alone_secs(device_job.job);
        let fate = match self.conditions.vanishes_after(seed, number, device) {
            Some(part) => Fate::vanishing(part, [download_alone_secs, compute_secs, upload_alone_secs]),
            None => Fate::DELIVERS,
        };
        if fate.delivers {
            *self.versions.entry(self.steps).or_default() += 1;
        }
        let task = Task::new(device_job, self.steps, self.secs, compute_secs, fate);
        self.events += 1;
        match (&mut self.downloads, self.costs.downlink) {
            (Some(downloads), Downlink::Unicast(download)) => {
                let load_mbit = fate.downloaded * download.per_upload * device_job.job.load_mbit;
                downloads.begin(self.secs, number, load_mbit, device_job.job.link);
            }
            _ => {
                let until_secs = self.secs + fate.downloaded * download_alone_secs + task.computing_secs();
                self.waits.push(Reverse((Moment(until_secs), number)));
            }
        }
        self.tasks.insert(number, task);
    }

    fn next_event_secs(&mut self) -> f64 {
        let wait_secs = self.waits.peek().map_or(f64::INFINITY, |Reverse((Moment(secs), _))| *secs);
        let download_secs = self.downloads.as_mut().map_or(f64::INFINITY, Transfers::next_end_secs);
        wait_secs.min(download_secs).min(self.uploads.next_end_secs())
    }

    /// The next event. Of events at the same time, uploads end first, and then downloads.
    fn happen(&mut self, secs: f64) {
        self.secs = secs;
        self.events += 1;
        if self.uploads.next_end_secs() <= secs {
            if let Some(number) = self.uploads.end_next() {
                self.end(number);
            }
            return;
        }
        if let Some(downloads) = &mut self.downloads
            && downloads.next_end_secs() <= secs
        {
            if let Some(number) = downloads.end_next()
                && let Some(task) = self.tasks.get(&number)
            {
                self.waits.push(Reverse((Moment(secs + task.computing_secs()), number)));
            }
            return;
        }
        let Some(Reverse((_, number))) = self.waits.pop() else { return };
        let Some(task) = self.tasks.get_mut(&number) else { return };
        if task.fate.computes_to_the_end() {
            task.upload_from_secs = Some(secs);
            let job = task.device_job.job;
            self.uploads.begin(secs, number, task.fate.uploaded * job.load_mbit, job.link);
        } else {
            self.end(number);
        }
    }

    /// A device has delivered, or is lost.
    fn end(&mut self, number: u64) {
        let Some(task) = self.tasks.remove(&number) else { return };
        let ended = Ended {
            task: number,
            device_job: task.device_job,
            version: task.version,
            share: task.share(self.secs),
            delivered: task.fate.delivers,
        };
        if ended.delivered {
            self.buffer.push_back(ended);
        } else {
            self.lost.push(ended);
        }
    }
}

#[cfg(test)]
mod tests;
