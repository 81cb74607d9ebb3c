//! A figure: part of a page, or a file of its own.

use super::canvas::{Canvas, escaped};

/// What the classes look like; colours are names in `var(…)`.
pub(crate) const STYLE: &str = include_str!("../../assets/figure.css");
/// The names' values by day and by night: name, light, dark.
const COLOURS: &str = include_str!("../../assets/colours.txt");

/// A drawing in SVG with its size.
#[derive(Clone, Debug)]
pub struct Figure {
    /// For a file, such as `accuracy`; no two in a report have the same.
    pub name: String,
    /// In a few words.
    pub title: String,
    /// What the figure shows, also for readers who cannot see it.
    pub caption: String,
    /// Of the drawing, in pixels.
    pub width: f64,
    /// Of the drawing, in pixels.
    pub height: f64,
    /// Values under the pointer, as JSON; for pages.
    pub(crate) hover: Option<String>,
    body: String,
}

impl Figure {
    pub(crate) fn new(name: &str, title: &str, caption: &str, size: (f64, f64), canvas: Canvas) -> Self {
        Self {
            name: file_name(name),
            title: title.to_owned(),
            caption: caption.to_owned(),
            width: size.0,
            height: size.1,
            hover: None,
            body: canvas.into_body(),
        }
    }

    /// For a page, which has the style; `prefix` keeps apart what has the same name in other groups.
    pub(crate) fn inline(&self, prefix: &str) -> String {
        let hover =
            self.hover.as_ref().map_or(String::new(), |json| format!(" data-hover=\"{}\"", escaped(json)));
        let (width, height, title) = (self.width, self.height, escaped(&self.title));
        let area = area_id(&self.name);
        let body = self.body.replace(&area, &format!("{prefix}{area}"));
        format!(
            r#"<svg class="figure" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" aria-label="{title}"{hover}>{body}</svg>"#
        )
    }

    /// A file of its own, by day: for a paper.
    pub fn standalone(&self) -> String {
        let (width, height) = (self.width, self.height);
        let (title, caption) = (escaped(&self.title), escaped(&self.caption));
        format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img"><title>{title}</title><desc>{caption}</desc><style>{}</style><rect width="{width}" height="{height}" fill="white"/>{}</svg>
        "#,
            standalone_style(),
            self.body
        )
    }
}

/// What a figure's plot area is called in SVG.
pub(crate) fn area_id(name: &str) -> String {
    format!("{name}-area")
}

/// Letters, digits and a few signs of a text: safe as a file's name, whatever a record holds.
pub(crate) fn file_name(text: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || "-_=.".contains(c) { c } else { '-' };
    let name: String = text.chars().take(80).map(safe).collect();
    let name = name.trim_start_matches('.');
    if name.is_empty() { "unnamed".to_owned() } else { name.to_owned() }
}

/// Name, light and dark of every colour.
fn colours() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    COLOURS.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        Some((words.next()?, words.next()?, words.next()?))
    })
}

/// The style with its colours put in: drawing programs know no variables.
fn standalone_style() -> String {
    let style = STYLE.replace('\n', "");
    colours().fold(style, |style, (name, light, _)| style.replace(&format!("var(--{name})"), light))
}

/// The colours as variables of a page, by day and by night.
pub(crate) fn page_colours() -> String {
    let by = |pick: fn((&str, &str, &str)) -> String| colours().map(pick).collect::<String>();
    let light = by(|(name, light, _)| format!("--{name}:{light};"));
    let dark = by(|(name, _, dark)| format!("--{name}:{dark};"));
    format!(
        ":root{{{light}}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}@media print{{:root{{{light}}}}}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_from_a_record_stays_in_its_folder() {
        assert_eq!(file_name("timeline-fixed=0.2-round-3"), "timeline-fixed=0.2-round-3");
        assert_eq!(file_name("../../etc/x y"), "-..-etc-x-y");
        assert_eq!([file_name(""), file_name("..")], ["unnamed", "unnamed"]);
    }

    #[test]
    fn a_file_of_its_own_needs_no_variables() {
        let style = standalone_style();
        assert!(!style.contains("var("), "{style}");
        assert!(page_colours().contains("--c0:"));
    }

    /// WCAG's contrast of two colours such as #0072b2.
    fn contrast(a: &str, b: &str) -> f64 {
        let luminance = |colour: &str| {
            let channel = |from: usize| {
                let value = f64::from(u8::from_str_radix(&colour[from..from + 2], 16).unwrap()) / 255.0;
                if value <= 0.03928 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
            };
            0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
        };
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn colours_stand_out_by_day_and_by_night() {
        let of = |wanted: &str| colours().find(|(name, ..)| *name == wanted).unwrap();
        let (_, day, night) = of("page");
        for (name, light, dark) in colours() {
            let least = match name {
                // WCAG: 3 for graphics, 4.5 for text; the grid is meant to stay back.
                "text" | "soft" => 4.5,
                _ if name.len() == 2 && name.starts_with('c') => 3.0,
                _ => continue,
            };
            assert!(contrast(light, day) >= least, "{name} by day: {}", contrast(light, day));
            assert!(contrast(dark, night) >= least, "{name} by night: {}", contrast(dark, night));
        }
    }
}
