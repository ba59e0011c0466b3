//! A small object with a list of tags.

use sanskube::object::Object;
use sanskube::resource_version::ResourceVersion;
use sanskube::uid::Uid;

use crate::choices::Choices;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Thing {
    pub(crate) namespace: &'static str,
    pub(crate) name: &'static str,
    pub(crate) version: u64,
    pub(crate) tags: Vec<&'static str>,
}

impl Thing {
    /// One of twelve things, with up to three tags of five, repeats among them.
    pub(crate) fn choose(choices: &mut Choices<'_>, version: u64) -> Self {
        Self {
            namespace: *choices.pick(&["n0", "n1", ""]),
            name: *choices.pick(&["a", "b", "c", "d"]),
            version,
            tags: (0..choices.below(4)).map(|_| *choices.pick(&["a", "b", "c", "", "bad"])).collect(),
        }
    }

    /// A list of up to so many things.
    pub(crate) fn choose_list(choices: &mut Choices<'_>, most: usize, version: u64) -> Vec<Self> {
        (0..choices.below(most + 1)).map(|_| Self::choose(choices, version)).collect()
    }
}

impl Object for Thing {
    fn namespace(&self) -> &str {
        self.namespace
    }

    fn name(&self) -> &str {
        self.name
    }

    fn uid(&self) -> Uid {
        Uid::new("uid-1")
    }

    fn resource_version(&self) -> ResourceVersion {
        ResourceVersion::new(&self.version.to_string())
    }

    fn is_same(&self, other: &Self) -> bool {
        self == other
    }
}
