//! Progress of an experiment as a bar: what is over, what of it failed. The page's script moves the same two bars.

use blklab_wire::people::Progress;

use super::canvas::{Canvas, Svg};

/// Trials over and failed among all, drawn over a width of 100.
pub(crate) fn progress(progress: &Progress) -> Svg {
    let part = |n: u32| if progress.trials == 0 { 0.0 } else { 100.0 * f64::from(n.min(progress.trials)) / f64::from(progress.trials) };
    let mut canvas = Canvas::stretched(100.0, 8.0);
    canvas.rect("track", (0.0, 0.0), (100.0, 8.0));
    canvas.rect("over", (0.0, 0.0), (part(progress.over), 8.0));
    canvas.rect("failure", (0.0, 0.0), (part(progress.failed), 8.0));
    for round in 1..progress.rounds.min(100) {
        let x = 100.0 * f64::from(round) / f64::from(progress.rounds);
        canvas.line("round", (x, 0.0), (x, 8.0));
    }
    let title = format!("{} of {} trials are over, {} failed", progress.over, progress.trials, progress.failed);
    canvas.finish("progress", &title, "vertical lines part the rounds")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::testing;

    #[test]
    fn bars_are_parts_of_all_trials() {
        let mut sample = testing::progress(&testing::under_way());
        (sample.trials, sample.over, sample.failed, sample.rounds) = (80, 20, 4, 2);
        let svg = progress(&sample).to_string();
        assert!(svg.contains(r#"class="over" x="0" y="0" width="25""#), "{svg}");
        assert!(svg.contains(r#"class="failure" x="0" y="0" width="5""#), "{svg}");
        (sample.trials, sample.over) = (0, 0);
        assert!(!progress(&sample).to_string().contains("NaN"));
    }
}
