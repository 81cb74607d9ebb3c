//! What tests of whole runs share.

use fedflip_engine::{BoxedError, Control, Sink, State};
use fedflip_fleet::Fleet;
use fedflip_plan::{Plan, Scheme};
use fedflip_record::Round;

pub(crate) fn plan(fleet: &Fleet, scheme: &str) -> Plan {
    Plan::baseline(fleet, &scheme.parse::<Scheme>().unwrap()).unwrap()
}

/// Keeps all rounds in memory.
#[derive(Default)]
pub(crate) struct Kept(pub Vec<Round>);

impl Sink for Kept {
    fn round(&mut self, record: Round, _: (), _state: &State) -> Result<Control, BoxedError> {
        self.0.push(record);
        Ok(Control::GoOn)
    }
}
