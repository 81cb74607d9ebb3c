//! Just enough of `Cargo.toml`: the package's name and what it depends on.
//!
//! Reads line by line, which suits the form our manifests have; a whole TOML parser would be this
//! program's only dependency.

/// A package and its dependencies.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Manifest {
    pub(super) name: String,
    pub(super) dependencies: Vec<Dependency>,
}

/// One line that names another package.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Dependency {
    pub(super) package: String,
    pub(super) line: usize,
    /// Only tests, examples and benchmarks see it.
    pub(super) dev: bool,
}

/// What the lines under a heading say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Section<'a> {
    Package,
    /// A dependency a line.
    Dependencies {
        dev: bool,
    },
    /// `[dependencies.rand]`: one dependency, spelt out over the lines that follow.
    Dependency {
        package: &'a str,
        dev: bool,
    },
    Other,
}

impl Manifest {
    pub(super) fn parse(text: &str) -> Self {
        let mut manifest = Self::default();
        let mut section = Section::Other;
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            let number = index + 1;
            if line.starts_with('[') {
                section = Section::opened_by(line);
                if let Section::Dependency { package, dev } = section {
                    manifest.depend(package, number, dev);
                }
                continue;
            }
            let (false, Some((key, value))) = (line.starts_with('#'), line.split_once('=')) else {
                continue;
            };
            match section {
                Section::Package if key.trim() == "name" => {
                    manifest.name = unquoted(value).to_owned();
                }
                Section::Dependencies { dev } => {
                    let nickname = key.split('.').next().unwrap_or(key);
                    let package = renamed_from(value).unwrap_or_else(|| unquoted(nickname));
                    manifest.depend(package, number, dev);
                }
                _ => {}
            }
        }
        manifest
    }

    fn depend(&mut self, package: &str, line: usize, dev: bool) {
        self.dependencies.push(Dependency { package: package.to_owned(), line, dev });
    }
}

impl<'a> Section<'a> {
    fn opened_by(line: &'a str) -> Self {
        let heading = line.trim_matches(['[', ']']);
        if heading == "package" {
            return Self::Package;
        }
        // The longer names first: both end in the shortest.
        for (kind, dev) in
            [("dev-dependencies", true), ("build-dependencies", false), ("dependencies", false)]
        {
            // Whatever stands before, as in `[target.'cfg(unix)'.dependencies]`, limits where the
            // dependency applies and not whether it is one.
            let Some((_, after)) = heading.rsplit_once(kind) else {
                continue;
            };
            return match after.strip_prefix('.') {
                Some(package) => Self::Dependency { package: unquoted(package), dev },
                None => Self::Dependencies { dev },
            };
        }
        Self::Other
    }
}

/// The package behind `{ package = "…" }`, which the key then only nicknames.
fn renamed_from(value: &str) -> Option<&str> {
    let (_, rest) = value.split_once("package")?;
    rest.trim_start().strip_prefix('=')?.split('"').nth(1)
}

fn unquoted(text: &str) -> &str {
    text.trim().trim_matches(['"', '\''])
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"[package]
name = "fedflip-plan"
version.workspace = true

[dependencies]
fedflip-fleet.workspace = true
# rayon = "1"
rand = { version = "0.10", features = [
    "std",
] }
maths = { package = "clarabel", version = "0.11" }

[dependencies.serde]
version = "1.0"

[target.'cfg(unix)'.dependencies]
libc = "0.2"

[dev-dependencies]
criterion.workspace = true

[build-dependencies]
protox = "0.9"

[features]
default = ["fast"]

[[bench]]
name = "solvers"
"#;

    #[test]
    fn all_forms_of_a_dependency_are_found() {
        let manifest = Manifest::parse(TEXT);
        assert_eq!(manifest.name, "fedflip-plan");
        let found: Vec<(&str, usize, bool)> = manifest
            .dependencies
            .iter()
            .map(|dependency| (dependency.package.as_str(), dependency.line, dependency.dev))
            .collect();
        assert_eq!(
            found,
            [
                ("fedflip-fleet", 6, false),
                ("rand", 8, false),
                ("clarabel", 11, false),
                ("serde", 13, false),
                ("libc", 17, false),
                ("criterion", 20, true),
                ("protox", 23, false),
            ]
        );
    }
}
