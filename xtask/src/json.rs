//! Reading a value or two out of JSON of our own making, and writing some: too little to be worth a dependency.

/// The number that stands behind the last such key. A million-entry array need not be parsed for it.
pub(crate) fn number_after(json: &str, key: &str) -> Option<f64> {
    let (_, rest) = json.rsplit_once(&format!("\"{key}\""))?;
    let value = rest.trim_start().strip_prefix(':')?.trim_start();
    let end = value.find([',', '}', '\n']).unwrap_or(value.len());
    value[..end].trim().parse().ok()
}

/// The numbers of the list behind the last such key.
pub(crate) fn numbers_after(json: &str, key: &str) -> Option<Vec<f64>> {
    let (_, rest) = json.rsplit_once(&format!("\"{key}\""))?;
    let list = rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('[')?;
    let (list, _) = list.split_once(']')?;
    list.split(',').map(|number| number.trim().parse().ok()).collect()
}

/// A string as JSON has it.
pub(crate) fn string(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_found_in_compact_and_in_pretty_json() {
        assert_eq!(number_after(r#"{"q":[0.5],"solve_secs":1.5e-5}"#, "solve_secs"), Some(1.5e-5));
        assert_eq!(number_after("{\n  \"solve_secs\": 0.25\n}\n", "solve_secs"), Some(0.25));
        assert_eq!(number_after(r#"{"solve_secs":null}"#, "solve_secs"), None);
    }

    #[test]
    fn lists_of_numbers_are_found() {
        assert_eq!(numbers_after(r#"{"a":[1, 2.5,-3e2],"b":[]}"#, "a"), Some(vec![1.0, 2.5, -300.0]));
        assert_eq!(numbers_after(r#"{"a":[1,null]}"#, "a"), None);
        assert_eq!(numbers_after(r#"{"a":1}"#, "a"), None);
    }

    #[test]
    fn strings_are_quoted() {
        assert_eq!(string("a \"b\" \\ \n"), r#""a \"b\" \\ \u000a""#);
    }
}
