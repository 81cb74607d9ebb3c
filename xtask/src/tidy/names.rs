//! Whoever branches on the name of a scheme, a task or a metric writes a part of its table in another place. Such a
//! branch belongs into the table, as a column or a method.

use std::collections::BTreeMap;

use super::ratchet::{Offender, Ratchet};
use super::tree::Tree;
use crate::source::Source;

pub(super) const RATCHET: Ratchet = Ratchet {
    list: "xtask/tidy/matched-names.txt",
    limit: 0,
    unit: "branches on this name outside its table",
    remedy: "ask the table's row instead",
    offenders,
};

/// One kind of name: the type whose variants are such names, the file with its table, what stands before a name there, and
/// where else the names are at home.
struct Kind {
    of_type: &'static str,
    table: &'static str,
    before_names: &'static [&'static str],
    home: &'static str,
}

const KINDS: &[Kind] = &[
    Kind {
        of_type: "Scheme",
        table: "crates/plan/src/scheme.rs",
        before_names: &["Variance, ", "Constants, ", "Nothing, "],
        // `paper` is also the name of a preset.
        home: "crates/plan/src/",
    },
    Kind {
        of_type: "Task",
        table: "crates/learn/src/task/builtin.rs",
        // The names of parameters stand further to the right.
        before_names: &["\n        name: "],
        home: "crates/learn/src/task",
    },
    Kind {
        of_type: "Metric",
        table: "crates/learn/src/metrics.rs",
        before_names: &["MetricInfo::new("],
        home: "crates/learn/src/metric",
    },
];

impl Kind {
    fn names(&self, tree: &Tree) -> Vec<String> {
        let source = Source::read(tree.text(self.table).unwrap_or_default());
        let is_name = |at: usize| {
            !source.is_test(at) && self.before_names.iter().any(|before| source.code[..at].ends_with(before))
        };
        let names = source.strings.iter().filter(|literal| is_name(literal.place.start));
        names.map(|literal| literal.value.clone()).collect()
    }
}

fn offenders(tree: &Tree) -> Vec<Offender> {
    let kinds: Vec<(&Kind, Vec<String>)> = KINDS.iter().map(|kind| (kind, kind.names(tree))).collect();
    let mut found = Vec::new();
    for (path, text) in tree.production() {
        let source = Source::read(text);
        for (kind, names) in kinds.iter().filter(|(kind, _)| !path.starts_with(kind.home)) {
            let mut branches: BTreeMap<String, (usize, usize)> = BTreeMap::new();
            for (name, start, end) in mentions(&source, kind.of_type, names) {
                if !source.is_test(start) && is_branch(&source.code, start, end) {
                    branches.entry(name).or_insert((source.line_of(start), 0)).1 += 1;
                }
            }
            found.extend(branches.into_iter().map(|(what, (line, count))| Offender {
                path: path.to_owned(),
                line,
                what,
                count,
            }));
        }
    }
    found
}

/// Every mention of a name, as a string or as a variant: what is mentioned, and from where to where.
fn mentions(source: &Source, of_type: &str, names: &[String]) -> Vec<(String, usize, usize)> {
    let strings = source.strings.iter().filter(|literal| names.contains(&literal.value));
    let mut mentions: Vec<_> = strings
        .map(|literal| (format!("{:?}", literal.value), literal.place.start, literal.place.end))
        .collect();
    let path = format!("{of_type}::");
    let part_of_name = |c: char| c.is_alphanumeric() || c == '_';
    for (start, _) in source.code.match_indices(&path) {
        let rest = &source.code[start + path.len()..];
        let variant = &rest[..rest.find(|c| !part_of_name(c)).unwrap_or(rest.len())];
        // Functions and constants of the type, and variants of another type of that name, are no names.
        let is_name = names.iter().any(|name| is_variant_of(variant, name));
        if is_name && !source.code[..start].ends_with(part_of_name) {
            let end = start + path.len() + variant.len();
            mentions.push((source.code[start..end].to_owned(), start, end));
        }
    }
    mentions
}

/// Whether `PaperLinesearch` is the variant for `paper-linesearch`.
fn is_variant_of(variant: &str, name: &str) -> bool {
    variant.starts_with(char::is_uppercase) && variant.eq_ignore_ascii_case(&name.replace('-', ""))
}

/// Whether the program branches on the name at this place: a pattern, or one side of a comparison.
fn is_branch(code: &str, start: usize, end: usize) -> bool {
    let line_start = code[..start].rfind('\n').map_or(0, |at| at + 1);
    let before = &code[line_start..start];
    // A comparison may be with `Some("auto")`, with `&"auto"` or with a longer path.
    let operator = before.trim_end_matches(|c: char| c.is_alphanumeric() || "( &*_:".contains(c));
    let after = code[end..].trim_start_matches([')', ' ', '\n']);
    let starts = |operators: &[&str]| operators.iter().any(|operator| after.starts_with(operator));
    let is_compared = operator.ends_with("==") || operator.ends_with("!=") || starts(&["==", "!="]);
    let rest_of_line = code[end..].split('\n').next().unwrap_or_default();
    let is_pattern = rest_of_line.contains("=>")
        || starts(&["=>", "| ", "if "])
        || (before.contains(" let ") && after.starts_with("= "))
        || before.contains("matches!(");
    is_compared || is_pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMES: &str =
        "Auto: Variance, \"auto\",\nFixed(Q): Nothing, \"fixed\";\nUniform: Nothing, \"uniform\"";
    const TASKS: &str = "Row {\n        name: \"mnist-cnn\",\n            name: \"width\",\n}";
    const METRICS: &str = "info: MetricInfo::new(\"accuracy\", x)";

    fn found(path: &str, text: &str) -> Vec<(String, usize)> {
        let [scheme, task, metric] = [&KINDS[0], &KINDS[1], &KINDS[2]].map(|kind| kind.table);
        let tables = [(scheme, SCHEMES), (task, TASKS), (metric, METRICS)];
        let manifests = ["one", "plan", "learn"].map(|name| format!("crates/{name}/Cargo.toml"));
        let mut files: Vec<(&str, &str)> = manifests.iter().map(|path| (path.as_str(), "")).collect();
        files.extend(tables.into_iter().filter(|(table, _)| *table != path));
        let own = if path == scheme { format!("{SCHEMES}{text}") } else { text.to_owned() };
        files.push((path, &own));
        let tree = Tree::of(&files);
        offenders(&tree).into_iter().map(|offender| (offender.what, offender.count)).collect()
    }

    #[test]
    fn branches_on_a_name_are_found_in_every_form() {
        for text in [
            "match name { \"auto\" => 1, _ => 2 }",
            "if name == \"auto\" {}",
            "if \"auto\" != name {}",
            "if name == Some(\"auto\") {}",
            "matches!(name, \"auto\")",
            "match name {\n    Some(\"auto\")\n        if x => 1,\n}",
            "if let Some(\"auto\") = name {}",
        ] {
            assert_eq!(found("crates/one/src/a.rs", text), [("\"auto\"".to_owned(), 1)], "{text}");
        }
        let both = "match s {\n    Scheme::Fixed(_) | Scheme::Uniform => 1,\n    (Task::MnistCnn { .. }, 1) => 2,\n}";
        let names: Vec<String> =
            found("crates/one/src/a.rs", both).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["Scheme::Fixed", "Scheme::Uniform", "Task::MnistCnn"]);
        assert_eq!(
            found("crates/one/src/a.rs", "a == Scheme::Auto || b != plan::Scheme::Auto"),
            [("Scheme::Auto".to_owned(), 2)]
        );
    }

    #[test]
    fn a_name_that_is_only_passed_on_is_no_branch() {
        for text in [
            "let scheme = \"auto\";",
            "f(|x| \"auto\");",
            "match x { 1 => Scheme::Auto, _ => f(\"auto\") }",
            "// name == \"auto\"",
            "let text = \"name == \\\"auto\\\"\";",
            "Scheme::ALL == x",
            "match order { Task::Train => 1 }",
            "#[cfg(test)]\nmod tests {\n    fn t() { name == \"auto\" }\n}",
        ] {
            let text = text.replace(", _ =>", ",\n _ =>");
            assert_eq!(found("crates/one/src/a.rs", &text), [], "{text}");
        }
    }

    #[test]
    fn the_tables_of_the_project_are_found() {
        let tree = Tree::load(&crate::repo::Repo::here()).unwrap();
        let counts: Vec<usize> = KINDS.iter().map(|kind| kind.names(&tree).len()).collect();
        assert!(counts.iter().all(|count| *count >= 5), "{counts:?}");
    }

    #[test]
    fn the_table_itself_may() {
        let text = "match name { \"auto\" => Scheme::Auto, \"accuracy\" => 1 }";
        assert_eq!(found("crates/plan/src/scheme.rs", text), [("\"accuracy\"".to_owned(), 1)]);
    }
}
