//! A function fits on a screen: 60 lines from `fn` to its closing brace, outside tests.

use super::ratchet::{Offender, Ratchet};
use super::tree::Tree;
use crate::source::Source;

pub(super) const RATCHET: Ratchet = Ratchet {
    list: "xtask/tidy/long-functions.txt",
    limit: 60,
    unit: "lines",
    remedy: "split it by step",
    offenders,
};

fn offenders(tree: &Tree) -> Vec<Offender> {
    let mut found: Vec<Offender> = Vec::new();
    for (path, text) in tree.production() {
        for (line, name, count) in functions(&Source::read(text)) {
            // Functions of one name share a line of the list: the longest decides.
            let same = found.iter_mut().find(|known| known.path == path && known.what == name);
            match same {
                _ if count <= RATCHET.limit => {}
                Some(known) => known.count = known.count.max(count),
                None => found.push(Offender { path: path.to_owned(), line, what: name.to_owned(), count }),
            }
        }
    }
    found
}

/// Line, name and length of each function with a body, outside tests.
fn functions(source: &Source) -> impl Iterator<Item = (usize, &str, usize)> {
    source.code.match_indices("fn ").filter_map(|(at, _)| {
        let part_of_name = |c: char| c.is_alphanumeric() || c == '_';
        if source.is_test(at) || source.code[..at].ends_with(part_of_name) {
            return None;
        }
        let rest = source.code[at + 3..].trim_start();
        let name = &rest[..rest.find(|c| !part_of_name(c))?];
        let body = at + body_after(&source.code[at..])?;
        let (first, last) = (source.line_of(at), source.line_of(source.closing(body) - 1));
        (!name.is_empty()).then_some((first, name, last + 1 - first))
    })
}

/// Where the body of a signature opens; a declaration has none. Array types have semicolons too.
fn body_after(signature: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, byte) in signature.bytes().enumerate() {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth = depth.checked_sub(1)?,
            b'{' if depth == 0 => return Some(at),
            b';' if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(text: &str) -> Vec<(usize, String, usize)> {
        let source = Source::read(text);
        functions(&source).map(|(line, name, lines)| (line, name.to_owned(), lines)).collect()
    }

    #[test]
    fn functions_are_measured_from_their_first_line_to_their_last() {
        let text = "trait T {\n    fn declared(a: [u8; 3]);\n}\npub fn long(\n    a: [u8; 3],\n) -> [f64; 2] {\n    \
                    let s = \"}\";\n    let f: fn(u8) -> u8 = g; // }\n}\nfn short() {}\n#[cfg(test)]\nmod tests {\n    fn t() {}\n}\n";
        assert_eq!(lengths(text), [(4, "long".to_owned(), 6), (10, "short".to_owned(), 1)]);
    }

    #[test]
    fn the_longest_of_one_name_counts() {
        let function = |lines: usize| format!("fn f() {{\n{}}}\n", "    a();\n".repeat(lines - 2));
        let text = format!("{}mod m {{\n{}}}\n{}", function(61), function(70), function(60));
        let tree = Tree::of(&[("crates/one/Cargo.toml", ""), ("crates/one/src/a.rs", &text)]);
        let found = offenders(&tree);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].line, found[0].count), (1, 70));
    }
}
