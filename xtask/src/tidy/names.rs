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

/// One kind of name: the type whose variants are such names, the names as strings, and where its table is.
struct Kind {
    of_type: &'static str,
    names: &'static [&'static str],
    homes: &'static [&'static str],
}

const KINDS: &[Kind] = &[
    Kind {
        of_type: "Scheme",
        names: &[
            "auto",
            "exact",
            "paper",
            "paper-linesearch",
            "tight",
            "sampled",
            "full",
            "fixed",
            "uniform",
            "weighted",
        ],
        // `paper` is also the name of a preset.
        homes: &["crates/plan/src/"],
    },
    Kind {
        of_type: "Task",
        names: &["synthetic", "mnist-cnn", "fashion-cnn", "cifar10-mobilenet", "shakespeare-lstm"],
        homes: &["crates/learn/src/task"],
    },
    Kind {
        of_type: "Metric",
        names: &["accuracy", "loss", "rmse", "f1", "perplexity"],
        homes: &["crates/learn/src/metric"],
    },
];

fn offenders(tree: &Tree) -> Vec<Offender> {
    let mut found = Vec::new();
    for (path, text) in tree.production() {
        let source = Source::read(text);
        for kind in KINDS.iter().filter(|kind| !kind.homes.iter().any(|home| path.starts_with(home))) {
            let mut branches: BTreeMap<String, (usize, usize)> = BTreeMap::new();
            for (name, start, end) in mentions(&source, kind) {
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
fn mentions(source: &Source, kind: &Kind) -> Vec<(String, usize, usize)> {
    let strings = source.strings.iter().filter(|literal| kind.names.contains(&literal.value.as_str()));
    let mut mentions: Vec<_> = strings
        .map(|literal| (format!("{:?}", literal.value), literal.place.start, literal.place.end))
        .collect();
    let path = format!("{}::", kind.of_type);
    let part_of_name = |c: char| c.is_alphanumeric() || c == '_';
    for (start, _) in source.code.match_indices(&path) {
        let rest = &source.code[start + path.len()..];
        let variant = &rest[..rest.find(|c| !part_of_name(c)).unwrap_or(rest.len())];
        // Functions and constants of the type, and variants of another type of that name, are no names.
        let is_name = kind.names.iter().any(|name| is_variant_of(variant, name));
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

/// Whether the program branches on what stands here: a pattern, or one side of a comparison.
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

    fn found(path: &str, text: &str) -> Vec<(String, usize)> {
        let tree = Tree::of(&[("crates/one/Cargo.toml", ""), ("crates/plan/Cargo.toml", ""), (path, text)]);
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
    fn the_table_itself_may() {
        let text = "match name { \"auto\" => Scheme::Auto, \"accuracy\" => 1 }";
        assert_eq!(found("crates/plan/src/scheme.rs", text), [("\"accuracy\"".to_owned(), 1)]);
    }
}
