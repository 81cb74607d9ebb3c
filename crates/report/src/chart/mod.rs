//! Figures as SVG: scales, axes, marks, and the four kinds of charts.

pub(crate) mod canvas;
pub(crate) mod figure;
pub(crate) mod histogram;
pub(crate) mod legend;
pub(crate) mod line;
pub(crate) mod palette;
pub(crate) mod plot_area;
pub(crate) mod scale;
pub(crate) mod scatter;
pub(crate) mod timeline;
