//! The name that somebody may have meant.

/// How alike two names must be for one to be offered in place of the other.
const LIKENESS_MIN: f64 = 0.75;

/// The most similar of some names, if any is similar enough to be meant; capital letters do not count.
pub fn nearest<T: AsRef<str>>(text: &str, names: impl IntoIterator<Item = T>) -> Option<T> {
    let text = text.to_lowercase();
    names
        .into_iter()
        .map(|name| (strsim::jaro_winkler(&text, name.as_ref()), name))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .filter(|(likeness, _)| *likeness > LIKENESS_MIN)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_meant_and_what_cannot_have_been() {
        let names = ["exact", "paper", "tight"];
        assert_eq!(nearest("Exat", names), Some("exact"));
        assert_eq!(nearest("paper-", names), Some("paper"));
        assert_eq!(nearest("zzz", names), None);
        assert_eq!(nearest("exact", [""; 0]), None);
    }
}
