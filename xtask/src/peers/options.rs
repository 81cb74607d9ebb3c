//! The words after `cargo xtask bench-peers`.

use std::num::NonZero;
use std::thread::available_parallelism;

use super::MODELS;
use crate::error::TaskError;
use crate::tools;

/// What to time, and how.
#[derive(Debug, PartialEq)]
pub(super) struct Options {
    /// A Python that may have PyTorch.
    pub(super) python: String,
    /// Clients at a time.
    pub(super) threads: usize,
    /// Each measurement takes this long at least.
    pub(super) secs: f64,
    pub(super) repetitions: usize,
    pub(super) models: Vec<&'static str>,
    pub(super) json: bool,
}

const USAGE: &str = "cargo xtask bench-peers [--json] [--quick] [--model NAME]... [--python PATH] \
                     [--threads N] [--secs S] [--repetitions N]";

impl Options {
    pub(super) fn parse(args: &[String]) -> Result<Self, TaskError> {
        let mut options = Self {
            python: tools::variable(tools::TORCH_PYTHON).unwrap_or_else(|| "python3".to_owned()),
            threads: available_parallelism().map_or(1, NonZero::get),
            secs: 5.0,
            repetitions: 5,
            models: Vec::new(),
            json: false,
        };
        let mut args = args.iter().map(String::as_str);
        while let Some(arg) = args.next() {
            let (flag, attached) =
                arg.split_once('=').map_or((arg, None), |(flag, value)| (flag, Some(value)));
            match flag {
                "--json" => options.json = true,
                // Whether it works, not how fast it is.
                "--quick" => (options.secs, options.repetitions) = (0.05, 1),
                _ => {
                    let known = ["--model", "--python", "--threads", "--secs", "--repetitions"];
                    let value = attached.or_else(|| known.contains(&flag).then(|| args.next()).flatten());
                    let value = value.ok_or_else(|| refused(arg))?;
                    options.set(flag, value).ok_or_else(|| refused(&format!("{flag} {value}")))?;
                }
            }
        }
        if options.models.is_empty() {
            options.models.extend(MODELS.map(|(name, _)| name));
        }
        Ok(options)
    }

    /// `None` if there is no such option, or no such value of it.
    fn set(&mut self, flag: &str, value: &str) -> Option<()> {
        match flag {
            "--model" => self.models.push(MODELS.iter().find(|(name, _)| *name == value)?.0),
            "--python" => value.clone_into(&mut self.python),
            "--threads" => self.threads = value.parse().ok().filter(|n| (1..=4096).contains(n))?,
            "--secs" => self.secs = value.parse().ok().filter(|secs| (0.01..=3600.0).contains(secs))?,
            "--repetitions" => self.repetitions = value.parse().ok().filter(|n| (1..=1000).contains(n))?,
            _ => return None,
        }
        Some(())
    }
}

fn refused(what: &str) -> TaskError {
    let models = MODELS.map(|(name, _)| name).join(", ");
    TaskError::Usage(format!("`{what}` is not understood; {USAGE}; models: {models}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, TaskError> {
        Options::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn all_models_unless_some_are_named() {
        assert_eq!(parse("").unwrap().models.len(), MODELS.len());
        let some = parse("--model shakespeare-lstm --model=mnist-cnn").unwrap();
        assert_eq!(some.models, ["shakespeare-lstm", "mnist-cnn"]);
    }

    #[test]
    fn values_follow_or_are_attached() {
        let options = parse("--python=py --threads 3 --secs 0.5 --json --repetitions 7").unwrap();
        assert_eq!((options.python.as_str(), options.threads, options.secs), ("py", 3, 0.5));
        assert_eq!((options.json, options.repetitions), (true, 7));
    }

    #[test]
    fn quick_is_one_repetition() {
        let quick = parse("--quick").unwrap();
        assert_eq!((quick.repetitions, quick.secs), (1, 0.05));
    }

    #[test]
    fn what_is_not_understood_is_named() {
        let wrong =
            ["--modle x", "--model x", "--threads 0", "--secs nan", "--secs", "--repetitions -1", "quick"];
        for line in wrong {
            let message = parse(line).unwrap_err().to_string();
            assert!(message.contains(&format!("`{line}`")) || message.contains("`--modle`"), "{message}");
        }
    }
}
