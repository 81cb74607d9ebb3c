//! Who takes part in a simulated run: honest agents, and devices whose calls are made by hand.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use fedflip_learn::sgd::SgdLearner;
use fedflip_net::agent::platform::{Compute, Platform, Transport};
use fedflip_net::agent::{self, AgentSettings, BuiltInTasks, Credentials};
use fedflip_net::plain;
use fedflip_net::wire::v1;
use rand::Rng;
use rand_chacha::ChaCha8Rng;

use crate::device::{Device, Heard};
use crate::network::{Link, Network, stream};
use crate::run::Log;

/// A device by hand that does not get through tries again after this.
const COME_AGAIN_AFTER: Duration = Duration::from_millis(500);

/// A device of a run: what it does, and over which link.
#[derive(Clone)]
pub(crate) struct Actor {
    pub(crate) role: Role,
    pub(crate) link: Link,
}

/// What a device does.
#[derive(Clone)]
pub(crate) enum Role {
    /// The real agent; each training takes it so long.
    Honest { compute_secs: f64 },
    /// Calls by hand.
    Scripted(Script),
}

type Script = Arc<dyn Fn(Stage) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

impl Actor {
    /// An agent over a good link.
    pub(crate) fn honest(compute_secs: f64) -> Self {
        Self { role: Role::Honest { compute_secs }, link: Link::default() }
    }

    /// A device that does what a function says, over a good link. Where the function panics the run fails.
    pub(crate) fn scripted<F>(script: impl Fn(Stage) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let role = Role::Scripted(Arc::new(move |stage| Box::pin(script(stage))));
        Self { role, link: Link::default() }
    }

    /// The same over another link.
    pub(crate) fn over(self, link: Link) -> Self {
        Self { link, ..self }
    }
}

/// What a device needs to play its role.
#[derive(Clone)]
pub(crate) struct Stage {
    pub(crate) seed: u64,
    /// Its position in the network, which need not be its slot in the fleet.
    pub(crate) number: usize,
    pub(crate) name: String,
    pub(crate) network: Network,
    pub(crate) learner: Arc<SgdLearner>,
    pub(crate) log: Log,
}

impl Stage {
    /// A connected device by hand. It comes again until it gets through, and waits an hour for each notice.
    pub(crate) async fn device(&self) -> Device {
        loop {
            if let Ok(mut device) = Device::over(self.network.from(self.number), &self.name).await {
                device.timeout = Duration::from_secs(3600);
                return device;
            }
            tokio::time::sleep(COME_AGAIN_AFTER).await;
        }
    }

    /// A device by hand that has enrolled and attends; it claims to be quick.
    pub(crate) async fn enrolled(&self) -> Device {
        self.enrolled_claiming(0.01).await
    }

    /// A device by hand that has enrolled with this compute time, and attends.
    pub(crate) async fn enrolled_claiming(&self, compute_secs: f64) -> Device {
        loop {
            let mut device = self.device().await;
            if device.try_to_come_in(&self.learner, compute_secs).await.is_ok() {
                return device;
            }
            tokio::time::sleep(COME_AGAIN_AFTER).await;
        }
    }

    /// The next round that opens, over a new line if the old one breaks; none if the run is over.
    pub(crate) async fn next_round(&self, device: &mut Device) -> Option<v1::Opened> {
        loop {
            match device.heard().await {
                Heard::Opened(opened) => return Some(opened),
                Heard::Finished => return None,
                Heard::Cut => *device = self.enrolled().await,
            }
        }
    }

    /// Random numbers for what the device does.
    pub(crate) fn random(&self) -> ChaCha8Rng {
        stream(self.seed, 1 << 34 | self.number as u64)
    }

    /// Plays the role until it is over.
    pub(crate) async fn play(self, role: Role) {
        match role {
            Role::Honest { compute_secs } => self.be_honest(compute_secs).await,
            Role::Scripted(script) => script(self).await,
        }
    }

    /// The real agent, until the run is over.
    pub(crate) async fn be_honest(self, compute_secs: f64) {
        let name: fedflip_net::identity::DeviceName = self.name.parse().unwrap();
        let coin = plain::coin(&name).unwrap();
        let settings = AgentSettings {
            server: "server.simulated:1".to_owned(),
            credentials: Credentials { name, coin, tls: None },
            trains: BuiltInTasks::in_folder("no data set is needed"),
            compute_at_least: Duration::from_secs_f64(compute_secs),
            save_model: None,
            give_up_after: None,
        };
        let platform = Platform {
            transport: Transport::Given(self.network.from(self.number)),
            compute: Compute::Inline,
            waits_seed: self.random().next_u64(),
        };
        let note = |what: &dyn std::fmt::Debug| self.log.note(self.number, format!("{what:?}"));
        let farewell = agent::stay(&settings, &platform, &|| false, &mut |news| note(&news)).await;
        note(&farewell);
    }
}

/// The name of an actor, from which the coin of its device follows.
pub(crate) fn name(seed: u64, number: usize) -> String {
    format!("sim-{seed}-{number}")
}

/// Attends every round and never answers.
pub(crate) async fn silent(stage: Stage) {
    let mut device = stage.enrolled().await;
    while stage.next_round(&mut device).await.is_some() {}
}

/// Joins whenever its coin says so, and never sends an update.
pub(crate) async fn never_uploads(stage: Stage) {
    let mut device = stage.enrolled().await;
    while let Some(opened) = stage.next_round(&mut device).await {
        let (joins, proof) = device.proof(&opened, opened.round);
        device.answer(opened.round, if joins { proof } else { Vec::new() }).await;
    }
}
