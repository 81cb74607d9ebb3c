//! The experiments, and what is to hold.

use std::fmt;

use super::hours::Counted;

/// One of them.
#[derive(Debug)]
pub(super) struct Experiment {
    pub name: &'static str,
    pub shows: &'static str,
    pub parts: &'static [Part],
    pub claims: &'static [Claim],
}

/// One command of an experiment, with a folder of its own.
#[derive(Debug)]
pub(super) struct Part {
    /// Below the experiment's; empty where it is the only one.
    pub folder: &'static str,
    /// A file of the experiment.
    pub scenario: &'static str,
    /// The words behind `fedflip`; SCENARIO stands for the file.
    pub full: &'static str,
    /// The same in little, on `experiments/quick.toml`.
    pub quick: &'static str,
}

/// One scheme takes longer than another.
#[derive(Debug)]
pub(super) struct Claim {
    pub faster: Place,
    pub slower: Place,
    pub counted: Counted,
    /// How many times the hours, at least.
    pub at_least: f64,
    pub at_least_quick: f64,
}

/// Where hours are.
#[derive(Debug)]
pub(super) struct Place {
    /// Of a comparison, below the runs of the experiment.
    pub folder: &'static str,
    pub scheme: &'static str,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.scheme)?;
        if self.folder.is_empty() { Ok(()) } else { write!(f, " ({})", self.folder) }
    }
}

/// Within one comparison, without the pilots.
const fn slower(slower: &'static str, faster: &'static str, at_least: f64, at_least_quick: f64) -> Claim {
    within("", slower, faster, at_least, at_least_quick)
}

/// Within the comparison of a folder, without the pilots.
const fn within(
    folder: &'static str,
    slower: &'static str,
    faster: &'static str,
    at_least: f64,
    at_least_quick: f64,
) -> Claim {
    across((folder, slower), (folder, faster), Counted::Training, [at_least, at_least_quick])
}

/// Of two comparisons: the slower place, then the faster one, each a folder and a scheme; full and quick.
const fn across(
    slower: (&'static str, &'static str),
    faster: (&'static str, &'static str),
    counted: Counted,
    [at_least, at_least_quick]: [f64; 2],
) -> Claim {
    Claim {
        faster: Place { folder: faster.0, scheme: faster.1 },
        slower: Place { folder: slower.0, scheme: slower.1 },
        counted,
        at_least,
        at_least_quick,
    }
}

const ONLY: &str = "";
const SCENARIO: &str = "scenario.toml";

/// A table of a task that is too large for a day: half an hour a run, and as much again whenever it is run again. What
/// does not get there is a bound.
const AS_FAR_AS_IT_GETS: Part = Part {
    folder: ONLY,
    scenario: SCENARIO,
    full: "compare SCENARIO --seeds 1 --give-up 100 --no-pilot --set stop.real_hours_max=0.5 \
           --schemes auto,paper,exact,weighted,uniform,fixed=0.2,full",
    quick: "compare SCENARIO --seeds 1 --give-up 20 --no-pilot --schemes auto,weighted,paper",
};

/// Sampling alone, where `auto` has quiet rounds and `paper` none; on made-up data they have to be asked for, and both
/// have them.
const QUIET: Part = Part {
    folder: ONLY,
    scenario: SCENARIO,
    full: "compare SCENARIO --seeds 1 --give-up 100 --no-pilot --schemes auto,paper",
    quick: "compare SCENARIO --seeds 3 --no-pilot --schemes auto,paper --set server.optimiser=none \
            --set server.averaging=0 --set update.encoding=f32 --set plan.quiet_noise=0.2",
};

pub(super) const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        name: "mnist-table",
        shows: "Table I and Fig. 2: CNN on MNIST to 95 %, and `exact`, `tight`, `sampled` beside the paper's schemes",
        parts: &[Part {
            folder: ONLY,
            scenario: SCENARIO,
            full: "compare SCENARIO --seeds 3 --give-up 20 \
                   --schemes exact,paper,tight,sampled,weighted,uniform,fixed=0.2,full",
            quick: "compare SCENARIO --seeds 3 --give-up 20 --schemes exact,paper,uniform,fixed=0.2,full",
        }],
        claims: &[
            slower("full", "paper", 7.0, 2.0),
            slower("fixed=0.2", "paper", 2.5, 1.1),
            slower("uniform", "exact", 1.2, 1.2),
            slower("paper", "exact", 1.15, 1.15),
        ],
    },
    Experiment {
        name: "cifar-table",
        shows: "Table I and Fig. 3: MobileNet of a quarter's width on CIFAR-10 to 60 %, as far as this machine gets",
        parts: &[AS_FAR_AS_IT_GETS],
        claims: &[slower("paper", "auto", 3.0, 1.2)],
    },
    Experiment {
        name: "cifar-sampling",
        shows: "MobileNet on CIFAR-10 to 40 %: the q of `auto` alone, with the plain sum, beside `paper` and its pilots",
        parts: &[Part {
            folder: ONLY,
            scenario: SCENARIO,
            full: "compare SCENARIO --seeds 3 --give-up 100 --schemes auto,paper",
            quick: "compare SCENARIO --seeds 3 --schemes auto,paper --set server.optimiser=none \
                    --set server.averaging=0 --set update.encoding=f32 --set plan.noise=1",
        }],
        claims: &[across((ONLY, "paper"), (ONLY, "auto"), Counted::WithPilots, [1.5, 1.5])],
    },
    Experiment {
        name: "cifar-quiet",
        shows: "MobileNet on CIFAR-10 to 60 %: the q of `auto` alone, with quiet rounds, beside `paper`",
        parts: &[QUIET],
        claims: &[slower("paper", "auto", 1.15, 1.15)],
    },
    Experiment {
        name: "full-width",
        shows: "Table I: MobileNet of full width on CIFAR-10, on the way: to 40 %, by the two schemes that get there",
        parts: &[Part {
            folder: ONLY,
            scenario: SCENARIO,
            full: "compare SCENARIO --seeds 1 --give-up 100 --no-pilot --schemes auto,paper",
            quick: "compare SCENARIO --seeds 1 --give-up 20 --no-pilot --schemes auto,paper",
        }],
        claims: &[slower("paper", "auto", 1.5, 1.2)],
    },
    Experiment {
        name: "shakespeare-table",
        shows: "Table I and Fig. 4: LSTM on Shakespeare to 48 %, as far as this machine gets",
        parts: &[AS_FAR_AS_IT_GETS],
        claims: &[slower("paper", "auto", 3.0, 1.2)],
    },
    Experiment {
        name: "shakespeare-sampling",
        shows: "LSTM on Shakespeare to 48 %: the q of `auto` alone, with the plain sum, beside `paper`",
        parts: &[Part {
            folder: ONLY,
            scenario: SCENARIO,
            full: "compare SCENARIO --seeds 1 --give-up 100 --no-pilot --schemes auto,paper",
            quick: "compare SCENARIO --seeds 3 --no-pilot --schemes auto,paper --set server.optimiser=none \
                    --set server.averaging=0 --set update.encoding=f32",
        }],
        claims: &[slower("paper", "auto", 1.15, 1.15)],
    },
    Experiment {
        name: "pilots",
        shows: "pilots thrown away, and gone on from",
        parts: &[
            Part {
                folder: "thrown-away",
                scenario: SCENARIO,
                full: "compare SCENARIO --seeds 3 --schemes exact,paper",
                quick: "compare SCENARIO --seeds 3 --schemes exact",
            },
            Part {
                folder: "kept",
                scenario: SCENARIO,
                full: "compare SCENARIO --seeds 3 --schemes exact,paper --set pilot.keep=true",
                quick: "compare SCENARIO --seeds 3 --schemes exact --set pilot.keep=true",
            },
        ],
        claims: &[across(("thrown-away", "exact"), ("kept", "exact"), Counted::WithPilots, [1.0, 1.0])],
    },
    Experiment {
        name: "noise",
        shows: "hours against β, which is how much noise the plan allows: what there is to gain from measuring it",
        parts: &[Part {
            folder: ONLY,
            scenario: SCENARIO,
            full: "sweep SCENARIO --over plan.beta=0.5,1,2,2.8,4,6 --seeds 3 --give-up 20 --no-pilot --schemes exact",
            quick: "sweep SCENARIO --over plan.beta=0.5,2.8,6 --seeds 3 --give-up 20 --no-pilot --schemes exact",
        }],
        claims: &[across(
            ("plan.beta=0.5", "exact"),
            ("plan.beta=2.8", "exact"),
            Counted::Training,
            [1.5, 1.1],
        )],
    },
    Experiment {
        name: "bandwidth",
        shows: "Fig. 5: the speed-up over full sampling at 100, 200 and 400 Mbit/s",
        parts: &[Part {
            folder: ONLY,
            scenario: SCENARIO,
            full: "sweep SCENARIO --over fleet.bandwidth_mbps=100,200,400 --seeds 3 --give-up 20 --no-pilot \
                   --schemes exact,paper,full",
            quick: "sweep SCENARIO --over fleet.bandwidth_mbps=100,400 --seeds 1 --give-up 20 --no-pilot \
                    --schemes exact,paper,full",
        }],
        claims: &[
            within("fleet.bandwidth_mbps=100", "full", "paper", 5.0, 2.5),
            within("fleet.bandwidth_mbps=400", "full", "paper", 3.0, 1.2),
        ],
    },
    Experiment {
        name: "device-model",
        shows: "how the ratios depend on the share of computation in a round's time",
        parts: &[Part {
            folder: ONLY,
            scenario: SCENARIO,
            full: "sweep SCENARIO --over fleet.work_gflop=0.0083,0.083,0.83,8.3 --seeds 3 --give-up 100 --no-pilot \
                   --schemes exact,paper,weighted,uniform,fixed=0.2",
            quick: "sweep SCENARIO --over fleet.work_gflop=0.0083,8.3 --seeds 1 --give-up 100 --no-pilot \
                    --schemes exact,paper,weighted,uniform,fixed=0.2",
        }],
        claims: &[
            within("fleet.work_gflop=0.0083", "fixed=0.2", "exact", 5.0, 5.0),
            within("fleet.work_gflop=8.3", "fixed=0.2", "exact", 1.1, 1.1),
        ],
    },
    Experiment {
        name: "allocation",
        shows: "adaptive shares of the band against equal ones",
        parts: &[Part {
            folder: ONLY,
            scenario: SCENARIO,
            full: "sweep SCENARIO --over round.allocation=adaptive,equal --seeds 3 --give-up 20 --no-pilot \
                   --schemes exact,paper,fixed=0.2",
            quick: "sweep SCENARIO --over round.allocation=adaptive,equal --seeds 1 --give-up 20 --no-pilot \
                    --schemes exact,fixed=0.2",
        }],
        claims: &[across(
            ("round.allocation=equal", "fixed=0.2"),
            ("round.allocation=adaptive", "fixed=0.2"),
            Counted::Training,
            [1.1, 1.1],
        )],
    },
    Experiment {
        name: "rule",
        shows: "the unbiased sum against the rule of the authors' code: how much of a gap is a learning rate",
        parts: &[Part {
            folder: ONLY,
            scenario: SCENARIO,
            full: "sweep SCENARIO --over round.aggregation=unbiased,cohort-mean --seeds 3 --give-up 20 --no-pilot \
                   --schemes paper,weighted,uniform,fixed=0.2",
            quick: "sweep SCENARIO --over round.aggregation=unbiased,cohort-mean --seeds 1 --give-up 5 --no-pilot \
                    --schemes paper,uniform,fixed=0.2",
        }],
        claims: &[
            across(
                ("round.aggregation=cohort-mean", "fixed=0.2"),
                ("round.aggregation=unbiased", "fixed=0.2"),
                Counted::Training,
                [2.0, 2.0],
            ),
            // Under its rule sampling less also steps further: the gap is wider than sampling makes it.
            within("round.aggregation=cohort-mean", "fixed=0.2", "paper", 4.0, 2.0),
        ],
    },
    Experiment {
        name: "system",
        shows: "server optimisers, model averaging and updates in fewer bits, for every scheme alike",
        parts: &[
            Part {
                folder: "plain",
                scenario: SCENARIO,
                // What `auto` brings is left out here, so that its q stands alone.
                full: "compare SCENARIO --seeds 3 --schemes paper,exact,auto,weighted,uniform \
                       --set server.optimiser=none --set server.averaging=0 --set update.encoding=f32",
                quick: "compare SCENARIO --seeds 3 --schemes paper,auto,uniform \
                        --set server.optimiser=none --set server.averaging=0 --set update.encoding=f32",
            },
            Part {
                folder: "encodings",
                scenario: SCENARIO,
                full: "sweep SCENARIO --over update.encoding=f16,int8,int4 --seeds 3 --no-pilot --schemes paper,auto \
                       --set server.optimiser=none --set server.averaging=0",
                quick: "sweep SCENARIO --over update.encoding=int8 --seeds 1 --no-pilot --schemes auto \
                        --set server.optimiser=none --set server.averaging=0",
            },
            Part {
                folder: "optimisers",
                scenario: SCENARIO,
                full: "sweep SCENARIO --over server.optimiser=momentum,adam,yogi --seeds 3 --no-pilot \
                       --schemes paper,auto --set server.averaging=0 --set update.encoding=f32",
                quick: "sweep SCENARIO --over server.optimiser=momentum --seeds 1 --no-pilot --schemes auto \
                        --set server.averaging=0 --set update.encoding=f32",
            },
            Part {
                folder: "all",
                scenario: SCENARIO,
                full: "compare SCENARIO --seeds 3 --no-pilot --schemes paper,exact,auto,weighted,uniform \
                       --set server.optimiser=adam --set server.momentum=0.8 --set server.averaging=0.9 \
                       --set update.encoding=int4",
                // A convex task: Adam has nothing to gain there, averaging has.
                quick: "compare SCENARIO --seeds 3 --no-pilot --schemes auto,uniform \
                        --set server.averaging=0.9 --set update.encoding=int8",
            },
        ],
        claims: &[
            across(("plain", "paper"), ("all", "auto"), Counted::Training, [3.0, 1.4]),
            across(("plain", "paper"), ("plain", "auto"), Counted::WithPilots, [1.5, 1.5]),
        ],
    },
];
