//! The networks for samples of the user's own: one row each.

use crate::error::LearnError;
use crate::loss::{LOSSES, Loss, LossRow};
use crate::models::cnn::CnnSizes;
use crate::models::lstm::LstmSizes;
use crate::models::mlp::MlpSizes;
use crate::models::mobilenet::MobileNetSizes;
use crate::network::Network;
use crate::task::{Params, norm};

/// A network for samples of the user's own.
pub(super) struct OwnModel {
    pub(super) name: &'static str,
    build: fn(&Params) -> Result<Network<f32>, LearnError>,
    /// Whether values are codes of symbols, which are not normalised.
    pub(super) reads_codes: bool,
    /// The metrics of a classifier, the most important one first.
    metrics: &'static [&'static str],
    /// The same where there are at most five classes.
    few_metrics: &'static [&'static str],
}

const CLASSIFIER: &[&str] = &["accuracy", "top-5", "f1", "loss"];
const FEW_CLASSES: &[&str] = &["accuracy", "f1", "loss"];

const MODELS: [OwnModel; 5] = [
    OwnModel {
        name: "softmax",
        build: |params| mlp(params, 0),
        reads_codes: false,
        metrics: CLASSIFIER,
        few_metrics: FEW_CLASSES,
    },
    OwnModel {
        name: "mlp",
        build: |params| mlp(params, params.count("hidden_units")),
        reads_codes: false,
        metrics: CLASSIFIER,
        few_metrics: FEW_CLASSES,
    },
    OwnModel { name: "cnn", build: cnn, reads_codes: false, metrics: CLASSIFIER, few_metrics: FEW_CLASSES },
    OwnModel {
        name: "mobilenet",
        build: mobilenet,
        reads_codes: false,
        metrics: CLASSIFIER,
        few_metrics: FEW_CLASSES,
    },
    OwnModel {
        name: "lstm",
        build: lstm,
        reads_codes: true,
        metrics: &["accuracy", "top-5", "perplexity", "loss"],
        few_metrics: &["accuracy", "perplexity", "loss"],
    },
];

/// The names of all networks.
pub(super) const NAMES: [&str; MODELS.len()] = {
    let mut names = [""; MODELS.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = MODELS[at].name;
        at += 1;
    }
    names
};

/// The names of all losses.
pub(super) const LOSS_NAMES: [&str; 2] = [LOSSES[0].name, LOSSES[1].name];

/// Numbers of the vector that stands for a symbol, as in the Shakespeare task.
const EMBEDDED: usize = 8;

/// The network that the parameters choose.
pub(super) fn model(params: &Params) -> Result<&'static OwnModel, LearnError> {
    let chosen = params.choice("model");
    MODELS.iter().find(|model| model.name == chosen).ok_or(LearnError::NoNetwork)
}

/// Whether the network of this name reads codes of symbols, such as those of a text.
pub fn reads_codes(name: &str) -> bool {
    MODELS.iter().any(|model| model.name == name && model.reads_codes)
}

/// The loss that the parameters choose.
fn loss(params: &Params) -> Result<&'static LossRow, LearnError> {
    Loss::by_name(params.choice("loss")).map(Loss::row).ok_or(LearnError::NoNetwork)
}

pub(super) fn network(params: &Params) -> Result<Network<f32>, LearnError> {
    let row = loss(params)?;
    let outputs = params.count("classes");
    if row.classifies && outputs < 2 {
        let wanted = "at least 2 for cross-entropy";
        return Err(LearnError::BadSetting { name: "task.classes", value: outputs as f64, wanted });
    }
    if !row.classifies && outputs != 1 {
        let wanted = "1 for squared-error, which predicts one number";
        return Err(LearnError::BadSetting { name: "task.classes", value: outputs as f64, wanted });
    }
    (model(params)?.build)(params)?.with_loss(row.loss)
}

pub(super) fn metrics(params: &Params) -> &'static [&'static str] {
    match (loss(params), model(params)) {
        (Ok(row), _) if !row.classifies => &["rmse", "loss"],
        // Five guesses among five classes are always right.
        (_, Ok(model)) if params.count("classes") <= 5 => model.few_metrics,
        (_, Ok(model)) => model.metrics,
        (_, Err(_)) => &[],
    }
}

fn mlp(params: &Params, hidden: usize) -> Result<Network<f32>, LearnError> {
    let features = params.sizes("shape").elements();
    MlpSizes { features, hidden, outputs: params.count("classes") }.network()
}

fn cnn(params: &Params) -> Result<Network<f32>, LearnError> {
    let (sides, colours) = image(params)?;
    let (filters, hidden) = (params.count("filters"), params.count("hidden_units"));
    CnnSizes { sides, colours, filters, hidden, outputs: params.count("classes") }.network()
}

fn mobilenet(params: &Params) -> Result<Network<f32>, LearnError> {
    let (sides, colours) = image(params)?;
    let (width, outputs) = (params.number("width"), params.count("classes"));
    MobileNetSizes { sides, colours, width, norm: norm(params), outputs }.network()
}

fn lstm(params: &Params) -> Result<Network<f32>, LearnError> {
    LstmSizes {
        steps: params.sizes("shape").elements(),
        symbols: params.count("symbols"),
        embedded: EMBEDDED,
        hidden: params.count("hidden_units"),
        outputs: params.count("classes"),
    }
    .network()
}

/// Height and width, and the number of channels.
fn image(params: &Params) -> Result<([usize; 2], usize), LearnError> {
    let shape = params.sizes("shape");
    match *shape.as_slice() {
        [height, width] => Ok(([height, width], 1)),
        [channels, height, width] if params.choice("channels") == "first" => Ok(([height, width], channels)),
        [height, width, channels] => Ok(([height, width], channels)),
        _ => {
            let (value, wanted) =
                (shape.as_slice().len() as f64, "2 or 3 for images; other samples suit mlp");
            Err(LearnError::BadSetting { name: "the number of dimensions in task.shape", value, wanted })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::{ParamValue, Sizes, Task};

    fn own(params: &[(&str, ParamValue<'_>)]) -> Task {
        params
            .iter()
            .fold(Task::by_name("own").unwrap(), |task, (name, value)| task.with(name, *value).unwrap())
    }

    fn sizes(list: &[usize]) -> ParamValue<'static> {
        ParamValue::Sizes(Sizes::new(list).unwrap())
    }

    #[test]
    fn every_network_can_be_built_for_samples_that_suit_it() {
        for (model, shape) in [
            ("softmax", &[7][..]),
            ("mlp", &[2, 3, 4]),
            ("cnn", &[8, 8]),
            ("mobilenet", &[9, 12, 3]),
            ("lstm", &[5]),
        ] {
            let task = own(&[
                ("model", ParamValue::Choice(model)),
                ("shape", sizes(shape)),
                ("classes", ParamValue::Count(3)),
                ("hidden_units", ParamValue::Count(16)),
            ]);
            let network = task.network().unwrap();
            assert_eq!((network.input_len(), network.classes()), (shape.iter().product(), 3), "{model}");
            assert_eq!(task.metrics()[0], "accuracy");
        }
        let number = [("loss", ParamValue::Choice("squared-error")), ("classes", ParamValue::Count(1))];
        assert_eq!(own(&number).network().unwrap().classes(), 1);
        assert_eq!(own(&number).metrics(), ["rmse", "loss"]);
        let of_classes = |count| own(&[("classes", ParamValue::Count(count))]).metrics().contains(&"top-5");
        assert_eq!([of_classes(5), of_classes(6)], [false, true]);
    }

    #[test]
    fn what_does_not_suit_is_refused() {
        let refused = |params: &[(&str, ParamValue<'_>)]| match own(params).network() {
            Ok(_) => panic!("{params:?} was taken"),
            Err(error) => format!("{error}: {}", error.hint()),
        };
        let cnn = ("model", ParamValue::Choice("cnn"));
        assert!(refused(&[cnn, ("shape", sizes(&[8, 12]))]).contains("square images"));
        assert!(refused(&[cnn, ("shape", sizes(&[64]))]).contains("2 or 3 for images"));
        assert!(refused(&[("classes", ParamValue::Count(1))]).contains("at least 2"));
        let huge = sizes(&[65_536; 4]);
        for model in NAMES {
            let text = refused(&[("model", ParamValue::Choice(model)), ("shape", huge)]);
            assert!(text.contains("must be"), "{model}: {text}");
        }
    }
}
