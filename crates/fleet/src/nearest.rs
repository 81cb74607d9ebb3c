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

/// A remedy for a name that is not known: the one that may have been meant, or else another remedy.
pub fn did_you_mean<T: AsRef<str>>(
    text: &str,
    names: impl IntoIterator<Item = T>,
    otherwise: impl FnOnce() -> String,
) -> String {
    nearest(text, names).map_or_else(otherwise, |name| format!("did you mean {}?", name.as_ref()))
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

    #[test]
    fn a_remedy_names_what_was_meant_or_is_another_one() {
        let remedy = |text| did_you_mean(text, ["exact", "paper"], || "name a scheme".to_owned());
        assert_eq!(remedy("exat"), "did you mean exact?");
        assert_eq!(remedy("zzz"), "name a scheme");
    }
}
