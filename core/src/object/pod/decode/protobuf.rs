//! Reading a pod from protobuf: `v1.Pod` of `api/core/v1/generated.proto`.

use alloc::borrow::Cow;

use super::{DELETION_COST, Phase, PodText, Ready, parse_cost};
use crate::json::Unexpected;
use crate::object::map_text::MapText;
use crate::object::meta::read_proto_time;
use crate::object::owner::OwnerReferenceText;
use crate::protobuf::{Fields, Text};

/// The number of the labels in `metav1.ObjectMeta`.
const LABELS: u32 = 11;

impl<'a> PodText<'a> {
    /// Reads the message of a pod. A field that comes several times counts as Go's reader takes it: the last text or number, all
    /// entries of a list; a message only where it comes once, as every server writes it.
    pub(super) fn read_protobuf(message: &'a [u8]) -> Result<Self, Unexpected> {
        let mut pod = Self::default();
        let mut fields = Fields::new(message);
        let mut metadata = false;
        while let Some((number, value)) = fields.next()? {
            match number {
                1 if core::mem::replace(&mut metadata, true) => return Err(fields.unexpected("end of a pod before")),
                1 => pod.read_meta(value.message()?)?,
                2 => pod.read_spec_message(value.message()?)?,
                3 => pod.read_status_message(value.message()?)?,
                _ => {}
            }
        }
        Ok(pod)
    }

    fn read_meta(&mut self, mut fields: Fields<'a>) -> Result<(), Unexpected> {
        let mut labels: Option<&'a [u8]> = None;
        let mut from = fields.rest();
        while let Some((number, value)) = fields.next()? {
            match number {
                1 => self.name = Cow::Borrowed(value.text()?),
                3 => self.namespace = Cow::Borrowed(value.text()?),
                5 => self.uid = Cow::Borrowed(value.text()?),
                6 => self.resource_version = Cow::Borrowed(value.text()?),
                8 => self.creation = read_proto_time(value.message()?)?,
                9 => self.deletion = read_proto_time(value.message()?)?,
                LABELS => {
                    // From the first of them to the last.
                    let first = *labels.get_or_insert(from);
                    let fields = &first[..first.len() - fields.rest().len()];
                    self.labels = MapText::Protobuf { number: LABELS, fields };
                }
                12 => {
                    let (key, cost) = value.message()?.entry()?;
                    if key.is(DELETION_COST) {
                        self.deletion_cost = parse_cost(cost.checked()?);
                    }
                }
                13 => {
                    let owner = OwnerReferenceText::read_protobuf(value.message()?)?;
                    if self.controller.is_none() && owner.is_controller() {
                        self.controller = Some(owner);
                    }
                }
                _ => {}
            }
            from = fields.rest();
        }
        Ok(())
    }

    fn read_spec_message(&mut self, mut fields: Fields<'a>) -> Result<(), Unexpected> {
        while let Some((number, value)) = fields.next()? {
            match number {
                10 => self.node = Cow::Borrowed(value.text()?),
                20 => {
                    let (mut name, mut restart_policy) = ("", Text::default());
                    let mut container = value.message()?;
                    while let Some((number, value)) = container.next()? {
                        match number {
                            1 => name = value.text()?,
                            24 => restart_policy = value.unchecked_text()?,
                            _ => {}
                        }
                    }
                    if restart_policy.is("Always") {
                        self.sidecars.push(Cow::Borrowed(name));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn read_status_message(&mut self, mut fields: Fields<'a>) -> Result<(), Unexpected> {
        while let Some((number, value)) = fields.next()? {
            match number {
                1 => self.phase = Phase::new(value.text()?),
                2 if self.ready.is_none() => self.ready = read_ready(value.message()?)?,
                8 => self.restarts = self.restarts.max(read_container_status(value.message()?)?.1),
                10 => {
                    let (name, restarts) = read_container_status(value.message()?)?;
                    self.init_restarts.push((Cow::Borrowed(name.checked()?), restarts));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// The condition, if it is of type `Ready`.
fn read_ready(mut condition: Fields<'_>) -> Result<Option<Ready>, Unexpected> {
    let (mut kind, mut status, mut changed) = (Text::default(), Text::default(), None);
    while let Some((number, value)) = condition.next()? {
        match number {
            1 => kind = value.unchecked_text()?,
            2 => status = value.unchecked_text()?,
            4 => changed = read_proto_time(value.message()?)?,
            _ => {}
        }
    }
    Ok(kind.is("Ready").then_some(Ready { status: status.is("True"), changed }))
}

/// Name and restarts of a container.
fn read_container_status(mut status: Fields<'_>) -> Result<(Text<'_>, i32), Unexpected> {
    let (mut name, mut restarts) = (Text::default(), 0);
    while let Some((number, value)) = status.next()? {
        match number {
            1 => name = value.unchecked_text()?,
            5 => restarts = value.integer()?,
            _ => {}
        }
    }
    Ok((name, restarts))
}
