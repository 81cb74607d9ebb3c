//! One word for one concept: words that this project does not use, and the words that it uses instead.

use super::prose::{self, Passage};
use super::ratchet::{Offender, Ratchet};
use super::tree::Tree;

pub(super) const RATCHET: Ratchet = Ratchet {
    list: "xtask/tidy/glossary.txt",
    limit: 0,
    unit: "uses",
    remedy: "CONTRIBUTING.md has the glossary, under `Language`",
    offenders,
};

/// Words with one meaning, the word to write instead, and words of the same passage that give them another meaning.
/// A word of either list counts only where it is a whole word.
struct Entry {
    words: &'static [&'static str],
    write: &'static str,
    unless: &'static [&'static str],
}

const ENTRIES: &[Entry] = &[
    Entry {
        words: &["noise"],
        write: "sampling variance",
        unless: &[
            "privacy",
            "snr",
            "db",
            "thermal noise",
            "noise figure",
            "gaussian noise",
            "random noise",
            "noise of the labels",
        ],
    },
    Entry {
        words: &["band"],
        write: "bandwidth",
        unless: &[
            "spectrum",
            "frequency",
            "shaded",
            "confidence",
            "quantile",
            "quantiles",
            "seeds",
            "snr",
            "lte",
            "nb-iot",
        ],
    },
    Entry {
        words: &["member", "members"],
        write: "device",
        unless: &[
            "class",
            "object",
            "object with the members",
            "family",
            "tuple",
            "archive",
            "package",
            "workspace",
            "docstring",
            "hub",
        ],
    },
    Entry {
        words: &[
            "those who take part",
            "those who took part",
            "those that take part",
            "those that took part",
        ],
        write: "cohort",
        unless: &[],
    },
    Entry {
        words: &[
            "how often a device",
            "how often each device",
            "how often every device",
            "how often devices",
            "how often they should",
            "take part how often",
            "takes part how often",
        ],
        write: "participation probability",
        // The realised frequency of a run is another number.
        unless: &["took part", "was benched", "realised"],
    },
    Entry { words: &["brings", "bring", "brought"], write: "sets, includes or has", unless: &[] },
    Entry { words: &["made-up", "made up"], write: "synthetic", unless: &["made up of", "made up for"] },
    Entry {
        words: &["go on", "goes on", "going on", "went on", "gone on"],
        write: "continue or resume",
        unless: &[],
    },
    Entry {
        words: &["break off", "breaks off", "broke off", "broken off", "breaking off"],
        write: "interrupt",
        unless: &[],
    },
    Entry { words: &["newcomer", "newcomers", "entrant", "entrants"], write: "device", unless: &[] },
    Entry { words: &["so many"], write: "N, or the name of the number", unless: &["so many that"] },
    Entry { words: &["left the numbers"], write: "became NaN or infinite", unless: &[] },
    Entry {
        words: &["times fewer", "× fewer", "times less", "× less", "times shorter"],
        write: "N times faster, or an N-th of",
        unless: &[],
    },
    Entry {
        words: &["stands here", "stand here", "stands there", "stand there"],
        write: "is given, is listed",
        unless: &[],
    },
    Entry { words: &["thrown away", "throws away"], write: "discarded", unless: &[] },
];

fn offenders(tree: &Tree) -> Vec<Offender> {
    let mut found: Vec<Offender> = Vec::new();
    for (path, text) in tree.files().iter().filter(|(path, _)| !is_exempt(path)) {
        for passage in prose::passages(path, text) {
            for (word, write) in wrong_words(&passage) {
                let what = format!("{word} → {write}");
                match found.iter_mut().find(|known| known.path == *path && known.what == what) {
                    Some(known) => known.count += 1,
                    None => found.push(Offender { path: path.clone(), line: passage.line, what, count: 1 }),
                }
            }
        }
    }
    found
}

/// This table, and the archived output of experiments.
fn is_exempt(path: &str) -> bool {
    path == "xtask/src/tidy/glossary.rs" || (path.starts_with("experiments/") && !path.ends_with("README.md"))
}

/// The words of the passage that the glossary replaces, each with its replacement.
fn wrong_words(passage: &Passage) -> impl Iterator<Item = (&'static str, &'static str)> {
    let text = prose::without_code(&passage.text).to_lowercase();
    let entries = ENTRIES.iter().filter({
        let text = text.clone();
        move |entry| !entry.unless.iter().any(|word| uses(&text, word))
    });
    entries.flat_map(move |entry| {
        let used = entry.words.iter().copied().filter(|word| uses(&text, word)).collect::<Vec<_>>();
        used.into_iter().map(|word| (word, entry.write))
    })
}

/// Whether the word stands there as a word of English: not as a flag, a path, a placeholder or a part of a name.
fn uses(text: &str, word: &str) -> bool {
    let part_of_name = |c: char| c.is_alphanumeric() || "_-/{}.<>=\"".contains(c);
    text.match_indices(word).any(|(start, found)| {
        let (before, after) = (&text[..start], &text[start + found.len()..]);
        let ends_sentence = after.starts_with('.') && !after[1..].starts_with(char::is_alphanumeric);
        !before.ends_with(part_of_name) && (ends_sentence || !after.starts_with(part_of_name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<(String, usize)> {
        let tree = Tree::of(&[(path, text)]);
        offenders(&tree).into_iter().map(|offender| (offender.what, offender.count)).collect()
    }

    #[test]
    fn every_word_is_found_in_prose_of_every_kind() {
        for entry in ENTRIES {
            for word in entry.words {
                let what = format!("{word} → {}", entry.write);
                for (path, text) in [
                    ("a.md", format!("One\n{word}, two.\n")),
                    ("a.rs", format!("/// One {word}.\nfn f() {{ g(\"x {word}\") }}\n")),
                    ("a.py", format!("\"\"\"One {word}.\"\"\"\n# {word}\n")),
                ] {
                    assert!(found(path, &text).iter().any(|(known, _)| *known == what), "{word} in {path}");
                }
            }
        }
    }

    #[test]
    fn other_meanings_names_and_code_are_left_alone() {
        for text in [
            "A band of spectrum has noise in dB.",
            "`band` and `--noise`, --noise and lab/band and band.total().",
            "It made up for the time.",
            "Broadband and noiseless.",
            "Any object with the members of a learner.",
            "How often each device took part, and how often the page is drawn.",
        ] {
            assert_eq!(found("a.md", text), [], "{text}");
        }
    }

    #[test]
    fn a_part_of_another_word_gives_no_other_meaning() {
        for text in ["A filter splits the band.", "The spectrums share a band."] {
            assert_eq!(found("a.md", text), [("band → bandwidth".to_owned(), 1)], "{text}");
        }
        assert_eq!(found("a.md", "Feedback on the noise.").len(), 1);
        assert_eq!(found("a.md", "An image, and the noise of its random cohort.").len(), 1);
    }

    #[test]
    fn words_for_devices_cohorts_and_probabilities_are_found() {
        for (text, write) in [
            ("Every member uploads.", "device"),
            ("The mean of those who take part.", "cohort"),
            ("It computes how often each device should take part.", "participation probability"),
        ] {
            assert!(found("a.md", text)[0].0.ends_with(write), "{text}");
        }
    }

    #[test]
    fn uses_are_counted_by_file_and_word() {
        assert_eq!(found("a.md", "A band.\n\nThe band.\n"), [("band → bandwidth".to_owned(), 2)]);
    }
}
