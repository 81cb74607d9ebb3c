//! Training on files of the device's own, which may change between rounds.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::SystemTime;

use fedflip_fleet::ModelVector;
use fedflip_learn::own::OwnData;
use fedflip_learn::sgd::SgdLearner;
use fedflip_learn::task::{TaskError, TaskSettings};
use fedflip_learn::{LearnError, Sums, TrainKey};
use fedflip_samples::files;
use tracing::{info, warn};

use super::training::{DeviceLearner, DeviceTraining};

/// The files that names, folders and patterns stand for, with the length and the time of the last change of each.
type Stamps = Vec<(PathBuf, u64, Option<SystemTime>)>;

/// Trains on the device's own files. Before each training it looks whether they have changed, and reads them again then.
/// Files that are damaged or do not fit the task change nothing: the samples of before are trained on.
pub(super) struct OwnFiles {
    task: TaskSettings,
    /// Files, folders and patterns.
    names: Vec<String>,
    learner: RwLock<Arc<DeviceLearner<SgdLearner>>>,
    looked: Mutex<SeenFiles>,
}

/// What the last look at the files found.
struct SeenFiles {
    stamps: Stamps,
    /// Whether a person was warned that changed files cannot be used.
    has_warned: bool,
}

impl OwnFiles {
    /// Reads the files for the first time, and refuses those that do not fit the task.
    pub(super) fn read(task: &TaskSettings, own: &[PathBuf]) -> Result<Self, TaskError> {
        let names: Vec<String> = own.iter().map(|path| path.display().to_string()).collect();
        let stamps = stamps(&names)?;
        let learner = RwLock::new(Arc::new(learner(task, &stamps)?));
        let looked = Mutex::new(SeenFiles { stamps, has_warned: false });
        Ok(Self { task: task.clone(), names, learner, looked })
    }

    fn learner(&self) -> Arc<DeviceLearner<SgdLearner>> {
        Arc::clone(&self.learner.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the files again if they have changed.
    fn look_again(&self) {
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        let read = match stamps(&self.names) {
            Ok(stamps) if stamps == looked.stamps => return,
            Ok(stamps) => {
                let read = learner(&self.task, &stamps);
                // Files that cannot be used are not read again before they change.
                looked.stamps = stamps;
                read
            }
            Err(error) => Err(error),
        };
        match read {
            Ok(learner) => {
                info!(samples = learner.samples(0), "the data have changed and were read again");
                *self.learner.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(learner);
                looked.has_warned = false;
            }
            Err(error) if !looked.has_warned => {
                let hint = error.hint();
                warn!(%error, hint, "the changed data cannot be used: training continues on the previous data");
                looked.has_warned = true;
            }
            Err(_) => {}
        }
    }
}

fn stamps(names: &[String]) -> Result<Stamps, TaskError> {
    let found = files::found(Path::new(""), names)?;
    // A file that cannot be looked at is refused when it is read.
    let stamp = |path: PathBuf| match path.metadata() {
        Ok(metadata) => (path, metadata.len(), metadata.modified().ok()),
        Err(_) => (path, 0, None),
    };
    Ok(found.into_iter().map(stamp).collect())
}

fn learner(task: &TaskSettings, stamps: &Stamps) -> Result<DeviceLearner<SgdLearner>, TaskError> {
    let train = stamps.iter().map(|(path, ..)| path.clone()).collect();
    let own = OwnData { train, ..task.own.clone() };
    let learner = DeviceLearner::of_any_slot(TaskSettings { own, ..task.clone() }.device_learner()?);
    match learner.samples(0) {
        0 => Err(LearnError::NoSamples { device: 0 }.into()),
        _ => Ok(learner),
    }
}

impl DeviceTraining for OwnFiles {
    fn params_len(&self) -> usize {
        self.learner().params_len()
    }

    fn samples(&self, slot: usize) -> usize {
        self.learner().samples(slot)
    }

    fn initial_model(&self, seed: u64) -> ModelVector {
        self.learner().initial_model(seed)
    }

    fn train(&self, model: &[f32], key: TrainKey, update: &mut [f32]) -> Result<f64, LearnError> {
        self.look_again();
        self.learner().train(model, key, update)
    }

    fn evaluate(&self, model: &[f32]) -> Result<Sums, LearnError> {
        self.learner().evaluate(model)
    }
}

#[cfg(test)]
mod tests {
    use fedflip_learn::task::{ParamValue, Sizes, Task};

    use super::*;

    fn task() -> TaskSettings {
        let shape = ParamValue::Sizes(Sizes::new(&[2]).unwrap());
        TaskSettings::paper(Task::by_name("own").unwrap().with("shape", shape).unwrap(), 1)
    }

    fn table(rows: usize) -> String {
        let row = |row: usize| format!("{row},{},{}\n", row * row, row % 2);
        format!("a,b,label\n{}", (0..rows).map(row).collect::<String>())
    }

    /// Trains, and returns the number of samples that it trained on.
    fn trained(files: &OwnFiles) -> usize {
        let model = files.initial_model(1);
        let mut update = vec![0.0; files.params_len()];
        files.train(model.as_slice(), TrainKey::new(1, 1, 5), &mut update).unwrap();
        assert!(update.iter().any(|number| *number != 0.0));
        files.samples(5)
    }

    #[test]
    fn files_that_grow_are_read_again_and_damaged_ones_change_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("mine.csv", &table(4));
        let files = OwnFiles::read(&task(), &[folder.path().to_owned()]).unwrap();
        assert_eq!((files.samples(0), trained(&files)), (4, 4));
        write("mine.csv", &table(6));
        assert_eq!(
            (files.samples(0), trained(&files)),
            (4, 6),
            "they are looked at when the device takes part"
        );
        write("more.csv", &table(3));
        assert_eq!(trained(&files), 9, "a new file in the folder");
        for damaged in ["a,b,label\n1,x,0\n", "a,label\n1,0\n1,1\n", "a,b,label\n", "a,b,label\n1,1,7\n", ""]
        {
            write("more.csv", damaged);
            assert_eq!(trained(&files), 9, "{damaged:?}");
            assert!(files.looked.lock().unwrap().has_warned);
        }
        write("more.csv", &table(1));
        assert_eq!(trained(&files), 7);
        assert!(!files.looked.lock().unwrap().has_warned);
        std::fs::remove_file(folder.path().join("mine.csv")).unwrap();
        std::fs::remove_file(folder.path().join("more.csv")).unwrap();
        assert_eq!(trained(&files), 7, "all files are gone");
    }
}
