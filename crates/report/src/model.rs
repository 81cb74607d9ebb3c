//! A report, built once: sections of blocks, which every renderer reads and none computes.

use serde_json::{Map, Value};

use crate::chart::figure::Figure;
use crate::collection::Collection;
use crate::sections;
use crate::table::Table;

/// What a reader finds in a section.
#[derive(Clone, Debug)]
pub enum Block {
    /// A paragraph.
    Text(String),
    /// A figure with its title and caption.
    Figure(Figure),
    /// A table with its title and note.
    Table(Table),
    /// The numbers behind a figure: too many to read, so only formats for programs have them.
    Data(Table),
    /// Blocks side by side, where there is room.
    Beside(Vec<Block>),
    /// Many small figures.
    Tiles(Vec<Figure>),
    /// Figures of which a page shows one at a time.
    Choice(Vec<Choice>),
    /// Blocks that a page opens on demand.
    Details {
        /// What the blocks are about.
        summary: String,
        /// Whether they are open from the start.
        open: bool,
        /// In order.
        blocks: Vec<Block>,
    },
}

impl Block {
    /// The numbers behind a figure, if there are any.
    pub(crate) fn data(table: Table) -> Vec<Self> {
        if table.rows.is_empty() { Vec::new() } else { vec![Self::Data(table)] }
    }
}

/// One of several figures.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Such as a scheme: choices of one heading stand together.
    pub heading: String,
    /// Such as `round 17 (longest)`.
    pub text: String,
    /// What is shown.
    pub figure: Figure,
    /// Whether formats that write a file per figure write this one.
    pub is_main: bool,
}

/// Blocks under a title.
#[derive(Clone, Debug)]
pub struct Section {
    /// For links, such as `curves`.
    pub id: &'static str,
    /// In a few words.
    pub title: String,
    /// In order.
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
    /// In order.
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

impl Report {
    /// Builds the report of a collection; `title` instead of tasks and targets.
    pub fn of(collection: &Collection, title: Option<&str>) -> Self {
        sections::report(collection, title)
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

    /// Every table with its folder; `with_data` also those behind the figures.
    pub(crate) fn tables(&self, with_data: bool) -> Vec<(&str, &Table)> {
        let mut all = Vec::new();
        for (group, section) in self.sections() {
            all.extend(tables(&section.blocks, with_data).into_iter().map(|table| (folder(group), table)));
        }
        all
    }

    /// Every figure that is worth a file, with its folder.
    pub(crate) fn figures(&self) -> Vec<(&str, &Figure)> {
        let mut all = Vec::new();
        for (group, section) in self.sections() {
            all.extend(figures(&section.blocks).into_iter().map(|figure| (folder(group), figure)));
        }
        all
    }
}

fn folder(group: Option<&GroupPart>) -> &str {
    group.map_or("", |group| &group.folder)
}

/// The tables among blocks, and within them.
pub(crate) fn tables(blocks: &[Block], with_data: bool) -> Vec<&Table> {
    let mut all = Vec::new();
    for block in blocks {
        match block {
            Block::Table(table) => all.push(table),
            Block::Data(table) if with_data => all.push(table),
            Block::Beside(blocks) | Block::Details { blocks, .. } => all.extend(tables(blocks, with_data)),
            _ => {}
        }
    }
    all
}

fn figures(blocks: &[Block]) -> Vec<&Figure> {
    let mut all = Vec::new();
    for block in blocks {
        match block {
            Block::Figure(figure) => all.push(figure),
            Block::Tiles(tiles) => all.extend(tiles),
            Block::Choice(choices) => {
                all.extend(choices.iter().filter(|choice| choice.is_main).map(|choice| &choice.figure));
            }
            Block::Beside(blocks) | Block::Details { blocks, .. } => all.extend(figures(blocks)),
            _ => {}
        }
    }
    all
}
