//! A table as LaTeX, with the rules of booktabs, to be read with `\input`.

use crate::standing::Bound;
use crate::table::{Cell, Table};

pub(super) fn render(table: &Table) -> String {
    let alignment: String =
        table.columns.iter().map(|column| if column.numeric { 'r' } else { 'l' }).collect();
    let line = |cells: Vec<String>| format!("    {} \\\\\n", cells.join(" & "));
    let mut text = format!(
        "% Needs \\usepackage{{booktabs}}.\n\\begin{{table}}\n  \\centering\n  \\caption{{{}}}\n  \\label{{tab:{}}}\n  \\begin{{tabular}}{{{alignment}}}\n    \\toprule\n",
        escaped(&table.title),
        // Labels hold letters, digits and dashes only.
        table.name.replace(|c: char| !c.is_ascii_alphanumeric(), "-"),
    );
    text += &line(table.columns.iter().map(|column| escaped(&column.title)).collect());
    text += "    \\midrule\n";
    for row in &table.rows {
        text += &line(row.iter().map(cell).collect());
    }
    text += "    \\bottomrule\n  \\end{tabular}\n";
    if !table.note.is_empty() {
        text += &format!("  \\par\\smallskip\n  {{\\footnotesize {}\\par}}\n", escaped(&table.note));
    }
    text + "\\end{table}\n"
}

fn cell(cell: &Cell) -> String {
    let sign = match cell.bound {
        Bound::Exact => "",
        Bound::AtLeast => "$>$ ",
        Bound::AtMost => "$<$ ",
    };
    format!("{sign}{}", escaped(&cell.text))
}

/// What LaTeX writes in another way: its own characters, and those that its usual fonts do not have. A bracket or a
/// star after the end of a row would be an argument of `\\`, so braces keep them apart.
const WRITTEN: &[(char, &str)] = &[
    ('\\', "\\textbackslash{}"),
    ('{', "\\{"),
    ('}', "\\}"),
    ('$', "\\$"),
    ('&', "\\&"),
    ('#', "\\#"),
    ('_', "\\_"),
    ('%', "\\%"),
    ('~', "\\textasciitilde{}"),
    ('^', "\\textasciicircum{}"),
    ('<', "$<$"),
    ('>', "$>$"),
    ('|', "$|$"),
    ('"', "{''}"),
    ('`', "\\textasciigrave{}"),
    ('[', "{[}"),
    (']', "{]}"),
    ('*', "{*}"),
    ('\n', " "),
    ('\r', " "),
    ('\t', " "),
    ('–', "--"),
    ('…', "\\ldots{}"),
    ('“', "``"),
    ('”', "''"),
    ('’', "'"),
    ('×', "$\\times$"),
    ('±', "$\\pm$"),
    ('−', "$-$"),
    ('·', "$\\cdot$"),
    ('²', "$^2$"),
    ('∞', "$\\infty$"),
    ('≥', "$\\geq$"),
    ('≤', "$\\leq$"),
    ('α', "$\\alpha$"),
    ('β', "$\\beta$"),
    ('µ', "$\\mu$"),
    ('Σ', "$\\Sigma$"),
    ('\u{fffd}', "?"),
];

/// The accent of E[T̂], which follows its letter.
const HAT: char = '\u{302}';

/// Text that stays text in LaTeX, whatever a name holds.
fn escaped(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        if c.is_alphabetic() && rest.next_if_eq(&HAT).is_some() {
            written += &format!("$\\hat{{{c}}}$");
            continue;
        }
        match WRITTEN.iter().find(|(known, _)| *known == c) {
            Some((_, instead)) => written += instead,
            None if c.is_control() => written.push('?'),
            None => written.push(c),
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{number, words};

    #[test]
    fn a_table_has_booktabs_rules_and_a_bound_its_sign() {
        let row = |scheme: &str, hours: Option<f64>| {
            let time = number("E[T̂]", "hours", Cell::hours(hours));
            vec![words("scheme", "scheme", scheme), time.bounded(Bound::AtLeast)]
        };
        let rows = [row("fixed=0.2", Some(12.3)), row("*a_b & 50 %\\input{x}", None)];
        let table = Table::of(rows).unwrap().named("table1", "Time to 90 %", "");
        let expected = r"% Needs \usepackage{booktabs}.
\begin{table}
  \centering
  \caption{Time to 90 \%}
  \label{tab:table1}
  \begin{tabular}{lr}
    \toprule
    scheme & E{[}$\hat{T}${]} \\
    \midrule
    fixed=0.2 & $>$ 12.3 h \\
    {*}a\_b \& 50 \%\textbackslash{}input\{x\} & -- \\
    \bottomrule
  \end{tabular}
\end{table}
";
        assert_eq!(render(&table), expected);
    }
}
