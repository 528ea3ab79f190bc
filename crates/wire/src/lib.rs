//! What crosses HTTP between agents, coordinator and command line. Types only: who may send what is the coordinator's business.
//!
//! Agents lag behind the coordinator, so each message that starts a conversation carries [`PROTOCOL`]; old recorded messages are
//! fixtures that must still deserialise.

pub mod agent;
pub mod build;
pub mod people;

/// Version of the messages. A coordinator refuses an agent of another version with [`agent::Refusal`].
pub const PROTOCOL: u32 = 3;
