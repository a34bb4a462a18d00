//! The part of a request that selects a page.

use super::{PageCursor, PageFault, PageLimit, Pagination};
use crate::{
    Json,
    client::RequestBuilder,
    parameters::{Parameter, ValueShape, encode::percent_encode},
};

impl RequestBuilder {
    /// Changes the request so that it requests the page at this cursor.
    pub(super) fn with_page_cursor(mut self, paging: &Pagination, cursor: &PageCursor) -> Self {
        let text = cursor.as_str();
        let Some(index) = paging.position_argument() else {
            self.query = if text.is_empty() { String::new() } else { format!("?{text}") };
            return self;
        };
        let Some(row) = self.parameter_spec(index) else { return self };
        let value = match row.shape {
            ValueShape::Scalar(scalar) => scalar.parse_value(text, false),
            _ => Json::String(text.to_owned()),
        };
        let prefix = query_prefix(row);
        let pairs = self.query.trim_start_matches('?').split('&');
        let others: Vec<&str> = pairs.filter(|pair| !pair.is_empty() && !pair.starts_with(&prefix)).collect();
        self.query = if others.is_empty() { String::new() } else { format!("?{}", others.join("&")) };
        self.argument(index, value)
    }

    /// Returns the offset or page number, and the limit, of this request. A number is `None` if it is absent
    /// or does not determine the next position.
    pub(super) fn page_numbers(&self, paging: &Pagination) -> Result<(Option<u64>, Option<u64>), PageFault> {
        let position = paging.position_argument().filter(|_| paging.is_counted());
        let number = position.map(|index| self.query_number(index)).transpose()?.flatten();
        let limit = match paging.page_limit() {
            Some(PageLimit { argument, default }) => Some(self.query_number(argument)?.unwrap_or(default)),
            None => None,
        };
        Ok((number, limit))
    }

    fn query_number(&self, index: usize) -> Result<Option<u64>, PageFault> {
        let prefix = self.parameter_spec(index).map(query_prefix).unwrap_or_default();
        let mut pairs = self.query.trim_start_matches('?').split('&');
        let text = pairs.find_map(|pair| pair.strip_prefix(&prefix));
        text.map(|text| text.parse().map_err(|_| PageFault::InvalidCount)).transpose()
    }

    fn parameter_spec(&self, index: usize) -> Option<&'static Parameter> {
        self.operation.parameters.get(index)
    }
}

/// Returns the start of a query pair, `name=`.
fn query_prefix(row: &Parameter) -> String {
    format!("{}=", percent_encode(row.name, &[]))
}
