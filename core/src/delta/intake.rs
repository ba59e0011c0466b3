//! What is done to each object that enters a queue: its key is taken, then it is transformed.

use alloc::sync::Arc;

use super::Listed;
use crate::error::Refused;
use crate::key::{Key, KeyFunction};
use crate::object::{Object, Transform};

pub(super) struct Intake<T> {
    key_function: Option<KeyFunction<T>>,
    transform: Option<Transform<T>>,
    /// An object that is not stored any more. The next one takes its memory, if nobody else holds it by then.
    spare: Option<Arc<T>>,
}

impl<T: Object> Intake<T> {
    pub(super) fn new(key_function: Option<KeyFunction<T>>, transform: Option<Transform<T>>) -> Self {
        Self { key_function, transform, spare: None }
    }

    pub(super) fn key_of(&self, object: &T) -> Result<Key, Refused> {
        self.key_function.as_ref().map_or_else(|| Ok(object.key()), |function| function(object))
    }

    pub(super) fn transform(&self, object: T) -> Result<T, Refused> {
        match &self.transform {
            Some(transform) => transform(object),
            None => Ok(object),
        }
    }

    pub(super) fn ready(&self, listed: Listed<T>) -> Result<Arc<T>, Refused> {
        match listed {
            Listed::Raw(object) => self.transform(object).map(Arc::new),
            Listed::Ready(object) => Ok(object),
        }
    }

    /// The key of the object as it came, and the object transformed.
    pub(super) fn take(&mut self, object: T) -> Result<(Key, Arc<T>), Refused> {
        let key = self.key_of(&object)?;
        let object = self.transform(object)?;
        Ok((key, self.share(object)))
    }

    /// Takes an object that is not stored any more.
    pub(super) fn recycle(&mut self, object: Arc<T>) {
        self.spare = Some(object);
    }

    fn share(&mut self, object: T) -> Arc<T> {
        let Some(mut spare) = self.spare.take() else { return Arc::new(object) };
        let Some(place) = Arc::get_mut(&mut spare) else { return Arc::new(object) };
        *place = object;
        spare
    }
}
