//! The models of a run: every round that changes the model writes one file, and only the newest is kept.
//!
//! The vectors that the server keeps with a model (moments, an average) are in the same file under the same digest, so
//! they exist together or not at all.

use std::fs;
use std::path::{Path, PathBuf};

use fedflip_engine::optimiser::AVERAGE;
use fedflip_learn::layer::ParamSpec;
use fedflip_learn::model_file;
use fedflip_record::atomic;

use super::rows::StoredModel;
use crate::error::{CANNOT_BE_READ, NetError};
use crate::wire::numbers::{self, VectorDigest};

const FOLDER: &str = "models";
const ENDING: &str = ".safetensors";

/// The models of one run's folder.
#[derive(Clone, Debug)]
pub(super) struct Models {
    folder: PathBuf,
    params: Vec<(String, ParamSpec)>,
    /// The arrays of the model and of the vectors that are kept with it.
    all_params: Vec<(String, ParamSpec)>,
    memory: Vec<String>,
}

impl Models {
    pub(super) fn new(run: &Path, params: &[(String, ParamSpec)], memory: &[&str]) -> Self {
        let mut all_params = params.to_vec();
        for vector in memory {
            all_params.extend(params.iter().map(|(name, spec)| (format!("{vector}/{name}"), spec.clone())));
        }
        Self {
            folder: run.join(FOLDER),
            params: params.to_vec(),
            all_params,
            memory: memory.iter().map(|&name| name.to_owned()).collect(),
        }
    }

    pub(super) fn make(&self) -> Result<(), NetError> {
        fs::create_dir_all(&self.folder).map_err(NetError::io(&self.folder, "cannot be made"))
    }

    /// The number of parameters of a model.
    pub(super) fn parameters(&self) -> usize {
        self.params.iter().map(|(_, spec)| spec.len()).sum()
    }

    pub(super) fn is_empty(&self) -> bool {
        fs::read_dir(&self.folder).map_or(true, |mut files| files.next().is_none())
    }

    /// A model as the bytes of a file.
    pub(super) fn bytes(&self, model: &[f32]) -> Result<Vec<u8>, NetError> {
        Ok(model_file::write(&self.params, model)?)
    }

    /// The average of models, if the run keeps one: it is the result instead of the model.
    pub(super) fn average<'a>(&self, memory: &'a [Vec<f32>]) -> Option<&'a [f32]> {
        self.memory.iter().zip(memory).find(|(name, _)| *name == AVERAGE).map(|(_, vector)| &vector[..])
    }

    /// Writes the model after round `round` to the disk. Returns its digest.
    pub(super) fn write(
        &self,
        round: u64,
        model: &[f32],
        memory: &[&[f32]],
    ) -> Result<VectorDigest, NetError> {
        let all = [&[model], memory].concat().concat();
        atomic::write(&self.path(round), &model_file::write(&self.all_params, &all)?)?;
        Ok(numbers::digest(&all))
    }

    /// The model after round `round`, if its file is what was committed.
    pub(super) fn read(&self, round: u64, sha256: VectorDigest) -> Result<StoredModel, NetError> {
        let path = self.path(round);
        let damaged = |problem| NetError::damaged(&path, problem);
        let bytes = fs::read(&path).map_err(|error| damaged(format!("cannot be read: {error}")))?;
        let mut numbers = model_file::read(&self.all_params, &bytes, &path.display().to_string())
            .map_err(|error| damaged(format!("is damaged: {error}")))?;
        if numbers::digest(&numbers) != sha256 {
            return Err(damaged(format!("is not the model that round {round} left")));
        }
        let rest = numbers.split_off(self.parameters());
        let memory = rest.chunks_exact(self.parameters().max(1)).map(<[f32]>::to_vec).collect();
        Ok(StoredModel { round, numbers, memory, sha256 })
    }

    /// Removes a model that another one has replaced.
    pub(super) fn remove(&self, round: u64) {
        // A file that stays does no harm: it is removed when the folder is opened again.
        let _ = fs::remove_file(self.path(round));
    }

    /// Removes files that a killed server left behind; foreign files stay.
    pub(super) fn sweep(&self, newest: u64) -> Result<(), NetError> {
        let unreadable = || NetError::io(&self.folder, CANNOT_BE_READ);
        for entry in fs::read_dir(&self.folder).map_err(unreadable())? {
            let path = entry.map_err(unreadable())?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let of_round = name.strip_suffix(".new").unwrap_or(name).strip_suffix(ENDING);
            let is_ours = of_round.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
            if is_ours && (newest == 0 || path != self.path(newest)) {
                fs::remove_file(&path).map_err(NetError::io(&path, "cannot be removed"))?;
            }
        }
        Ok(())
    }

    fn path(&self, round: u64) -> PathBuf {
        self.folder.join(format!("{round:08}{ENDING}"))
    }
}
