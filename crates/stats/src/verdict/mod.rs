//! From a comparison to one word, with every rule it passed or failed on the way. Knows the policy;
//! computes no statistics of its own.
//!
//! The rules and their order are one method with the `verdict` section of the test vectors: change
//! rule and vectors together.

mod gate;
mod judge;
mod policy;
mod word;

pub use gate::{Bound, Cap, Gate, GateName};
pub use judge::{Judgement, judge, judge_means, judge_summary};
pub use policy::Policy;
pub use word::{Better, NoTest, Verdict, Why};
