//! Samples as tensors, as the `safetensors` library writes them. The format has no strings: devices are numbers.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use safetensors::Dtype;
use safetensors::tensor::Metadata;

use crate::array::{self, Array, Number};
use crate::error::Problem;
use crate::table::{Arrays, Table};

/// The longest header: many times what the description of three tensors can need.
const HEADER_MAX: u64 = 1 << 20;

pub(crate) fn read(path: &Path) -> Result<Table, Problem> {
    let mut file = BufReader::new(File::open(path)?);
    let length = file.get_ref().metadata()?.len();
    let mut header_bytes = [0; 8];
    file.read_exact(&mut header_bytes)?;
    let header_bytes = u64::from_le_bytes(header_bytes);
    if header_bytes > HEADER_MAX.min(length) {
        return Err(Problem::malformed("safetensors", format!("the header has {header_bytes} bytes")));
    }
    let mut header = Vec::new();
    file.by_ref().take(header_bytes).read_to_end(&mut header)?;
    // It checks that every tensor has as many bytes as its shape needs, one behind the other.
    let metadata: Metadata =
        serde_json::from_slice(&header).map_err(|error| Problem::malformed("safetensors", error))?;
    let values_from = 8 + header_bytes;
    if metadata.data_len() as u64 > length.saturating_sub(values_from) {
        return Err(Problem::malformed("safetensors", "the file ends before its tensors do"));
    }
    let names = metadata.offset_keys();
    let mut array = |name: &str| -> Result<Option<Array>, Problem> {
        let Some(tensor) = metadata.info(name) else { return Ok(None) };
        let number = number(tensor.dtype).ok_or_else(|| Problem::Type {
            what: format!("tensor {name}"),
            found: format!("{:?}", tensor.dtype),
            wanted: "U8, F32, F64 or integers",
        })?;
        let shape = tensor.shape.clone();
        let count = array::elements(&shape, number.bytes()).ok_or_else(|| array::too_large(usize::MAX))?;
        file.seek(SeekFrom::Start(values_from + tensor.data_offsets.0 as u64))?;
        let values = array::read_numbers(&mut file, number, count)?;
        Ok(Some(Array { shape, values }))
    };
    Table::from_arrays(Arrays { x: array("x")?, y: array("y")?, device: array("device")?, names })
}

fn number(dtype: Dtype) -> Option<Number> {
    Some(match dtype {
        Dtype::U8 => Number::U8,
        Dtype::F32 => Number::F32,
        Dtype::F64 => Number::F64,
        Dtype::BOOL => Number::Unsigned(1),
        Dtype::I8 => Number::Signed(1),
        Dtype::I16 => Number::Signed(2),
        Dtype::I32 => Number::Signed(4),
        Dtype::I64 => Number::Signed(8),
        Dtype::U16 => Number::Unsigned(2),
        Dtype::U32 => Number::Unsigned(4),
        Dtype::U64 => Number::Unsigned(8),
        _ => return None,
    })
}
