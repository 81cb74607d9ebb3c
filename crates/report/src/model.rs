//! A report, built once: sections of blocks, which every renderer reads and none computes.

use std::collections::BTreeSet;

use fedflip_fleet::nearest;
use serde_json::{Map, Value};

use crate::chart::figure::Figure;
use crate::collection::Collection;
use crate::error::ReportError;
use crate::sections;
use crate::table::Table;

/// What a reader finds in a section.
#[derive(Clone, Debug)]
pub enum Block {
    /// A paragraph of text.
    Text(String),
    /// A figure with its title and caption.
    Figure(Figure),
    /// A table with its title and note.
    Table(Table),
    /// The numbers behind a figure: too many to read, so only formats for programs have them.
    Data(Table),
    /// Figures of which a page shows one at a time.
    Choice(Vec<Choice>),
    /// Several blocks that belong together.
    Together(Layout, Vec<Block>),
}

/// How a page lays out several blocks.
#[derive(Clone, Debug)]
pub enum Layout {
    /// Side by side, where there is room.
    Beside,
    /// A grid of small blocks.
    Tiles,
    /// Blocks that open on demand.
    Details {
        /// What the blocks are about.
        summary: String,
        /// Whether they are open from the start.
        open: bool,
    },
}

impl Block {
    /// Several blocks; none if there are none.
    pub(crate) fn together(layout: Layout, blocks: impl IntoIterator<Item = Self>) -> Option<Self> {
        let blocks: Vec<Self> = blocks.into_iter().collect();
        (!blocks.is_empty()).then_some(Self::Together(layout, blocks))
    }

    /// The block, or those within it.
    fn single(&self) -> Vec<&Self> {
        match self {
            Self::Together(_, blocks) => blocks.iter().flat_map(Self::single).collect(),
            block => vec![block],
        }
    }
}

/// One of several figures.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Such as a scheme: choices of one heading stand together.
    pub heading: String,
    /// Such as `round 17 (longest)`.
    pub text: String,
    /// The figure that is shown.
    pub figure: Figure,
    /// Whether formats that write a file per figure write this one.
    pub is_main: bool,
}

/// What somebody wants of a report.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// The title instead of tasks and targets.
    pub title: Option<&'a str>,
    /// The scheme that ratios are to; `paper` if there is none.
    pub reference: Option<&'a str>,
}

/// Blocks under a title.
#[derive(Clone, Debug)]
pub struct Section {
    /// For links, such as `curves`.
    pub id: &'static str,
    /// In a few words.
    pub title: String,
    /// The blocks in the order of the page.
    pub blocks: Vec<Block>,
}

/// The part of a report about one group of runs.
#[derive(Clone, Debug)]
pub struct GroupPart {
    /// What sets the group apart; empty if there is only one.
    pub title: String,
    /// Where the files of the group go, with a slash at the end; empty if there is only one group.
    pub folder: String,
    /// The main result in a few sentences; none if nothing can be compared.
    pub finding: Option<String>,
    /// What only programs read.
    pub facts: Map<String, Value>,
    /// The sections in the order of the page.
    pub sections: Vec<Section>,
}

/// All that a report says.
#[derive(Clone, Debug)]
pub struct Report {
    /// Such as `mnist-cnn to 90 %`.
    pub title: String,
    /// How many runs, devices and parameters there are.
    pub overview: String,
    /// What only programs read.
    pub facts: Map<String, Value>,
    /// What the groups say together.
    pub before: Vec<Section>,
    /// In the order of what sets them apart.
    pub groups: Vec<GroupPart>,
    /// What is about all runs.
    pub after: Vec<Section>,
    /// What could not be read.
    pub problems: Vec<String>,
    /// Which versions wrote the records.
    pub origin: String,
}

impl Section {
    /// All blocks, also those within others.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.blocks.iter().flat_map(Block::single)
    }

    /// The tables; `with_data` also those behind the figures.
    pub(crate) fn tables(&self, with_data: bool) -> impl Iterator<Item = &Table> {
        self.blocks().filter_map(move |block| match block {
            Block::Table(table) => Some(table),
            Block::Data(table) if with_data => Some(table),
            _ => None,
        })
    }

    /// The figures that are worth a file.
    pub(crate) fn figures(&self) -> impl Iterator<Item = &Figure> {
        self.blocks().flat_map(|block| match block {
            Block::Figure(figure) => vec![figure],
            Block::Choice(choices) => {
                choices.iter().filter(|choice| choice.is_main).map(|choice| &choice.figure).collect()
            }
            _ => Vec::new(),
        })
    }
}

impl Report {
    /// Builds the report of a collection.
    pub fn of(collection: &Collection, options: &Options<'_>) -> Result<Self, ReportError> {
        let schemes = || collection.groups.iter().flat_map(|group| &group.schemes);
        match options.reference.filter(|name| schemes().all(|scheme| scheme.scheme != **name)) {
            Some(name) => {
                let names: BTreeSet<&str> = schemes().map(|scheme| scheme.scheme.as_str()).collect();
                let nearest = nearest(name, names.iter().copied()).map(str::to_owned);
                let known = names.into_iter().map(str::to_owned).collect();
                Err(ReportError::NoSuchScheme { scheme: name.to_owned(), nearest, known })
            }
            None => Ok(sections::report(collection, options)),
        }
    }

    /// All sections, each with its group; none for sections about all groups.
    pub(crate) fn sections(&self) -> impl Iterator<Item = (Option<&GroupPart>, &Section)> {
        let of_all = |section| (None, section);
        let of_groups = self
            .groups
            .iter()
            .flat_map(|group| group.sections.iter().map(move |section| (Some(group), section)));
        self.before.iter().map(of_all).chain(of_groups).chain(self.after.iter().map(of_all))
    }
}
