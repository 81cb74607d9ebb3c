//! Figures as pixels, with a font of our own: the same on every machine.

use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};

use crate::chart::figure::Figure;
use crate::error::ReportError;

const FONT: &[u8] = include_bytes!("../assets/font/DejaVuSans-subset.ttf");
/// Pixels per pixel of the SVG: about 300 dots per inch in a column of a paper.
const ZOOM: f32 = 3.0;

/// Draws figures.
pub struct Painter {
    options: Options<'static>,
}

impl Painter {
    /// Reads the font.
    pub fn new() -> Self {
        let mut fonts = fontdb::Database::new();
        fonts.load_font_data(FONT.to_vec());
        fonts.set_sans_serif_family("DejaVu Sans");
        Self { options: Options { fontdb: Arc::new(fonts), ..Options::default() } }
    }

    /// A PNG file's bytes.
    pub fn paint(&self, figure: &Figure) -> Result<Vec<u8>, ReportError> {
        let fail = |problem: String| ReportError::Draw { name: figure.name.clone(), problem };
        let tree =
            Tree::from_str(&figure.standalone(), &self.options).map_err(|error| fail(error.to_string()))?;
        let size = tree.size();
        let (width, height) = ((size.width() * ZOOM).ceil() as u32, (size.height() * ZOOM).ceil() as u32);
        let mut pixels =
            Pixmap::new(width, height).ok_or_else(|| fail(format!("{width} × {height} pixels")))?;
        resvg::render(&tree, Transform::from_scale(ZOOM, ZOOM), &mut pixels.as_mut());
        pixels.encode_png().map_err(|error| fail(error.to_string()))
    }
}

impl Default for Painter {
    fn default() -> Self {
        Self::new()
    }
}
