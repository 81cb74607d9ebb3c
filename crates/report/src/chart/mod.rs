//! What figures are drawn with: scales, axes, marks, colours and legends, as SVG.

pub(crate) mod canvas;
pub(crate) mod figure;
pub(crate) mod legend;
pub(crate) mod palette;
pub(crate) mod plot_area;
pub(crate) mod scale;
