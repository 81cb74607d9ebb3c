//! Bounds the number of connections; the least useful one gives way.
//!
//! A peer that sends half a request, or reads nothing, occupies a place. When all places are taken, a new connection gets
//! the place of the one without a write for the longest time: a request that is being answered has just had a write,
//! and a new connection has just begun.

use std::time::Duration;

use tokio::net::TcpStream;
use tokio::task::{AbortHandle, JoinSet};

use super::patient::{Patient, Pulse};

/// The time in which a reader must read a byte.
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
    /// Room for `most` connections at a time.
    pub fn new(most: usize) -> Self {
        Self { most: most.max(1), taken: Vec::new(), conversations: JoinSet::new() }
    }

    /// Gives a connection a place, and runs its conversation.
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
