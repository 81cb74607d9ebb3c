//! A bounded number of connections, of which the least useful one gives way.
//!
//! Whoever connects and then sends half a request, or reads nothing, costs a place. When all places are taken, a
//! newcomer gets that of the connection to which nothing has been sent for longest: a request that is being
//! answered has just been sent something, and a newcomer has just begun.

use std::time::Duration;

use tokio::net::TcpStream;
use tokio::task::{AbortHandle, JoinSet};

use super::patient::{Patient, Pulse};

/// How long a reader may take no byte of what it is sent.
const PATIENCE: Duration = Duration::from_secs(20);

/// The connections of a server. They end when this is dropped.
#[derive(Debug)]
pub struct Places {
    most: usize,
    taken: Vec<Place>,
    conversations: JoinSet<()>,
}

#[derive(Debug)]
struct Place {
    pulse: Pulse,
    conversation: AbortHandle,
}

impl Places {
    /// Room for so many connections at a time.
    pub fn new(most: usize) -> Self {
        Self { most: most.max(1), taken: Vec::new(), conversations: JoinSet::new() }
    }

    /// Gives a connection a place and has it served.
    pub fn seat<C>(&mut self, stream: TcpStream, converse: impl FnOnce(Patient) -> C)
    where
        C: Future<Output = ()> + Send + 'static,
    {
        while self.conversations.try_join_next().is_some() {}
        self.taken.retain(|place| !place.conversation.is_finished());
        if self.taken.len() >= self.most {
            self.free_one();
        }
        let pulse = Pulse::begin();
        let conversation = converse(Patient::new(stream, PATIENCE, pulse.clone()));
        let conversation = self.conversations.spawn(conversation);
        self.taken.push(Place { pulse, conversation });
    }

    /// Waits until all conversations are over.
    pub async fn emptied(&mut self) {
        while self.conversations.join_next().await.is_some() {}
    }

    fn free_one(&mut self) {
        let useless = self.taken.iter().enumerate().min_by_key(|(_, place)| place.pulse.last());
        if let Some(number) = useless.map(|(number, _)| number) {
            self.taken.remove(number).conversation.abort();
        }
    }
}
