//! Renders figures as pixels.

use resvg::tiny_skia::{Pixmap, Transform};

use super::vector::{failed, tree};
use crate::chart::figure::Figure;
use crate::error::ReportError;

/// Pixels per pixel of the SVG: about 300 dots per inch in a column of a paper.
const ZOOM: f32 = 3.0;

pub(super) fn render(figure: &Figure) -> Result<Vec<u8>, ReportError> {
    let tree = tree(figure)?;
    let size = tree.size();
    let (width, height) = ((size.width() * ZOOM).ceil() as u32, (size.height() * ZOOM).ceil() as u32);
    let mut pixels =
        Pixmap::new(width, height).ok_or_else(|| failed(figure, &format!("{width} × {height} pixels")))?;
    resvg::render(&tree, Transform::from_scale(ZOOM, ZOOM), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| failed(figure, &error.to_string()))
}
