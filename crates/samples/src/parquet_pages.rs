//! Pages of a Parquet file, checked before the library takes memory for what they claim.

use parquet::basic::PageType;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};

/// The fewest bytes of a value in a dictionary: a number of four bytes, or the length of a text.
const DICTIONARY_VALUE_BYTES: usize = 4;

/// The pages of a column.
pub(crate) struct CheckedPages(pub(crate) Box<dyn PageReader>);

impl CheckedPages {
    fn check(page: &Page) -> Result<()> {
        let (values, bytes) = (page.num_values() as usize, page.buffer().len());
        if page.page_type() == PageType::DICTIONARY_PAGE && values > bytes / DICTIONARY_VALUE_BYTES {
            return Err(ParquetError::General(format!(
                "a dictionary of {bytes} bytes claims {values} values"
            )));
        }
        Ok(())
    }
}

impl Iterator for CheckedPages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for CheckedPages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.0.get_next_page()?;
        page.iter().try_for_each(Self::check)?;
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.0.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.0.skip_next_page()
    }
}
