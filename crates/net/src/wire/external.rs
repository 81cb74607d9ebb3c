//! External tasks in messages: the settings as text, and the names and shapes of the tensors.

use fedflip_learn::task::{ExternalTask, Task};

use super::numbers::digest_of_bytes;
use super::task::TaskMismatch;
use super::v1;

pub(super) fn message(task: &ExternalTask) -> v1::Task {
    let tensors = task.params().iter().map(|(name, spec)| v1::task::Tensor {
        name: name.clone(),
        shape: spec.shape.iter().map(|&side| side as u64).collect(),
    });
    let external = v1::task::External { settings: task.settings().to_owned(), tensors: tensors.collect() };
    v1::Task {
        name: Task::external().name().to_owned(),
        digest: digest_of_bytes(task.canonical().as_bytes()).to_vec().into(),
        external: Some(external),
        ..v1::Task::default()
    }
}

/// The task of a message, if this version reads it as the server wrote it.
pub(super) fn task(message: &v1::Task) -> Result<ExternalTask, TaskMismatch> {
    let external = message.external.as_ref().ok_or(TaskMismatch::Incomplete)?;
    if message.name != Task::external().name() {
        return Err(TaskMismatch::UnknownTask);
    }
    let named = |tensor: &v1::task::Tensor| {
        let shape: Result<Vec<usize>, _> = tensor.shape.iter().map(|&side| side.try_into()).collect();
        Some((tensor.name.clone(), shape.ok()?))
    };
    let tensors: Option<Vec<_>> = external.tensors.iter().map(named).collect();
    let tensors = tensors.ok_or(TaskMismatch::Incomplete)?;
    let task = ExternalTask::new(external.settings.clone(), tensors).map_err(|_| TaskMismatch::Incomplete)?;
    match digest_of_bytes(task.canonical().as_bytes())[..] == message.digest[..] {
        true => Ok(task),
        false => Err(TaskMismatch::OtherDigest),
    }
}

#[cfg(test)]
mod tests {
    use prost::Message;

    use super::super::limits::MESSAGE_BYTES_MAX;
    use super::super::task::{OfferedTask, offer, offered};
    use super::*;
    use fedflip_learn::task::external::{NAMES_BYTES_MAX, SETTINGS_BYTES_MAX, TENSORS_MAX};

    fn external() -> ExternalTask {
        let tensors = vec![("w".to_owned(), vec![2, 3]), ("b".to_owned(), vec![])];
        ExternalTask::new("rate = 0.1\n".to_owned(), tensors).unwrap()
    }

    #[test]
    fn there_and_back() {
        let there = OfferedTask::External(external());
        assert_eq!(offered(&offer(&there).unwrap()), Ok(there));
    }

    #[test]
    fn the_largest_task_fits_a_message() {
        let name_len = NAMES_BYTES_MAX / TENSORS_MAX;
        let tensors = (0..TENSORS_MAX).map(|n| (format!("{n:0name_len$}"), vec![9, 9, 9, 9])).collect();
        let task = ExternalTask::new("#".repeat(SETTINGS_BYTES_MAX), tensors).unwrap();
        assert!(message(&task).encoded_len() < MESSAGE_BYTES_MAX - (1 << 10));
    }

    #[test]
    fn what_is_read_differently_is_refused() {
        let changed = |change: fn(&mut v1::Task)| {
            let mut message = message(&external());
            change(&mut message);
            offered(&message).unwrap_err()
        };
        let inside = |task: &mut v1::Task| task.external.take().unwrap();
        assert_eq!(changed(|task| task.external = None), TaskMismatch::Incomplete, "no built-in task either");
        assert_eq!(changed(|task| task.name = "synthetic".to_owned()), TaskMismatch::UnknownTask);
        assert_eq!(changed(|task| task.digest.truncate(31)), TaskMismatch::OtherDigest);
        assert_eq!(
            changed(|task| task.external.as_mut().unwrap().settings.push(' ')),
            TaskMismatch::OtherDigest
        );
        assert_eq!(
            changed(|task| task.external.as_mut().unwrap().tensors[0].shape = vec![u64::MAX; 4]),
            TaskMismatch::Incomplete
        );
        assert_eq!(changed(|task| task.external.as_mut().unwrap().tensors.clear()), TaskMismatch::Incomplete);
        let mut twice = message(&external());
        let external = inside(&mut twice);
        let tensors = vec![external.tensors[0].clone(); 2];
        twice.external = Some(v1::task::External { tensors, ..external });
        assert_eq!(offered(&twice), Err(TaskMismatch::Incomplete));
    }
}
