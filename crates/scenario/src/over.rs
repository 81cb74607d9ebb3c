//! The keys and values of a sweep, and the points that they make.

use super::Scenario;
use super::entries::{Entry, of_text};
use super::error::{KeyError, Place, short};
use super::keys;
use super::value::Value;

/// The most points of a sweep: each is a whole comparison.
const POINTS_MAX: usize = 1_000;

const EXAMPLE: &str = "write SECTION.KEY=VALUE,VALUE,…, such as fleet.bandwidth_mbps=100,200,400";

/// One key and the values that it takes in turn.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    section: String,
    key: String,
    /// Each value as typed and as parsed.
    values: Vec<(String, Value)>,
}

impl Axis {
    /// `fleet.bandwidth_mbps=100,200,400`. Whether the scenario has the key, and whether it takes the values, is
    /// found out when a scenario is made of them; `base` is the one that the sweep starts from.
    pub fn parse(text: &str, base: &Scenario) -> Result<Self, KeyError> {
        let Some((path, values)) = text.split_once('=') else {
            return Err(refuse(format!("{} has no equals sign", short(text)), EXAMPLE));
        };
        let (section, key) = path.trim().split_once('.').unwrap_or(("", path.trim()));
        let axis = Self { section: section.to_owned(), key: key.to_owned(), values: Vec::new() };
        let path = axis.path();
        let values = values.trim();
        if values.is_empty() {
            return Err(refuse(format!("{path} is given no values"), EXAMPLE));
        }
        let known = keys::all().find(|key| key.is(&axis.section, &axis.key));
        if known.is_some_and(|key| matches!(key.get(base), Some(Value::List(_)))) {
            let hint = "sweep over a key with one value; for lists, run one comparison each";
            return Err(refuse(format!("{path} takes a list"), hint));
        }
        if values.starts_with('[') {
            let inside = values.trim_start_matches('[').trim_end_matches(']');
            let hint = format!("write the values without brackets: {path}={inside}");
            return Err(refuse(format!("{path}: {} is a list", short(values)), &hint));
        }
        let mut given: Vec<(String, Value)> = Vec::new();
        for text in values.split(',').map(str::trim) {
            let value = of_text(text);
            if text.is_empty() {
                return Err(refuse(format!("{path}: a value is missing in {}", short(values)), EXAMPLE));
            }
            if let Some((twin, _)) = given.iter().find(|(_, known)| same(known, &value)) {
                let problem = match twin == text {
                    true => format!("{path}: {text} stands there twice"),
                    false => format!("{path}: {twin} and {text} are the same"),
                };
                return Err(refuse(problem, "leave one of them out: every point is run once"));
            }
            given.push((text.to_owned(), value));
        }
        Ok(Self { values: given, ..axis })
    }

    /// `fleet.bandwidth_mbps`, and `seed` for what stands above all sections.
    pub fn path(&self) -> String {
        if self.section.is_empty() { self.key.clone() } else { format!("{}.{}", self.section, self.key) }
    }

    pub fn values(&self) -> impl Iterator<Item = &Value> {
        self.values.iter().map(|(_, value)| value)
    }
}

/// Whether two values are the same; 1 and 1.0 are.
fn same(a: &Value, b: &Value) -> bool {
    let number = |value: &Value| match value {
        Value::Whole(whole) => Some(*whole as f64),
        Value::Number(number) => Some(*number),
        _ => None,
    };
    a == b || number(a).zip(number(b)).is_some_and(|(a, b)| a == b)
}

fn refuse(problem: String, hint: &str) -> KeyError {
    KeyError { place: Place::Axis, key: String::new(), problem, hint: hint.to_owned() }
}

/// One value of every axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Point(Vec<Setting>);

#[derive(Clone, Debug, PartialEq)]
struct Setting {
    section: String,
    key: String,
    path: String,
    text: String,
    value: Value,
}

impl Point {
    pub(super) fn entries(&self) -> Vec<Entry> {
        let entry = |setting: &Setting| Entry {
            place: Place::Axis,
            section: setting.section.clone(),
            key: setting.key.clone(),
            value: setting.value.clone(),
        };
        self.0.iter().map(entry).collect()
    }

    /// Key and value of every axis.
    pub fn settings(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|setting| (setting.path.as_str(), &setting.value))
    }

    /// The values as typed.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|setting| setting.text.as_str())
    }

    /// `fleet.bandwidth_mbps=100`, which names a folder too: what no file name should have is an underscore.
    pub fn name(&self) -> String {
        let safe = |c: char| if c.is_alphanumeric() || "._-+=".contains(c) { c } else { '_' };
        let parts: Vec<String> =
            self.0.iter().map(|setting| format!("{}={}", setting.path, setting.text)).collect();
        parts.iter().map(|part| part.chars().map(safe).collect::<String>()).collect::<Vec<_>>().join(",")
    }
}

/// All points of some axes. The value of the last axis changes fastest.
pub fn points(axes: &[Axis]) -> Result<Vec<Point>, KeyError> {
    for (place, axis) in axes.iter().enumerate() {
        if axes[..place].iter().any(|other| other.path() == axis.path()) {
            let hint = "name all of its values on one axis";
            return Err(refuse(format!("{} is given twice", axis.path()), hint));
        }
    }
    let count = axes.iter().try_fold(1_usize, |count, axis| count.checked_mul(axis.values.len()));
    if count.is_none_or(|count| count > POINTS_MAX) {
        let problem = format!("more than {POINTS_MAX} points, each of which is a whole comparison");
        return Err(refuse(problem, "leave out some values"));
    }
    let mut points = vec![Point::default()];
    for axis in axes {
        let longer = points.iter().flat_map(|point| {
            axis.values.iter().map(move |(text, value)| {
                let mut settings = point.0.clone();
                settings.push(Setting {
                    section: axis.section.clone(),
                    key: axis.key.clone(),
                    path: axis.path(),
                    text: text.clone(),
                    value: value.clone(),
                });
                Point(settings)
            })
        });
        points = longer.collect();
    }
    let names: Vec<String> = points.iter().map(Point::name).collect();
    if let Some(name) =
        names.iter().enumerate().find_map(|(n, name)| names[..n].contains(name).then_some(name))
    {
        let hint = "choose values that differ in more than the characters that no file name should have";
        return Err(refuse(format!("two points would share the folder {name}"), hint));
    }
    Ok(points)
}

#[cfg(test)]
mod tests {
    use super::super::Source;
    use super::*;

    fn axis(text: &str) -> Result<Axis, KeyError> {
        Axis::parse(text, &Source::embedded().scenario(&[]).unwrap())
    }

    #[test]
    fn axes_make_their_product() {
        let axes = ["fleet.bandwidth_mbps=100, 2e2", "seed=1,2,3"].map(|text| axis(text).unwrap());
        let points = points(&axes).unwrap();
        let names: Vec<String> = points.iter().map(Point::name).collect();
        assert_eq!(names.len(), 6);
        assert_eq!(names[1], "fleet.bandwidth_mbps=100,seed=2");
        assert_eq!(names[3], "fleet.bandwidth_mbps=2e2,seed=1");
        let scenario = Source::embedded().at(&["seed=9".to_owned()], &points[5]).unwrap();
        assert_eq!((scenario.bandwidth.get(), scenario.seed), (200.0, 3));
    }

    #[test]
    fn what_makes_no_sweep_is_refused() {
        for (text, words) in [
            ("fleet.bandwidth_mbps", "no equals sign"),
            ("fleet.bandwidth_mbps=", "no values"),
            ("fleet.bandwidth_mbps=1,,2", "missing"),
            ("fleet.bandwidth_mbps=[1,2]", "is a list"),
            ("fleet.bandwidth_mbps=1,2,1", "1 stands there twice"),
            ("fleet.bandwidth_mbps=1,2,1.0", "1 and 1.0 are the same"),
            ("fleet.types=honor-70", "takes a list"),
        ] {
            let error = axis(text).unwrap_err();
            assert!(
                error.to_string().starts_with("an axis of the sweep: ") && error.problem.contains(words),
                "{error}"
            );
        }
        let twice = [axis("seed=1,2").unwrap(), axis("seed=3").unwrap()];
        assert!(points(&twice).unwrap_err().problem.contains("twice"));
        let many: Vec<String> = (0..1001).map(|n| n.to_string()).collect();
        let many = axis(&format!("seed={}", many.join(","))).unwrap();
        assert!(points(&[many]).unwrap_err().problem.contains("1000"));
        let alike = axis("fleet.file=a/b,a_b").unwrap();
        assert!(points(&[alike]).unwrap_err().problem.contains("folder"));
    }
}
