//! `fedflip compare`: the paper's Table I.

use std::io::Write;

use fedflip_plan::Scheme;

use super::cells::{self, Curves};
use super::print_json;
use crate::args::CompareArgs;
use crate::error::{CliError, ExitStatus};
use crate::render::{Cell, Table, duration, percent, significant};
use crate::training::{self, overrides, warn_of_idle_keys};
use fedflip_run::study::Studied;
use fedflip_run::verdict::PilotJson;
use fedflip_scenario::Source;

pub(super) fn run(args: &CompareArgs, output: &mut dyn Write) -> Result<ExitStatus, CliError> {
    let training = &args.comparison.training;
    let study = args.comparison.study()?;
    let source = args.scenario.as_deref().map_or_else(|| Ok(Source::embedded()), Source::read)?;
    let under = |scheme: Scheme| overrides(&training.set, training.seed, Some(&scheme.to_string()));
    let scenarios = study.scenarios(|scheme| source.scenario(&under(scheme)))?;
    warn_of_idle_keys(&training.set, &scenarios);
    let mut session = training::session(training)?;
    let Some(studied) = study.run(&scenarios, training.out.as_deref(), "", &mut session)? else {
        super::stopped(training.out.is_some());
        return Ok(ExitStatus::Stopped);
    };
    if training.json {
        print_json(output, &studied.json)?;
    } else {
        write_table(output, &studied)?;
    }
    training::finish(session, training, output)?;
    Ok(ExitStatus::Done)
}

fn write_table(output: &mut dyn Write, Studied { json, entries }: &Studied) -> Result<(), CliError> {
    let PilotJson { alpha, beta, hours, kept } = json.pilot;
    writeln!(output, "{} to {}", json.task, percent(json.target_accuracy))?;
    let cost = hours.map_or("given".to_owned(), |hours| {
        format!("from pilots, a pair of which takes {} of virtual time", duration(3600.0 * hours))
    });
    writeln!(output, "alpha {}, beta {}, {cost}\n", significant(alpha, 4), significant(beta, 4))?;
    let mut table = Table::new(&[
        "scheme",
        "time",
        "±",
        "ratio",
        "with pilots",
        "rounds",
        "devices",
        "reached",
        "accuracy",
    ]);
    let curves = Curves::of(entries.iter());
    for (scheme, entry) in json.schemes.iter().zip(entries) {
        table.row(vec![
            Cell::text(&scheme.scheme),
            cells::time_to_target(scheme),
            cells::spread(scheme),
            cells::ratio_to_best(scheme),
            cells::time(scheme, scheme.hours_with_pilot),
            Cell::short(scheme.rounds),
            Cell::short(scheme.mean_participants),
            cells::reached(scheme),
            curves.cell(entry),
        ]);
    }
    table.write(output)?;
    for entry in entries {
        if let Err(error) = &entry.runs {
            writeln!(output, "\n  {}: {error}\n    hint: {}", entry.scheme, error.hint())?;
        }
    }
    let counted = if kept {
        "time to the target and ratio to the best count pilots, where schemes went on from theirs"
    } else {
        "time to the target and ratio to the best are without the pilots"
    };
    writeln!(
        output,
        "\n  {counted}; devices and rounds are means, ± is one\n  \
         standard deviation over seeds; accuracy is the first seed's, over its own time"
    )?;
    if json.schemes.iter().any(|scheme| scheme.lower_bound) {
        writeln!(output, "  > a lower bound: some run was stopped before it reached the target")?;
    }
    Ok(())
}
