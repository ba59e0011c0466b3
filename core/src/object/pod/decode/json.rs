//! Reading a pod from JSON.

use alloc::borrow::Cow;

use super::{DELETION_COST, Phase, PodText, Ready, parse_cost};
use crate::json::{Reader, Unexpected};
use crate::object::map_text::MapText;
use crate::object::meta::read_time;
use crate::object::owner::OwnerReferenceText;
use crate::time::Timestamp;

impl<'a> PodText<'a> {
    pub(super) fn read_json(reader: &mut Reader<'a>) -> Result<Self, Unexpected> {
        let mut pod = Self::default();
        let mut members = reader.object()?;
        while let Some(key) = reader.next_member(&mut members)? {
            match &*key {
                b"metadata" => pod.read_metadata(reader)?,
                b"spec" => pod.read_spec(reader)?,
                b"status" => pod.read_status(reader)?,
                _ => reader.skip()?,
            }
        }
        Ok(pod)
    }

    fn read_metadata(&mut self, reader: &mut Reader<'a>) -> Result<(), Unexpected> {
        let mut members = reader.object()?;
        while let Some(key) = reader.next_member(&mut members)? {
            match &*key {
                b"namespace" => self.namespace = reader.text()?,
                b"name" => self.name = reader.text()?,
                b"uid" => self.uid = reader.text()?,
                b"resourceVersion" => self.resource_version = reader.text()?,
                b"creationTimestamp" => self.creation = read_time(reader)?,
                b"deletionTimestamp" => self.deletion = read_time(reader)?,
                b"labels" => self.labels = MapText::Json(reader.raw()?),
                b"annotations" => self.deletion_cost = read_deletion_cost(reader)?,
                b"ownerReferences" => self.controller = OwnerReferenceText::read_controller(reader)?,
                _ => reader.skip()?,
            }
        }
        Ok(())
    }

    fn read_spec(&mut self, reader: &mut Reader<'a>) -> Result<(), Unexpected> {
        let mut members = reader.object()?;
        while let Some(key) = reader.next_member(&mut members)? {
            match &*key {
                b"nodeName" => self.node = reader.text()?,
                b"initContainers" => self.read_sidecars(reader)?,
                _ => reader.skip()?,
            }
        }
        Ok(())
    }

    /// Keeps the names of the init containers that are always restarted.
    fn read_sidecars(&mut self, reader: &mut Reader<'a>) -> Result<(), Unexpected> {
        self.sidecars.clear();
        let mut containers = reader.array()?;
        while reader.next_element(&mut containers)? {
            let (mut name, mut restart_policy) = (Cow::default(), Cow::default());
            let mut members = reader.object()?;
            while let Some(key) = reader.next_member(&mut members)? {
                match &*key {
                    b"name" => name = reader.text()?,
                    b"restartPolicy" => restart_policy = reader.text()?,
                    _ => reader.skip()?,
                }
            }
            if restart_policy == "Always" {
                self.sidecars.push(name);
            }
        }
        Ok(())
    }

    fn read_status(&mut self, reader: &mut Reader<'a>) -> Result<(), Unexpected> {
        let mut members = reader.object()?;
        while let Some(key) = reader.next_member(&mut members)? {
            match &*key {
                b"phase" => self.phase = Phase::new(&reader.text()?),
                b"conditions" => self.ready = read_first_ready(reader)?,
                b"containerStatuses" => {
                    self.restarts = 0;
                    read_container_statuses(reader, |_, restarts| self.restarts = self.restarts.max(restarts))?;
                }
                b"initContainerStatuses" => {
                    self.init_restarts.clear();
                    read_container_statuses(reader, |name, restarts| self.init_restarts.push((name, restarts)))?;
                }
                _ => reader.skip()?,
            }
        }
        Ok(())
    }
}

fn read_deletion_cost(reader: &mut Reader<'_>) -> Result<i32, Unexpected> {
    let mut cost = 0;
    let mut members = reader.object()?;
    while let Some(key) = reader.next_member(&mut members)? {
        if *key == *DELETION_COST.as_bytes() {
            cost = parse_cost(&reader.text()?);
        } else {
            reader.skip()?;
        }
    }
    Ok(cost)
}

/// The first condition of type `Ready`.
fn read_first_ready(reader: &mut Reader<'_>) -> Result<Option<Ready>, Unexpected> {
    let mut ready = None;
    let mut conditions = reader.array()?;
    while reader.next_element(&mut conditions)? {
        let (mut kind, mut status, mut changed) = (Cow::default(), Cow::default(), Cow::default());
        let mut members = reader.object()?;
        while let Some(key) = reader.next_member(&mut members)? {
            match &*key {
                b"type" => kind = reader.text()?,
                b"status" => status = reader.text()?,
                b"lastTransitionTime" => changed = reader.text()?,
                _ => reader.skip()?,
            }
        }
        if ready.is_none() && kind == "Ready" {
            // An unreadable time is none, and so is the zero time of Go, which is out of range.
            let changed = Timestamp::parse(&changed).filter(|time| time.as_nanos() != i64::MIN);
            ready = Some(Ready { status: status == "True", changed });
        }
    }
    Ok(ready)
}

/// Tells the name and the restarts of each container of a list.
fn read_container_statuses<'a>(
    reader: &mut Reader<'a>,
    mut tell: impl FnMut(Cow<'a, str>, i32),
) -> Result<(), Unexpected> {
    let mut containers = reader.array()?;
    while reader.next_element(&mut containers)? {
        let (mut name, mut restarts) = (Cow::default(), 0);
        let mut members = reader.object()?;
        while let Some(key) = reader.next_member(&mut members)? {
            match &*key {
                b"name" => name = reader.text()?,
                b"restartCount" => restarts = reader.integer()?,
                _ => reader.skip()?,
            }
        }
        tell(name, restarts);
    }
    Ok(())
}
