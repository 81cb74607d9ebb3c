//! Figures as resolved shapes, with a font of our own: the same on every machine.

use std::sync::{Arc, LazyLock};

use resvg::usvg::{Options, Tree, fontdb};

use crate::chart::figure::Figure;
use crate::error::ReportError;

const FONT: &[u8] = include_bytes!("../../assets/font/DejaVuSans-subset.ttf");

static OPTIONS: LazyLock<Options<'static>> = LazyLock::new(|| {
    let mut fonts = fontdb::Database::new();
    fonts.load_font_data(FONT.to_vec());
    fonts.set_sans_serif_family("DejaVu Sans");
    Options { fontdb: Arc::new(fonts), ..Options::default() }
});

/// The shapes of a figure: styles are resolved, and letters are outlines.
pub(super) fn tree(figure: &Figure) -> Result<Tree, ReportError> {
    Tree::from_str(&figure.standalone(), &OPTIONS).map_err(|error| failed(figure, &error.to_string()))
}

pub(super) fn failed(figure: &Figure, problem: &str) -> ReportError {
    ReportError::Draw { name: figure.name.clone(), problem: problem.to_owned() }
}
