//! Figures as SVG: text that a browser or a drawing program opens.

use crate::chart::figure::Figure;
use crate::error::ReportError;

pub(super) fn render(figure: &Figure) -> Result<Vec<u8>, ReportError> {
    Ok(figure.standalone().into_bytes())
}
