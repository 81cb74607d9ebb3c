//! Archives of NumPy arrays, as `numpy.savez` and `numpy.savez_compressed` write them.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use zip::ZipArchive;
use zip::result::ZipError;

use crate::array::Array;
use crate::error::Problem;
use crate::npy;
use crate::table::{Arrays, Table};

/// Deflate makes nothing smaller than by this factor, so no entry can hold more.
const DEFLATE_MAX: u64 = 1032;

pub(crate) fn read(path: &Path) -> Result<Table, Problem> {
    let mut archive = ZipArchive::new(BufReader::new(File::open(path)?)).map_err(unzip)?;
    let names = archive.file_names().flatten().map(|name| name.trim_end_matches(".npy").to_owned()).collect();
    let mut array = |name: &str| -> Result<Option<Array>, Problem> {
        let mut entry = match archive.by_name(&format!("{name}.npy")) {
            Ok(entry) => entry,
            Err(ZipError::FileNotFound) => return Ok(None),
            Err(error) => return Err(unzip(error)),
        };
        let bytes = entry.size().min(entry.compressed_size().saturating_mul(DEFLATE_MAX));
        let array = npy::read(&mut entry, &format!("array {name}"), bytes)?;
        // The checksum is compared where the entry ends.
        if entry.read(&mut [0])? > 0 {
            return Err(Problem::malformed("npz", format!("array {name} has bytes beyond its values")));
        }
        Ok(Some(array))
    };
    Table::from_arrays(Arrays { x: array("x")?, y: array("y")?, device: array("device")?, names })
}

fn unzip(error: ZipError) -> Problem {
    match error {
        ZipError::Io(error) => Problem::Io(error),
        other => Problem::malformed("npz", other),
    }
}
