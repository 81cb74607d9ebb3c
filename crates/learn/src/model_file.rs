//! A model as safetensors: the arrays by name and shape, as PyTorch would have them.

use safetensors::tensor::{Dtype, SafeTensors, TensorView, serialize};

use crate::error::LearnError;
use crate::layer::ParamSpec;

/// The bytes of a file with `model`, whose arrays are `params`, one after the other.
pub fn write(params: &[(String, ParamSpec)], model: &[f32]) -> Result<Vec<u8>, LearnError> {
    let want = params.iter().map(|(_, spec)| spec.len()).sum();
    if model.len() != want {
        return Err(LearnError::WrongLength { have: model.len(), want });
    }
    let bytes: Vec<u8> = model.iter().flat_map(|x| x.to_le_bytes()).collect();
    let refuse = |problem: String| LearnError::ModelFile { file: "the model".to_owned(), problem };
    let mut at = 0;
    let mut arrays = Vec::with_capacity(params.len());
    for (name, spec) in params {
        let end = at + 4 * spec.len();
        let view = TensorView::new(Dtype::F32, spec.shape.clone(), &bytes[at..end])
            .map_err(|error| refuse(error.to_string()))?;
        arrays.push((name.as_str(), view));
        at = end;
    }
    serialize(arrays, None).map_err(|error| refuse(error.to_string()))
}

/// The names and shapes of the arrays of a file, sorted by name; all of them must be F32.
pub fn tensors(bytes: &[u8], file: &str) -> Result<Vec<(String, Vec<usize>)>, LearnError> {
    let refuse = |problem: String| LearnError::ModelFile { file: file.to_owned(), problem };
    let arrays = SafeTensors::deserialize(bytes).map_err(|error| refuse(error.to_string()))?;
    let mut found = Vec::with_capacity(arrays.len());
    for (name, array) in arrays.iter() {
        if array.dtype() != Dtype::F32 {
            return Err(refuse(format!("{name} is {:?}, and should be F32", array.dtype())));
        }
        found.push((name.to_owned(), array.shape().to_vec()));
    }
    found.sort();
    Ok(found)
}

/// Reads a model whose arrays are `params` from the bytes of `file`.
pub fn read(params: &[(String, ParamSpec)], bytes: &[u8], file: &str) -> Result<Vec<f32>, LearnError> {
    let refuse = |problem: String| LearnError::ModelFile { file: file.to_owned(), problem };
    let arrays = SafeTensors::deserialize(bytes).map_err(|error| refuse(error.to_string()))?;
    let mut model = Vec::with_capacity(params.iter().map(|(_, spec)| spec.len()).sum());
    for (name, spec) in params {
        let array = arrays.tensor(name).map_err(|_| refuse(format!("there is no array {name}")))?;
        if array.dtype() != Dtype::F32 || array.shape() != spec.shape {
            return Err(refuse(format!(
                "{name} is {:?} {:?}, and should be F32 {:?}",
                array.dtype(),
                array.shape(),
                spec.shape
            )));
        }
        let numbers = array.data().as_chunks::<4>().0;
        model.extend(numbers.iter().map(|&bytes| f32::from_le_bytes(bytes)));
    }
    if let Some(name) = arrays.names().into_iter().find(|name| params.iter().all(|(known, _)| known != name))
    {
        return Err(refuse(format!("there is an array {name}, which the model does not have")));
    }
    Ok(model)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::cnn;
    use proptest::prelude::*;

    fn model() -> (Vec<(String, ParamSpec)>, Vec<f32>) {
        let params = cnn::cnn::<f32>(10).params();
        let len = params.iter().map(|(_, spec)| spec.len()).sum();
        (params, (0..len).map(|n: usize| n as f32 * 0.5 - 7.0).collect())
    }

    #[test]
    fn what_is_written_reads_back() {
        let (params, model) = model();
        let bytes = write(&params, &model).unwrap();
        assert_eq!(read(&params, &bytes, "m").unwrap(), model);
        assert_eq!(bytes, write(&params, &model).unwrap(), "the same model gives the same bytes");
    }

    #[test]
    fn another_model_is_refused_by_name() {
        let (params, model) = model();
        let bytes = write(&params, &model).unwrap();
        let error =
            read(&cnn::wide_cnn::<f32>(10).params(), &bytes, "m.safetensors").unwrap_err().to_string();
        assert!(error.contains("m.safetensors") && error.contains("conv1.weight"), "{error}");
        assert!(read(&params, &bytes[..bytes.len() - 1], "m").is_err());
        let error = read(&params[1..], &bytes, "m").unwrap_err().to_string();
        assert!(error.contains(&params[0].0), "an array too many is named: {error}");
        let mut sorted: Vec<_> =
            params.iter().map(|(name, spec)| (name.clone(), spec.shape.clone())).collect();
        sorted.sort();
        assert_eq!(tensors(&bytes, "m").unwrap(), sorted);
        assert!(write(&params, &model[1..]).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(read(&model().0, &bytes, "m").is_err());
        }
    }
}
