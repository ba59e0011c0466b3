//! What objects are written in.

/// How an API server writes objects.
///
/// Mirrors API concepts, "Alternate representations of resources".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// `application/json`
    #[default]
    Json,
    /// `application/vnd.kubernetes.protobuf`
    Protobuf,
}

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

impl Encoding {
    /// `Accept` of a request: this or else JSON, which every server writes.
    pub const fn accept(self) -> &'static str {
        match self {
            Self::Json => super::JSON,
            Self::Protobuf => "application/vnd.kubernetes.protobuf, application/json",
        }
    }

    /// What the `Content-Type` of an answer says that it is written in. What says nothing, or something else, is read as JSON.
    pub fn of_content_type(value: Option<&str>) -> Self {
        let media_type = value.and_then(|value| value.split(';').next()).unwrap_or_default();
        if media_type.trim().eq_ignore_ascii_case(PROTOBUF) { Self::Protobuf } else { Self::Json }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_of_a_content_type_do_not_matter_and_what_is_unknown_is_read_as_json() {
        for text in
            [PROTOBUF, "application/vnd.kubernetes.protobuf;stream=watch", " Application/vnd.kubernetes.Protobuf ; x"]
        {
            assert_eq!(Encoding::of_content_type(Some(text)), Encoding::Protobuf, "{text}");
        }
        for text in
            [None, Some(""), Some("application/json"), Some("text/html"), Some("x-application/vnd.kubernetes.protobuf")]
        {
            assert_eq!(Encoding::of_content_type(text), Encoding::Json, "{text:?}");
        }
    }
}
