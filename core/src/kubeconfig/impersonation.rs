//! Impersonation: as whom the server is to take one.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde_json::Value;

use super::entry::Found;
use super::error::KubeconfigError;

/// As whom the server is to take one; nobody else if it is empty.
///
/// Mirrors client-go `transport/round_trippers.go`, `NewImpersonatingRoundTripper`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Impersonation {
    /// The name (`as`).
    pub user: Option<String>,
    /// The uid (`as-uid`).
    pub uid: Option<String>,
    /// The groups (`as-groups`).
    pub groups: Vec<String>,
    /// What else (`as-user-extra`), by key.
    pub extra: Vec<(String, Vec<String>)>,
}

impl Impersonation {
    pub(super) fn read(entry: &mut Found) -> Result<Self, KubeconfigError> {
        let (user, uid) = (entry.text("as")?, entry.text("as-uid")?);
        let texts = |value: &Value| -> Option<Vec<String>> {
            value.as_array()?.iter().map(|text| text.as_str().map(ToOwned::to_owned)).collect()
        };
        let groups = match entry.value("as-groups") {
            None => Vec::new(),
            Some(groups) => texts(&groups).ok_or_else(|| entry.error("as-groups must be a list of strings"))?,
        };
        let extra = match entry.value("as-user-extra") {
            None => Vec::new(),
            Some(Value::Object(extra)) => {
                let pairs = extra.iter().map(|(key, value)| Some((key.clone(), texts(value)?)));
                let pairs: Option<Vec<_>> = pairs.collect();
                pairs.ok_or_else(|| entry.error("as-user-extra must be lists of strings"))?
            }
            Some(_) => return Err(entry.error("as-user-extra must be a mapping")),
        };
        if user.is_none() && (uid.is_some() || !groups.is_empty() || !extra.is_empty()) {
            return Err(entry.error("impersonates groups, a uid or extra without a user: set as"));
        }
        Ok(Self { user, uid, groups, extra })
    }

    /// The headers that ask for it, in order.
    pub fn headers(&self) -> Vec<(String, String)> {
        let mut headers = Vec::new();
        let mut add = |name: &str, value: &str| headers.push((name.to_owned(), value.to_owned()));
        if let Some(user) = &self.user {
            add("impersonate-user", user);
        }
        if let Some(uid) = &self.uid {
            add("impersonate-uid", uid);
        }
        for group in &self.groups {
            add("impersonate-group", group);
        }
        for (key, values) in &self.extra {
            let name = format!("impersonate-extra-{}", escape(key));
            for value in values {
                add(&name, value);
            }
        }
        headers
    }
}

/// A key as it stands in the name of a header: what a name cannot hold, and the percent sign, is percent-encoded (`headerKeyEscape`).
fn escape(key: &str) -> String {
    let mut escaped = String::new();
    for byte in key.bytes() {
        if byte.is_ascii_alphanumeric() || b"!#$&'*+-.^_`|~".contains(&byte) {
            escaped.push(char::from(byte.to_ascii_lowercase()));
        } else {
            escaped.push_str(&format!("%{byte:02X}"));
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_headers_are_those_of_the_api() {
        let somebody = Impersonation {
            user: Some("ann".into()),
            uid: Some("7".into()),
            groups: Vec::from(["dev".into(), "ops".into()]),
            extra: Vec::from([("acme.com/Project".into(), Vec::from(["x".into()]))]),
        };
        let headers = somebody.headers();
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(
            headers,
            [
                ("impersonate-user", "ann"),
                ("impersonate-uid", "7"),
                ("impersonate-group", "dev"),
                ("impersonate-group", "ops"),
                ("impersonate-extra-acme.com%2Fproject", "x"),
            ]
        );
        assert!(Impersonation::default().headers().is_empty());
    }
}
