//! The page, embedded in the binary.

pub(super) struct Asset {
    pub(super) path: &'static str,
    pub(super) content_type: &'static str,
    pub(super) text: &'static str,
}

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

macro_rules! asset {
    ($path:literal, $content_type:expr, $file:literal) => {
        Asset {
            path: $path,
            content_type: $content_type,
            text: include_str!(concat!("../../assets/", $file)),
        }
    };
}

pub(super) const ASSETS: &[Asset] = &[
    asset!("/", HTML, "index.html"),
    asset!("/style.css", CSS, "style.css"),
    asset!("/icon.svg", SVG, "icon.svg"),
    asset!("/app.js", SCRIPT, "app.js"),
    asset!("/charts.js", SCRIPT, "charts.js"),
    asset!("/format.js", SCRIPT, "format.js"),
    asset!("/fleet.js", SCRIPT, "fleet.js"),
    asset!("/schemes.js", SCRIPT, "schemes.js"),
    asset!("/status.js", SCRIPT, "status.js"),
    asset!("/stream.js", SCRIPT, "stream.js"),
    asset!("/timeline.js", SCRIPT, "timeline.js"),
    asset!("/vendor/uplot.js", SCRIPT, "vendor/uplot/uPlot.iife.min.js"),
    asset!("/vendor/uplot.css", CSS, "vendor/uplot/uPlot.min.css"),
];
