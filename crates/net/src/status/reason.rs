//! Why something was refused, as closed lists.
//!
//! Every reason is a time series for as long as the server runs. What a peer sends must not be able to make
//! new ones, so reasons are ours, and counted in an array.

use super::instrument::Counter;

/// A closed list of reasons.
pub trait Label: Copy + 'static {
    /// All of them, each at its place.
    const ALL: &'static [Self];

    /// Where it stands in [`Self::ALL`].
    fn place(self) -> usize;

    /// As the label has it.
    fn text(self) -> &'static str;
}

/// An enum with a label for each variant; the list and the places cannot disagree with it.
macro_rules! reasons {
    ($(#[$about:meta])* $name:ident { $($(#[$why:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$why])* $variant,)+ }

        impl $crate::status::reason::Label for $name {
            const ALL: &'static [Self] = &[$(Self::$variant),+];

            fn place(self) -> usize {
                self as usize
            }

            fn text(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }
        }
    };
}

pub(crate) use reasons;

reasons! {
    /// Why a connection was not let in, or was cut.
    ConnectionRefusal {
        /// As many connections as the server holds.
        Full = "full",
        /// It had not yet said who it is, and gave way to others: its address block held the most places.
        Crowded = "crowded",
        /// It did not say who it is in time.
        Timeout = "timeout",
        /// What it says is not TLS, or not the TLS that we speak.
        Protocol = "protocol",
        /// It has no certificate.
        NoCertificate = "no_certificate",
        /// Its certificate is not ours, or not for this.
        Untrusted = "untrusted",
        /// Its certificate is past its time, or was when the connection was cut.
        Expired = "expired",
        /// Its certificate was revoked, before or during the connection.
        Revoked = "revoked",
        /// Its certificate is ours, but names no device.
        NoDevice = "no_device",
        /// The device connected again and again; its oldest connection gave way.
        Superseded = "superseded",
        /// It said who it is, and then made no call.
        Idle = "idle",
    }
}

/// One counter for each reason.
#[derive(Debug)]
pub struct ByReason<R> {
    counters: Vec<Counter>,
    reason: std::marker::PhantomData<R>,
}

impl<R: Label> Default for ByReason<R> {
    fn default() -> Self {
        Self {
            counters: R::ALL.iter().map(|_| Counter::default()).collect(),
            reason: std::marker::PhantomData,
        }
    }
}

impl<R: Label> ByReason<R> {
    /// Once more for this reason.
    pub fn add(&self, reason: R) {
        if let Some(counter) = self.counters.get(reason.place()) {
            counter.add(1);
        }
    }

    /// How often for this reason.
    pub fn get(&self, reason: R) -> u64 {
        self.counters.get(reason.place()).map_or(0, Counter::get)
    }
}
