//! Models as safetensors.

use fedflip_learn::layer::{Init, ParamSpec};
use fedflip_learn::model_file;

use crate::memory;

/// A model of the right shape that reads back to the bit, or a refusal.
pub fn check(bytes: &[u8]) {
    let params = params();
    let read = memory::within((1 << 16) + 64 * bytes.len(), || model_file::read(&params, bytes, "fuzz"));
    match read {
        Ok(model) => {
            assert_eq!(model.len(), params.iter().map(|(_, spec)| spec.len()).sum::<usize>());
            let written = model_file::write(&params, &model).expect("the shape is right");
            let again = model_file::read(&params, &written, "again").expect("what is written reads back");
            let bits = |model: &[f32]| model.iter().map(|number| number.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&again), bits(&model));
        }
        Err(error) => assert!(!error.hint().is_empty()),
    }
}

/// A layer as small as it can be: what matters is the file's head.
fn params() -> [(String, ParamSpec); 2] {
    let array = |name: &'static str, shape: &[usize]| {
        let spec = ParamSpec { name, shape: shape.to_vec(), init: Init::Constant(0.0), trained: true };
        (format!("fc.{name}"), spec)
    };
    [array("weight", &[2, 3]), array("bias", &[2])]
}
