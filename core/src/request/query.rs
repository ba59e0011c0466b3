//! The query of a request.

use alloc::string::String;
use core::fmt;

use crate::object::push_segment;

/// Appends `name=value` pairs to a path, percent-encoded, with `?` and `&` where they belong.
#[derive(Debug)]
pub struct Query {
    path: String,
    separator: char,
}

impl Query {
    /// A path without a query yet.
    pub fn new(path: String) -> Self {
        Self { path, separator: '?' }
    }

    /// A path that may have a query already.
    pub fn resume(path: String) -> Self {
        let separator = if path.contains('?') { '&' } else { '?' };
        Self { path, separator }
    }

    /// Appends one pair. `name` is taken as it is.
    #[must_use]
    pub fn pair(mut self, name: &str, value: impl fmt::Display) -> Self {
        self.path.push(self.separator);
        self.separator = '&';
        self.path.push_str(name);
        self.path.push('=');
        push_segment(&mut self.path, &alloc::format!("{value}"));
        self
    }

    /// Appends a pair unless `value` is empty.
    #[must_use]
    pub fn pair_if(self, name: &str, value: &str) -> Self {
        if value.is_empty() { self } else { self.pair(name, value) }
    }

    /// Path and query.
    pub fn finish(self) -> String {
        self.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_encoded_and_empty_ones_left_out() {
        let path = Query::new("/api/v1/pods".into())
            .pair("limit", 500)
            .pair_if("continue", "")
            .pair("labelSelector", "a=b,c in (d)");
        assert_eq!(path.finish(), "/api/v1/pods?limit=500&labelSelector=a%3Db%2Cc%20in%20%28d%29");
    }
}
