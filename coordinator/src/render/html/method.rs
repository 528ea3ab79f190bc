//! `/method`: how a verdict comes about, in plain language.

use askama::Template;
use blklab_stats::Policy;

use crate::render::number::percent;
use crate::render::word::Tone;

/// The method. Its numbers come from the policy that judges, so that page and code cannot part.
#[derive(Template)]
#[template(path = "method/page.html")]
pub struct MethodPage {
    policy: Policy,
    delta: String,
    legend: Vec<(char, &'static str, &'static str)>,
}

impl MethodPage {
    /// For the lab's default policy.
    pub fn new(policy: Policy) -> MethodPage {
        MethodPage {
            policy,
            delta: percent(policy.delta_pct),
            legend: Tone::ALL.map(|tone| (tone.glyph(), tone.word(), tone.class())).to_vec(),
        }
    }
}
