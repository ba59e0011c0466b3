//! The guide: from an empty program to a controller, and from other libraries to this one.

#[doc = include_str!("embedding.md")]
pub mod embedding {}

#[doc = include_str!("first_controller.md")]
pub mod first_controller {}

#[doc = include_str!("from_client_go.md")]
pub mod from_client_go {}

#[doc = include_str!("from_kube_rs.md")]
pub mod from_kube_rs {}
