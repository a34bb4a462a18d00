//! What a request says of the page that it asks for.

use super::{Cursor, Limit, PageFault, Paging};
use crate::{
    Json,
    client::Request,
    parameters::{Parameter, Shape, write::encoded},
};

impl Request {
    /// The same request for the page that begins at a cursor.
    pub(super) fn at_page(mut self, paging: &Paging, cursor: &Cursor) -> Self {
        let text = cursor.as_str();
        let Some(index) = paging.argument() else {
            self.query = if text.is_empty() { String::new() } else { format!("?{text}") };
            return self;
        };
        let Some(row) = self.row(index) else { return self };
        let value = match row.shape {
            Shape::Scalar(scalar) => scalar.value(text, false),
            _ => Json::String(text.to_owned()),
        };
        let own = pair(row);
        let pairs = self.query.trim_start_matches('?').split('&');
        let kept: Vec<&str> = pairs.filter(|pair| !pair.is_empty() && !pair.starts_with(&own)).collect();
        self.query = if kept.is_empty() { String::new() } else { format!("?{}", kept.join("&")) };
        self.argument(index, value)
    }

    /// The numbers that the next page is reckoned from: the argument, and the greatest number of
    /// items of a page. `None` where the caller leaves the first out and the second does not count.
    pub(super) fn numbers(&self, paging: &Paging) -> Result<(Option<u64>, Option<u64>), PageFault> {
        let own = paging.argument().filter(|_| paging.is_counted());
        let number = own.map(|index| self.number(index)).transpose()?.flatten();
        let limit = match paging.limit() {
            Some(Limit { argument, default }) => Some(self.number(argument)?.unwrap_or(default)),
            None => None,
        };
        Ok((number, limit))
    }

    fn number(&self, index: usize) -> Result<Option<u64>, PageFault> {
        let own = self.row(index).map(pair).unwrap_or_default();
        let mut pairs = self.query.trim_start_matches('?').split('&');
        let text = pairs.find_map(|pair| pair.strip_prefix(&own));
        text.map(|text| text.parse().map_err(|_| PageFault::Count)).transpose()
    }

    fn row(&self, index: usize) -> Option<&'static Parameter> {
        self.operation.parameters.get(index)
    }
}

/// How the parameter begins in a query.
fn pair(row: &Parameter) -> String {
    format!("{}=", encoded(row.name, &[]))
}
