//! What a model is to predict: classes, or numbers.

use crate::array::Values;
use crate::error::Problem;

/// The largest number of classes.
pub const CLASSES_MAX: usize = 65_536;

/// One label per sample.
#[derive(Clone, Debug, PartialEq)]
pub enum Labels {
    /// Classes, counted from 0.
    Classes(Vec<u32>),
    /// Labels that are numbers, for regression.
    Numbers(Vec<f32>),
}

impl Labels {
    /// The number of labels.
    pub fn len(&self) -> usize {
        match self {
            Self::Classes(classes) => classes.len(),
            Self::Numbers(numbers) => numbers.len(),
        }
    }

    /// Whether there are no labels.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The same labels for a regression.
    #[must_use]
    pub fn into_numbers(self) -> Self {
        match self {
            Self::Classes(classes) => Self::Numbers(classes.into_iter().map(|class| class as f32).collect()),
            numbers @ Self::Numbers(_) => numbers,
        }
    }

    /// The same labels for a classifier; numbers that are no classes are refused.
    pub fn into_classes(self) -> Result<Self, Problem> {
        let Self::Numbers(numbers) = self else { return Ok(self) };
        match numbers.iter().position(|number| !is_class(f64::from(*number))) {
            None => Ok(Self::Classes(numbers.into_iter().map(|number| number as u32).collect())),
            Some(sample) => Err(Problem::Value {
                place: format!("sample {sample}, label"),
                value: numbers[sample].to_string(),
                wanted: "a class from 0 to 65535",
            }),
        }
    }

    /// Appends other labels; if either are numbers, all are.
    pub(crate) fn append(&mut self, more: Self) {
        if let (Self::Classes(all), Self::Classes(more)) = (&mut *self, &more) {
            return all.extend(more);
        }
        let all = std::mem::replace(self, Self::Numbers(Vec::new())).into_numbers();
        if let (Self::Numbers(mut all), Self::Numbers(more)) = (all, more.into_numbers()) {
            all.extend(more);
            *self = Self::Numbers(all);
        }
    }

    /// Integers are classes if each of them can be one; floats are numbers.
    pub(crate) fn of(values: Values) -> Result<Self, Problem> {
        match values {
            Values::Integers(values) => Ok(of_integers(values)),
            Values::Unsigned(values) => Ok(of_integers(values)),
            Values::Bytes(values) => Ok(Self::Classes(values.into_iter().map(u32::from).collect())),
            Values::Floats(values) => numbers(values),
            Values::Texts(_) => {
                Err(Problem::TextLabel { place: "array y".to_owned(), value: "its type".to_owned() })
            }
        }
    }
}

/// Whether a label can be a class.
pub(crate) fn is_class(label: f64) -> bool {
    label.fract() == 0.0 && (0.0..CLASSES_MAX as f64).contains(&label)
}

fn of_integers<T: Copy + TryInto<u32> + Into<i128>>(values: Vec<T>) -> Labels {
    let class = |value: &T| (*value).try_into().ok().filter(|class| (*class as usize) < CLASSES_MAX);
    match values.iter().map(class).collect::<Option<Vec<u32>>>() {
        Some(classes) => Labels::Classes(classes),
        None => Labels::Numbers(values.into_iter().map(|value| value.into() as f32).collect()),
    }
}

/// Labels of a regression, which are finite.
pub(crate) fn numbers(values: Vec<f32>) -> Result<Labels, Problem> {
    match values.iter().position(|value| !value.is_finite()) {
        None => Ok(Labels::Numbers(values)),
        Some(sample) => Err(Problem::Value {
            place: format!("sample {sample}, label"),
            value: values[sample].to_string(),
            wanted: "a finite number",
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_classes_if_each_can_be_one() {
        let of = |values: &[i64]| Labels::of(Values::Integers(values.to_vec())).unwrap();
        assert_eq!(of(&[0, 65_535]), Labels::Classes(vec![0, 65_535]));
        assert_eq!(of(&[100_000, 3]), Labels::Numbers(vec![100_000.0, 3.0]));
        assert_eq!(of(&[-1, 1]), Labels::Numbers(vec![-1.0, 1.0]));
    }

    #[test]
    fn a_loss_that_is_declared_decides() {
        let whole = Labels::Numbers(vec![2.0, 0.0]);
        assert_eq!(whole.clone().into_classes().unwrap(), Labels::Classes(vec![2, 0]));
        assert_eq!(Labels::Classes(vec![2, 0]).into_numbers(), whole);
        let refused = Labels::Numbers(vec![1.0, -1.0]).into_classes().unwrap_err().to_string();
        assert_eq!(refused, "sample 1, label: -1 is not a class from 0 to 65535");
    }

    #[test]
    fn one_file_of_numbers_makes_all_labels_numbers() {
        let mut all = Labels::Classes(vec![1]);
        all.append(Labels::Classes(vec![2]));
        assert_eq!(all, Labels::Classes(vec![1, 2]));
        all.append(Labels::Numbers(vec![0.5]));
        all.append(Labels::Classes(vec![7]));
        assert_eq!(all, Labels::Numbers(vec![1.0, 2.0, 0.5, 7.0]));
    }
}
