//! Values as the network sees them: normalised, channels last.

use crate::error::LearnError;
use crate::own::models::model;
use crate::task::Params;
use fedflip_samples::Features;

/// How the values of one sample become numbers for the network.
#[derive(Clone, Debug)]
pub(super) struct Normalise {
    /// For each number of the network's input, the place of the value in a sample of the file; none if it is the same.
    places: Option<Vec<u32>>,
    /// For each number of the input; empty if nothing is subtracted.
    means: Vec<f32>,
    /// For each number of the input; empty if nothing is divided.
    stds: Vec<f32>,
    /// Bytes are codes of symbols, which are not numbers to compute with.
    codes: bool,
}

impl Normalise {
    pub(super) fn new(params: &Params, mean: &[f32], std: &[f32]) -> Result<Self, LearnError> {
        let shape = params.sizes("shape");
        let len = shape.elements();
        let (shape, first) = (shape.as_slice(), params.choice("channels") == "first");
        let channels = match shape {
            [.., _, _, last] if !first => *last,
            [channels, _, _, ..] => *channels,
            _ => 1,
        };
        let places = (first && shape.len() == 3).then(|| {
            let pixels = (len / channels) as u32;
            (0..pixels).flat_map(|pixel| (0..channels as u32).map(move |c| c * pixels + pixel)).collect()
        });
        // Numbers are given in the order of the file.
        let of_place = |count: usize, place: usize| match count {
            1 => 0,
            count if count == len => place,
            _ if first => place / (len / channels),
            _ => place % channels,
        };
        let place = |at: usize| places.as_ref().map_or(at, |places: &Vec<u32>| places[at] as usize);
        let spread = |name, numbers: &[f32]| match numbers.len() {
            0 => Ok(Vec::new()),
            count if count == 1 || count == channels || count == len => {
                Ok((0..len).map(|at| numbers[of_place(count, place(at))]).collect())
            }
            count => {
                let wanted = "one number for all values, one per channel, or one per value of a sample";
                Err(LearnError::BadSetting { name, value: count as f64, wanted })
            }
        };
        let codes = model(params)?.reads_codes;
        if let (true, Some(number)) = (codes, mean.first().or(std.first())) {
            let wanted = "left out together with data.std: the model reads codes of symbols, not numbers";
            return Err(LearnError::BadSetting { name: "data.mean", value: f64::from(*number), wanted });
        }
        let means = spread("the length of data.mean", mean)?;
        let stds = spread("the length of data.std", std)?;
        if let Some(&value) = stds.iter().find(|std| !(**std > 0.0 && std.is_finite())) {
            let wanted = "a number above 0";
            return Err(LearnError::BadSetting { name: "data.std", value: f64::from(value), wanted });
        }
        Ok(Self { places, means, stds, codes })
    }

    /// Writes the sample at `position` of the features.
    pub(super) fn write(&self, features: &Features, position: usize, to: &mut [f32]) {
        let len = to.len();
        match features {
            Features::Bytes(bytes) => {
                let scale = if self.codes { 1.0 } else { 255.0 };
                let sample = &bytes[position * len..][..len];
                self.place(to, |place| f32::from(sample[place]) / scale);
            }
            Features::Floats(floats) => {
                let sample = &floats[position * len..][..len];
                self.place(to, |place| sample[place]);
            }
        }
        to.iter_mut().zip(&self.means).for_each(|(value, mean)| *value -= mean);
        to.iter_mut().zip(&self.stds).for_each(|(value, std)| *value /= std);
    }

    fn place(&self, to: &mut [f32], value: impl Fn(usize) -> f32) {
        match &self.places {
            Some(places) => {
                to.iter_mut().zip(places).for_each(|(to, place)| *to = value(*place as usize));
            }
            None => to.iter_mut().enumerate().for_each(|(place, to)| *to = value(place)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::{ParamValue, Sizes, Task};

    fn params(shape: &[usize], channels: &str) -> Params {
        let own = Task::by_name("own").unwrap();
        let own = own.with("shape", ParamValue::Sizes(Sizes::new(shape).unwrap())).unwrap();
        *own.with("channels", ParamValue::Choice(channels)).unwrap().params()
    }

    fn written(normalise: &Normalise, features: &Features, position: usize, len: usize) -> Vec<f32> {
        let mut to = vec![0.0; len];
        normalise.write(features, position, &mut to);
        to
    }

    #[test]
    fn bytes_are_scaled_and_normalised_as_pytorch_does() {
        let bytes = Features::Bytes(vec![0, 255, 51, 102]);
        let normalise = Normalise::new(&params(&[2], "last"), &[0.5], &[0.25]).unwrap();
        assert_eq!(written(&normalise, &bytes, 0, 2), [-2.0, 2.0]);
        let second = |value: f32| (value / 255.0 - 0.5) / 0.25;
        assert_eq!(written(&normalise, &bytes, 1, 2), [second(51.0), second(102.0)]);
        let plain = Normalise::new(&params(&[2], "last"), &[], &[]).unwrap();
        assert_eq!(written(&plain, &Features::Floats(vec![3.0, -1.0]), 0, 2), [3.0, -1.0]);
    }

    #[test]
    fn channels_may_come_first_in_the_file_and_come_last_in_the_network() {
        // Two channels of 1×3 pixels.
        let file = Features::Floats(vec![1.0, 2.0, 3.0, 10.0, 20.0, 30.0]);
        let first = Normalise::new(&params(&[2, 1, 3], "first"), &[1.0, 10.0], &[]).unwrap();
        assert_eq!(written(&first, &file, 0, 6), [0.0, 0.0, 1.0, 10.0, 2.0, 20.0]);
        let last = Features::Floats(vec![1.0, 10.0, 2.0, 20.0, 3.0, 30.0]);
        let normalise = Normalise::new(&params(&[1, 3, 2], "last"), &[1.0, 10.0], &[]).unwrap();
        assert_eq!(written(&normalise, &last, 0, 6), written(&first, &file, 0, 6));
    }

    #[test]
    fn numbers_are_given_in_the_order_of_the_file() {
        // Two channels of 1×3 pixels, and a mean for every value.
        let file = Features::Floats(vec![1.0, 2.0, 3.0, 10.0, 20.0, 30.0]);
        let all =
            Normalise::new(&params(&[2, 1, 3], "first"), &[1.0, 2.0, 3.0, 10.0, 20.0, 30.0], &[]).unwrap();
        assert_eq!(written(&all, &file, 0, 6), [0.0; 6]);
        // Four dimensions keep their order, and the channels are the first of them.
        let volume = Normalise::new(&params(&[2, 1, 1, 3], "first"), &[1.0, 10.0], &[]).unwrap();
        assert_eq!(written(&volume, &file, 0, 6), [0.0, 1.0, 2.0, 0.0, 10.0, 20.0]);
    }

    #[test]
    fn codes_are_not_normalised() {
        let own = Task::by_name("own").unwrap().with("model", ParamValue::Choice("lstm")).unwrap();
        let refused = Normalise::new(own.params(), &[0.5], &[]).unwrap_err();
        assert!(refused.hint().contains("codes of symbols"), "{}", refused.hint());
        Normalise::new(own.params(), &[], &[]).unwrap();
    }

    #[test]
    fn numbers_that_fit_nothing_are_refused() {
        let refused = |mean: &[f32], std: &[f32]| {
            let error = Normalise::new(&params(&[4, 4, 3], "last"), mean, std).unwrap_err();
            format!("{error}; {}", error.hint())
        };
        assert!(refused(&[0.0; 2], &[]).contains("one per channel"));
        assert!(refused(&[], &[0.0]).contains("data.std: 0 is out of range"));
        assert!(refused(&[], &[f32::NAN]).contains("above 0"));
        assert!(Normalise::new(&params(&[4, 4, 3], "last"), &[0.0; 48], &[1.0; 3]).is_ok());
    }
}
