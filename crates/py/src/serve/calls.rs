//! Work on a thread of its own, and its calls of Python code on the thread of the caller.
//!
//! A device must answer its server while Python code trains for minutes, so its network has a thread that never needs the
//! interpreter. Python code runs on the thread that called fedflip: nothing of it runs any more when the call returns.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, channel, sync_channel};
use std::sync::{Arc, mpsc};

use pyo3::prelude::*;

use super::logs::{self, Watching};
use crate::error::Failure;
use crate::signals::{LOOK_EVERY, Signals};

enum Message {
    Call(Box<dyn FnOnce(Python<'_>) + Send>),
    /// There is something in the log.
    Log,
    Done,
}

/// Calls the caller's thread; clones call the same one.
#[derive(Clone)]
pub(super) struct Calls(mpsc::Sender<Message>);

impl Calls {
    /// The result of Python code on the caller's thread; none if that thread takes no more calls.
    pub(super) fn ask<T: Send + 'static>(
        &self,
        code: impl FnOnce(Python<'_>) -> T + Send + 'static,
    ) -> Option<T> {
        let (reply, answer): (SyncSender<T>, Receiver<T>) = sync_channel(1);
        let call = move |py: Python<'_>| {
            // Whoever asked may have given up.
            let _ = reply.send(code(py));
        };
        self.0.send(Message::Call(Box::new(call))).ok()?;
        answer.recv().ok()
    }
}

/// Says that the work is over, even if it panicked.
struct Finished(mpsc::Sender<Message>);

impl Drop for Finished {
    fn drop(&mut self) {
        // A caller that has left does not wait.
        let _ = self.0.send(Message::Done);
    }
}

/// Runs `work` on a thread of its own, and its calls on this one, until the work is over. Ctrl-C, and an `event` that is
/// set, make the wish to stop; a second Ctrl-C does not wait for the work.
pub(super) fn alongside<T: Send + 'static>(
    py: Python<'_>,
    (signals, event): (&Arc<Signals>, Option<&Bound<'_, PyAny>>),
    work: impl FnOnce(&Calls) -> T + Send + 'static,
) -> Result<T, Failure> {
    let (sender, mut receiver) = channel();
    let calls = Calls(sender.clone());
    let wake = sender.clone();
    let _watching = Watching::begin(py, move || drop(wake.send(Message::Log)))?;
    let worker = std::thread::Builder::new().name("fedflip-device".to_owned()).spawn(move || {
        let _finished = Finished(sender);
        work(&calls)
    });
    let worker =
        worker.map_err(|error| Failure::other(format!("no thread could be started: {error}"), ""))?;
    loop {
        let message;
        (receiver, message) = py.detach(move || {
            let message = receiver.recv_timeout(LOOK_EVERY);
            (receiver, message)
        });
        match message {
            Ok(Message::Done) | Err(RecvTimeoutError::Disconnected) => break,
            // Whoever asks is told that there is no answer.
            Ok(Message::Call(call)) if signals.is_ending() => drop(call),
            Ok(Message::Call(call)) => call(py),
            Ok(Message::Log) | Err(RecvTimeoutError::Timeout) => {}
        }
        logs::forward(py)?;
        if let Err(error) = py.check_signals() {
            if signals.is_ending() {
                return Err(error.into());
            }
            signals.raise(error);
        }
        if event.map(|event| event.call_method0("is_set")?.is_truthy()).transpose()?.unwrap_or(false) {
            signals.stop();
        }
    }
    // No more calls: threads that still ask are told so.
    drop(receiver);
    let result = py.detach(move || worker.join());
    logs::forward(py)?;
    result.map_err(|_| {
        Failure::other("a thread of fedflip failed", "this is a fault of fedflip: please report it")
    })
}
