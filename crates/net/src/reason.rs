//! The reasons of refusals: a closed list, so that records, metrics and logs use the same words, and none of a device's
//! own words.

use crate::status::reason::{Label, reasons};

reasons! {
    /// The reason why a message of a device was refused, or a device given up.
    Reason {
        /// It had not reported when the round was over.
        Deadline = "deadline",
        /// It took part, left, and did not come back.
        Disconnected = "disconnected",
        /// The device said that it could not train.
        Failed = "failed",
        /// A proof that is not of this coin and this toss.
        FalseCoin = "false_coin",
        /// A coin that says "sit out", presented as if it said "take part".
        CoinSaysNo = "coin_says_no",
        /// An update of a round that is over, or of none.
        StaleRound = "stale_round",
        /// An update of a device that does not take part in the round.
        NotGranted = "not_granted",
        /// It keeps taking part without delivering: it is not asked for a while.
        Benched = "benched",
        /// The device was retired from the run.
        Retired = "retired",
        /// An update that started from another model.
        OtherModel = "other_model",
        /// A second, different update for the same round.
        SecondUpdate = "second_update",
        /// More bytes than an update has.
        TooManyBytes = "too_many_bytes",
        /// Fewer bytes than an update has.
        WrongShape = "wrong_shape",
        /// Bytes that are not those announced.
        OtherDigest = "other_digest",
        /// Not a number, or infinite.
        NotFinite = "not_finite",
        /// The norm is far larger than that of any sensible update.
        AbsurdNorm = "absurd_norm",
        /// The training loss is far beyond any sensible one.
        AbsurdLoss = "absurd_loss",
        /// An upload that stopped half way.
        Stalled = "stalled",
        /// More calls than a device needs.
        TooManyCalls = "too_many_calls",
        /// The server holds as many updates as it may.
        OutOfMemory = "out_of_memory",
        /// A message that makes no sense.
        BadMessage = "bad_message",
        /// A device that speaks another protocol.
        OtherProtocol = "other_protocol",
        /// The name is known with another coin.
        OtherCoin = "other_coin",
        /// The fleet has no slot left.
        FleetFull = "fleet_full",
        /// The device has not enrolled.
        NotEnrolled = "not_enrolled",
        /// A device whose data are not those that the scenario shares out.
        OtherData = "other_data",
        /// A device that claims more samples than the server allows.
        TooManySamples = "too_many_samples",
        /// A device for which the file of weights has none.
        NoWeight = "no_weight",
        /// A device whose signal-to-noise ratio the fleet file does not have.
        NoSignal = "no_signal",
        /// A second timed transfer, while the first one waits or is under way.
        AlreadyProbing = "already_probing",
        /// A timed transfer of a device that has enrolled: its rounds measure it.
        AlreadyEnrolled = "already_enrolled",
    }
}

impl Reason {
    /// The name in records and metrics.
    pub fn name(self) -> &'static str {
        self.text()
    }

    /// Whether the device may send an update again in the same round after this refusal: the device or the network may have
    /// failed, such as an upload that ended early. A message that cannot be an accident costs the device its turn.
    pub fn may_try_again(self) -> bool {
        !matches!(
            self,
            Self::TooManyBytes
                | Self::NotFinite
                | Self::AbsurdNorm
                | Self::AbsurdLoss
                | Self::OtherModel
                | Self::Failed
        )
    }
}

impl From<Reason> for tonic::Status {
    fn from(reason: Reason) -> Self {
        let name = reason.name();
        match reason {
            Reason::TooManyCalls | Reason::OutOfMemory | Reason::AlreadyProbing => {
                Self::resource_exhausted(name)
            }
            Reason::FalseCoin
            | Reason::CoinSaysNo
            | Reason::OtherCoin
            | Reason::Retired
            | Reason::NotGranted => Self::permission_denied(name),
            Reason::StaleRound
            | Reason::SecondUpdate
            | Reason::NotEnrolled
            | Reason::AlreadyEnrolled
            | Reason::FleetFull => Self::failed_precondition(name),
            Reason::Deadline | Reason::Stalled | Reason::Disconnected => Self::deadline_exceeded(name),
            _ => Self::invalid_argument(name),
        }
    }
}
