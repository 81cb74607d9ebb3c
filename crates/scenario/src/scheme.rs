//! The scheme of a name, with the file that it may need.

use std::fs::File;
use std::path::Path;

use fedflip_fleet::FleetError;
use fedflip_plan::{GivenQ, PlanError, Scheme};

/// The scheme that `text` names. The file of `file=NAME` is read here and now; NAME starts in `folder`.
pub fn read_scheme(text: &str, folder: &Path) -> Result<Scheme, PlanError> {
    let Some(name) = Scheme::file_name(text) else { return text.parse() };
    let path = folder.join(name);
    let file = path.display().to_string();
    let input = File::open(&path).map_err(|error| FleetError::File {
        file: file.clone(),
        line: None,
        problem: format!("cannot be opened: {error}"),
        hint: "name a CSV file with the columns device,q".to_owned(),
    })?;
    Ok(Scheme::File(GivenQ::read(input, name, &file)?))
}
