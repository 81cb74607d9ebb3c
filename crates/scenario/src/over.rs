//! The keys and values of a sweep, and the points that they make.

use std::fmt;

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
        let (path, values) = (path.trim(), values.trim());
        if values.starts_with('[') && !takes_list(path, base) {
            let inside = values.trim_start_matches('[').trim_end_matches(']');
            let hint = format!("write the values without brackets: {path}={inside}");
            return Err(refuse(format!("{path}: {} is a list", short(values)), &hint));
        }
        let texts = values.split(',').map(str::trim).filter(|_| !values.is_empty());
        let texts: Vec<(String, String)> = texts.map(|text| (text.to_owned(), text.to_owned())).collect();
        if texts.iter().any(|(text, _)| text.is_empty()) {
            return Err(refuse(format!("{path}: a value is missing in {}", short(values)), EXAMPLE));
        }
        Self::of(path, &texts, base)
    }

    /// A key and its values, each as people read it and as TOML; what is not TOML is text.
    pub fn of(path: &str, values: &[(String, String)], base: &Scenario) -> Result<Self, KeyError> {
        if values.is_empty() {
            return Err(refuse(format!("{path} is given no values"), EXAMPLE));
        }
        if takes_list(path, base) {
            let hint = "sweep over a key with one value; for lists, run one comparison each";
            return Err(refuse(format!("{path} takes a list"), hint));
        }
        let mut given: Vec<(String, Value)> = Vec::new();
        for (text, toml) in values {
            let value = of_text(toml);
            if let Some((twin, _)) = given.iter().find(|(_, known)| same(known, &value)) {
                let problem = match twin == text {
                    true => format!("{path}: {text} is listed twice"),
                    false => format!("{path}: {twin} and {text} are the same"),
                };
                return Err(refuse(problem, "leave one of them out: every point is run once"));
            }
            given.push((text.clone(), value));
        }
        let (section, key) = section_and_key(path);
        Ok(Self { section: section.to_owned(), key: key.to_owned(), values: given })
    }

    /// `fleet.bandwidth_mbps`, and `seed` for what stands above all sections.
    pub fn path(&self) -> String {
        if self.section.is_empty() { self.key.clone() } else { format!("{}.{}", self.section, self.key) }
    }

    pub fn values(&self) -> impl Iterator<Item = &Value> {
        self.values.iter().map(|(_, value)| value)
    }
}

/// The two parts of a key's path; a key above all sections has no section.
fn section_and_key(path: &str) -> (&str, &str) {
    path.split_once('.').unwrap_or(("", path))
}

fn takes_list(path: &str, base: &Scenario) -> bool {
    let (section, key) = section_and_key(path);
    let known = keys::all().find(|known| known.is(section, key));
    known.is_some_and(|known| matches!(known.get(base), Some(Value::List(_))))
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
        self.parts().map(|part| part.chars().map(safe).collect::<String>()).collect::<Vec<_>>().join(",")
    }

    fn parts(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|setting| format!("{}={}", setting.path, setting.text))
    }
}

/// `fleet.bandwidth_mbps=100, world.dropout=0.1`, as given.
impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.parts().collect::<Vec<_>>().join(", "))
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
        assert_eq!(points[3].to_string(), "fleet.bandwidth_mbps=2e2, seed=1");
        let scenario = Source::embedded().at(&["seed=9".to_owned()], &points[5]).unwrap();
        assert_eq!((scenario.bandwidth.get(), scenario.seed), (200.0, 3));
    }

    /// A program has values: a text with a comma is one value, and has no quotes in the name of its folder.
    #[test]
    fn values_of_a_program_are_not_split() {
        let base = Source::embedded().scenario(&[]).unwrap();
        let values = [("a,b.csv", "\"a,b.csv\""), ("12", "\"12\"")];
        let values = values.map(|(text, toml)| (text.to_owned(), toml.to_owned()));
        let axis = Axis::of("fleet.file", &values, &base).unwrap();
        assert_eq!(axis.values().cloned().collect::<Vec<_>>(), [Value::text("a,b.csv"), Value::text("12")]);
        let names: Vec<String> = points(&[axis]).unwrap().iter().map(Point::name).collect();
        assert_eq!(names, ["fleet.file=a_b.csv", "fleet.file=12"]);
        assert!(Axis::of("fleet.file", &[], &base).unwrap_err().problem.contains("no values"));
    }

    #[test]
    fn what_makes_no_sweep_is_refused() {
        for (text, words) in [
            ("fleet.bandwidth_mbps", "no equals sign"),
            ("fleet.bandwidth_mbps=", "no values"),
            ("fleet.bandwidth_mbps=1,,2", "missing"),
            ("fleet.bandwidth_mbps=[1,2]", "is a list"),
            ("fleet.bandwidth_mbps=1,2,1", "1 is listed twice"),
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
