//! The given quantities of a planning problem, and what a plan is optimised for.

use fedflip_fleet::bandwidth::{Job, finish_together};
use fedflip_fleet::{Band, Downlink, Fleet, RoundCosts};

use crate::constants::Constants;
use crate::error::PlanError;
use crate::variance::{least_sampling_variance, sampling_variance};

/// A fleet, and what its rounds cost.
#[derive(Clone, Debug)]
pub struct Problem<'a> {
    fleet: &'a Fleet,
    costs: RoundCosts,
    /// Whether the bandwidth is linear, no link has a limit, and downloads are not one per device: then transfers that follow
    /// each other take Σ t/f_tot.
    plain: bool,
    transfer_secs: Vec<f64>,
    /// Empty unless the model is broadcast.
    broadcast_secs: Vec<f64>,
    cost_secs: Vec<f64>,
    least_variance: f64,
}

impl<'a> Problem<'a> {
    /// Computes each device's cost and the least sampling variance that the fleet allows.
    ///
    /// `costs` is a bandwidth, as in the paper, or all costs of a round. A band of spectrum needs a fleet with
    /// signal-to-noise ratios; without them every device has 0 dB.
    pub fn new(fleet: &'a Fleet, costs: impl Into<RoundCosts>) -> Self {
        let costs = costs.into();
        let RoundCosts { band, downlink, .. } = costs;
        let unicast = matches!(downlink, Downlink::Unicast(_));
        let plain = matches!(band, Band::Linear(_)) && fleet.link_mbps().is_none() && !unicast;
        let jobs = || (0..fleet.len()).map(|device| job(fleet, device));
        let transfer_secs: Vec<f64> = match (plain, band) {
            (true, Band::Linear(bandwidth)) => {
                fleet.comm_secs().iter().map(|t| t / bandwidth.get()).collect()
            }
            _ => {
                let download_secs = |job| if unicast { downlink.alone_secs(job) } else { 0.0 };
                jobs().map(|job| costs.upload_alone_secs(job) + download_secs(job)).collect()
            }
        };
        let broadcast_secs: Vec<f64> = match downlink {
            Downlink::Broadcast(_) => jobs().map(|job| downlink.alone_secs(job)).collect(),
            Downlink::None | Downlink::Unicast(_) => Vec::new(),
        };
        let times = fleet.compute_secs().iter().zip(&transfer_secs);
        let mut cost_secs: Vec<f64> = times.map(|(tau, transfer)| transfer + tau).collect();
        cost_secs.iter_mut().zip(&broadcast_secs).for_each(|(cost, download)| *cost += download);
        let least_variance = least_sampling_variance(fleet);
        Self { fleet, costs, plain, transfer_secs, broadcast_secs, cost_secs, least_variance }
    }

    /// The fleet that is planned for.
    pub fn fleet(&self) -> &'a Fleet {
        self.fleet
    }

    /// What rounds cost besides computing.
    pub fn costs(&self) -> &RoundCosts {
        &self.costs
    }

    /// o: the time that every round takes in addition.
    pub fn overhead_secs(&self) -> f64 {
        self.costs.overhead_secs
    }

    /// c_n = t_n/f_tot + τ_n: what one certain participation costs in the paper's upper bound. The upload is that of a
    /// device with the whole bandwidth for itself, and the download of the model is part of the cost.
    pub fn cost_secs(&self) -> &[f64] {
        &self.cost_secs
    }

    /// t_n/f_tot, and the download if each device has one of its own: the transfers of a device alone.
    pub fn transfer_secs(&self) -> &[f64] {
        &self.transfer_secs
    }

    /// The download of a broadcast to each device alone; empty if the model is not broadcast.
    pub fn broadcast_secs(&self) -> &[f64] {
        &self.broadcast_secs
    }

    /// Σ q_n t_n/f_tot: the mean time of transfers that follow each other.
    pub fn mean_transfer_secs(&self, q: &[f64]) -> f64 {
        match self.costs.band {
            Band::Linear(bandwidth) if self.plain => {
                q.iter().zip(self.fleet.comm_secs()).map(|(q, t)| q * t).sum::<f64>() / bandwidth.get()
            }
            _ => q.iter().zip(&self.transfer_secs).map(|(q, transfer)| q * transfer).sum(),
        }
    }

    /// The work of a device.
    pub fn job(&self, device: usize) -> Job {
        job(self.fleet, device)
    }

    /// The length of the round of a cohort, from the start of its downloads to the end of its uploads.
    pub fn cohort_secs(&self, jobs: impl Iterator<Item = Job> + Clone) -> f64 {
        let download_secs = self.costs.downlink.secs(jobs.clone());
        download_secs + finish_together(jobs, self.costs.band).round_secs()
    }

    /// What finishing together saves a cohort on transfers that follow each other after the slowest computation: at least
    /// 0, and 0 for a cohort of one.
    pub fn gap_secs(&self, jobs: impl Iterator<Item = Job> + Clone) -> f64 {
        // Of T̂ = max τ + tail only the tail differs.
        let tail_secs = finish_together(jobs.clone(), self.costs.band).tail_secs;
        match self.costs.band {
            Band::Linear(bandwidth) if self.plain => {
                (jobs.map(|job| job.load_mbit).sum::<f64>() / bandwidth.get() - tail_secs).max(0.0)
            }
            _ => {
                let upload_secs: f64 = jobs.clone().map(|job| self.costs.upload_alone_secs(job)).sum();
                (upload_secs - tail_secs).max(0.0) + self.download_gap_secs(jobs)
            }
        }
    }

    /// What downloads that finish together save on downloads that follow each other. The mean of a broadcast is known, so
    /// nothing of it is a gap.
    fn download_gap_secs(&self, jobs: impl Iterator<Item = Job> + Clone) -> f64 {
        let downlink = &self.costs.downlink;
        match downlink {
            Downlink::Unicast(_) => {
                let in_turn_secs: f64 = jobs.clone().map(|job| downlink.alone_secs(job)).sum();
                (in_turn_secs - downlink.secs(jobs)).max(0.0)
            }
            Downlink::None | Downlink::Broadcast(_) => 0.0,
        }
    }

    /// Σ a_n²/cap_n: the sampling variance when every device takes part as often as it can.
    pub fn least_variance(&self) -> f64 {
        self.least_variance
    }

    /// The sampling variance C(q) = Σ a_n²/q_n.
    pub fn sampling_variance(&self, q: &[f64]) -> f64 {
        sampling_variance(self.fleet.weights(), q)
    }

    /// o + Σ q_n c_n, the paper's upper bound on the mean round time.
    pub fn linear_bound_secs(&self, q: &[f64]) -> f64 {
        self.costs.overhead_secs + q.iter().zip(&self.cost_secs).map(|(q, cost)| q * cost).sum::<f64>()
    }
}

fn job(fleet: &Fleet, device: usize) -> Job {
    let (compute_secs, load_mbit) = (fleet.compute_secs()[device], fleet.comm_secs()[device]);
    Job { compute_secs, load_mbit, link: fleet.link(device) }
}

/// What an optimised plan is optimal for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    /// Reach the target in the least time, where α and β predict the number of rounds.
    Rounds(Constants),
    /// Have the shortest rounds for this sampling variance. No constants are needed, and the number of rounds stays
    /// unknown. The variance is what rounds without overhead would choose: the plan goes below it as the overhead grows,
    /// and above it where devices are at their caps.
    Variance(f64),
}

impl Goal {
    /// β of the ratio (o + Σ q c)/(β − C(q)) that the plan minimises.
    ///
    /// Without overhead and below the caps the optimum of that ratio has the variance β/2, so a variance V is the goal β = 2V. A V that no q
    /// attains becomes the least attainable one.
    pub(crate) fn beta(self, problem: &Problem<'_>) -> f64 {
        match self {
            Self::Rounds(constants) => constants.beta(),
            Self::Variance(variance) => 2.0 * problem.least_variance.max(variance),
        }
    }

    /// The time to the target when rounds take `round_secs` on average; none if `q` cannot reach it.
    ///
    /// For [`Goal::Variance`] the unit is arbitrary but the same for every q, so plans can be ranked.
    pub fn total_secs(self, problem: &Problem<'_>, q: &[f64], round_secs: f64) -> Option<f64> {
        let rounds = match self {
            Self::Rounds(constants) => constants.rounds(problem.sampling_variance(q))?,
            Self::Variance(_) => {
                let headroom = self.beta(problem) - problem.sampling_variance(q);
                (headroom > 0.0).then(|| 1.0 / headroom)?
            }
        };
        Some(rounds * round_secs)
    }
}

/// A problem and a goal: the round model R(q) = α/(β − C(q)), and the objectives of P2 and P3.
#[derive(Clone, Copy, Debug)]
pub struct RoundModel<'p, 'a> {
    problem: &'p Problem<'a>,
    alpha: f64,
    beta: f64,
}

impl<'p, 'a> RoundModel<'p, 'a> {
    /// The round model of `problem`, whether or not some q reaches the target.
    pub fn new(problem: &'p Problem<'a>, constants: Constants) -> Self {
        Self { problem, alpha: constants.alpha(), beta: constants.beta() }
    }

    /// The round model of a goal. For a variance, the number of rounds has an arbitrary unit. Constants whose target no q
    /// can reach are refused.
    pub fn for_goal(problem: &'p Problem<'a>, goal: Goal) -> Result<Self, PlanError> {
        match goal {
            Goal::Rounds(constants) => Self::reachable(problem, constants),
            Goal::Variance(_) => Ok(Self { problem, alpha: 1.0, beta: goal.beta(problem) }),
        }
    }

    /// Refuses constants whose target no q can reach.
    pub fn reachable(problem: &'p Problem<'a>, constants: Constants) -> Result<Self, PlanError> {
        if problem.least_variance < constants.beta() {
            return Ok(Self::new(problem, constants));
        }
        let fleet = problem.fleet;
        let (worst, worst_variance) = largest_term(fleet, fleet.availability());
        Err(PlanError::Unreachable {
            beta: constants.beta(),
            least_variance: problem.least_variance,
            worst: fleet.name(worst).to_owned(),
            worst_variance,
        })
    }

    pub(crate) fn problem(&self) -> &'p Problem<'a> {
        self.problem
    }

    pub(crate) fn beta(&self) -> f64 {
        self.beta
    }

    /// β − C(q) where it is positive, so that q reaches the target.
    pub fn headroom(&self, q: &[f64]) -> Option<f64> {
        Some(self.beta() - self.problem.sampling_variance(q)).filter(|&headroom| headroom > 0.0)
    }

    /// R(q) = α/(β − C(q)), if q reaches the target.
    pub fn rounds(&self, q: &[f64]) -> Option<f64> {
        self.headroom(q).map(|headroom| self.alpha / headroom)
    }

    /// P2's objective: R(q) · (o + Σ q_n c_n), in seconds.
    pub fn objective_p2(&self, q: &[f64]) -> Option<f64> {
        self.rounds(q).map(|rounds| rounds * self.problem.linear_bound_secs(q))
    }

    /// lo_n = a_n² N/β of a device with the data share a_n: P3's surrogate is only defined above it.
    pub fn surrogate_floor(&self, weight: f64) -> f64 {
        weight.powi(2) * self.problem.fleet.len() as f64 / self.beta()
    }

    /// P3's objective: Σ α q_n/(Nβ q_n − a_n² N²) · (o + Σ q_n c_n), in seconds; none outside its domain.
    pub fn objective_p3(&self, q: &[f64]) -> Option<f64> {
        let mut stretch = 0.0;
        for (&q, &weight) in q.iter().zip(self.problem.fleet.weights()) {
            let floor = self.surrogate_floor(weight);
            if q <= floor {
                return None;
            }
            stretch += q / (q - floor);
        }
        let scale = self.alpha / (self.problem.fleet.len() as f64 * self.beta());
        Some(scale * stretch * self.problem.linear_bound_secs(q))
    }
}

/// The device that contributes most to Σ a²/q, and its term.
pub fn largest_term(fleet: &Fleet, q: &[f64]) -> (usize, f64) {
    let terms = fleet.weights().iter().zip(q).map(|(a, q)| a * a / q);
    terms.enumerate().fold((0, 0.0), |worst, (n, term)| if term > worst.1 { (n, term) } else { worst })
}
