//! Figures as PDF, one page each: paths, dashes, transparency and clipping, with letters as outlines. A figure needs no
//! more of the format, and outlines need no fonts of the reader.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use resvg::tiny_skia::{Path as Outline, PathSegment, Transform};
use resvg::usvg::{Color, FillRule, Group, LineCap, LineJoin, Node, Paint, Path};

use super::vector::{failed, tree};
use crate::chart::figure::Figure;
use crate::error::ReportError;

/// Points of a PDF per pixel of CSS: 72 of the one and 96 of the other are an inch.
const POINTS_PER_PX: f32 = 0.75;

pub(super) fn render(figure: &Figure) -> Result<Vec<u8>, ReportError> {
    let tree = tree(figure)?;
    let size = (tree.size().width() * POINTS_PER_PX, tree.size().height() * POINTS_PER_PX);
    let mut content = Content::default();
    // PDF counts upwards from the lower left corner.
    let page = Transform::from_row(POINTS_PER_PX, 0.0, 0.0, -POINTS_PER_PX, 0.0, size.1);
    content.transform(page);
    content.group(tree.root());
    document(&content, size).map_err(|error| failed(figure, &error.to_string()))
}

/// The drawing operators of a page, and the transparencies that they name.
#[derive(Default)]
struct Content {
    operators: String,
    /// The opacities that the page uses, in thousandths.
    alphas: BTreeSet<u32>,
}

/// Writing to a `String` cannot fail.
macro_rules! put {
    ($content:expr, $($format:tt)*) => {{
        let _ = writeln!($content.operators, $($format)*);
    }};
}

impl Content {
    fn transform(&mut self, by: Transform) {
        if !by.is_identity() {
            let numbers = [by.sx, by.ky, by.kx, by.sy, by.tx, by.ty].map(number).join(" ");
            put!(self, "{numbers} cm");
        }
    }

    fn group(&mut self, group: &Group) {
        put!(self, "q");
        self.transform(group.transform());
        if let Some(clip) = group.clip_path() {
            self.clip(clip.root(), clip.transform());
        }
        for node in group.children() {
            match node {
                Node::Group(group) => self.group(group),
                Node::Path(path) if path.is_visible() => self.path(path, group.opacity().get()),
                Node::Text(text) => self.group(text.flattened()),
                // Our figures hold no images.
                Node::Path(_) | Node::Image(_) => {}
            }
        }
        put!(self, "Q");
    }

    /// Clips to the outlines in a group. Ours are rectangles that stand where they are drawn.
    fn clip(&mut self, group: &Group, by: Transform) {
        for node in group.children() {
            if let Node::Path(path) = node
                && let Some(outline) = path.data().clone().transform(by.pre_concat(group.transform()))
            {
                self.outline(&outline);
            }
        }
        put!(self, "W n");
    }

    fn path(&mut self, path: &Path, opacity: f32) {
        let fill = path.fill().and_then(|fill| Some((colour(fill.paint())?, fill)));
        let stroke = path.stroke().and_then(|stroke| Some((colour(stroke.paint())?, stroke)));
        if let Some((colour, fill)) = fill {
            self.alpha(opacity * fill.opacity().get());
            put!(self, "{} rg", rgb(colour));
            self.outline(path.data());
            put!(self, "{}", if fill.rule() == FillRule::EvenOdd { "f*" } else { "f" });
        }
        if let Some((colour, stroke)) = stroke {
            self.alpha(opacity * stroke.opacity().get());
            let dashes: Vec<String> =
                stroke.dasharray().unwrap_or_default().iter().copied().map(number).collect();
            let cap = match stroke.linecap() {
                LineCap::Butt => 0,
                LineCap::Round => 1,
                LineCap::Square => 2,
            };
            let join = match stroke.linejoin() {
                LineJoin::Miter | LineJoin::MiterClip => 0,
                LineJoin::Round => 1,
                LineJoin::Bevel => 2,
            };
            put!(self, "{} RG {} w {cap} J {join} j", rgb(colour), number(stroke.width().get()));
            put!(self, "[{}] {} d", dashes.join(" "), number(stroke.dashoffset()));
            self.outline(path.data());
            put!(self, "S");
        }
    }

    fn alpha(&mut self, alpha: f32) {
        let thousandths = (alpha.clamp(0.0, 1.0) * 1000.0).round() as u32;
        self.alphas.insert(thousandths);
        put!(self, "/A{thousandths} gs");
    }

    fn outline(&mut self, outline: &Outline) {
        let mut last = (0.0, 0.0);
        for segment in outline.segments() {
            match segment {
                PathSegment::MoveTo(to) => put!(self, "{} {} m", number(to.x), number(to.y)),
                PathSegment::LineTo(to) => put!(self, "{} {} l", number(to.x), number(to.y)),
                PathSegment::CubicTo(a, b, to) => {
                    let numbers = [a.x, a.y, b.x, b.y, to.x, to.y].map(number).join(" ");
                    put!(self, "{numbers} c");
                }
                // PDF has cubic curves only: the same curve of the next degree.
                PathSegment::QuadTo(mid, to) => {
                    let third = |from: f32, mid: f32| from + 2.0 / 3.0 * (mid - from);
                    let (ax, ay) = (third(last.0, mid.x), third(last.1, mid.y));
                    let (bx, by) = (third(to.x, mid.x), third(to.y, mid.y));
                    put!(self, "{} c", [ax, ay, bx, by, to.x, to.y].map(number).join(" "));
                }
                PathSegment::Close => put!(self, "h"),
            }
            if let PathSegment::MoveTo(to)
            | PathSegment::LineTo(to)
            | PathSegment::QuadTo(_, to)
            | PathSegment::CubicTo(_, _, to) = segment
            {
                last = (to.x, to.y);
            }
        }
    }
}

/// Our figures have plain colours only.
fn colour(paint: &Paint) -> Option<Color> {
    if let Paint::Color(colour) = paint { Some(*colour) } else { None }
}

fn rgb(colour: Color) -> String {
    [colour.red, colour.green, colour.blue].map(|channel| number(f32::from(channel) / 255.0)).join(" ")
}

/// At most three decimals: PDF knows no exponents, and a thousandth of a point is finer than any printer.
fn number(value: f32) -> String {
    let text = format!("{:.3}", if value.is_finite() { value } else { 0.0 });
    let short = text.trim_end_matches('0').trim_end_matches('.');
    if short == "-0" { "0".to_owned() } else { short.to_owned() }
}

/// The objects around a page's content. There is no date and no identifier, so equal figures give equal bytes.
fn document(content: &Content, (width, height): (f32, f32)) -> std::io::Result<Vec<u8>> {
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::default());
    packed.write_all(content.operators.as_bytes())?;
    let packed = packed.finish()?;
    let states: String = content
        .alphas
        .iter()
        .map(|thousandths| {
            let alpha = number(*thousandths as f32 / 1000.0);
            format!("/A{thousandths} << /ca {alpha} /CA {alpha} >> ")
        })
        .collect();
    let page = format!(
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {} {}] /Contents 4 0 R /Resources << /ExtGState << {states}>> >> >>",
        number(width),
        number(height)
    );
    let mut stream = format!("<< /Length {} /Filter /FlateDecode >>\nstream\n", packed.len()).into_bytes();
    stream.extend(packed);
    stream.extend(b"\nendstream");
    let objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_vec(),
        page.into_bytes(),
        stream,
    ];
    let mut file = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n".to_vec();
    let mut table = format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1);
    for (number, object) in (1..).zip(&objects) {
        table += &format!("{:010} 00000 n \n", file.len());
        writeln!(file, "{number} 0 obj")?;
        file.extend(object);
        file.extend(b"\nendobj\n");
    }
    let start = file.len();
    let size = objects.len() + 1;
    write!(file, "{table}trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n")?;
    Ok(file)
}
