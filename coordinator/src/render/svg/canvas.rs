//! Elements of an SVG. The only place that writes markup by hand: every text goes through `escape`, every coordinate is finite.

use std::fmt::{self, Write as _};

use crate::render::escape::escape;

/// A finished picture; safe to put into a page as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Svg(String);

impl fmt::Display for Svg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// All of its text was escaped by [`Canvas`].
impl askama::filters::HtmlSafe for Svg {}

/// A picture under construction, in user units (CSS pixels at its natural size).
pub(super) struct Canvas {
    body: String,
    width: f64,
    height: f64,
    /// May it be drawn wider than high? Only what holds no text.
    stretch: bool,
}

/// Which end of a text stands at its place.
#[derive(Debug, Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

impl Canvas {
    pub(super) fn new(width: f64, height: f64) -> Canvas {
        Canvas { body: String::new(), width, height, stretch: false }
    }

    /// A picture that fills whatever room it gets.
    pub(super) fn stretched(width: f64, height: f64) -> Canvas {
        Canvas { stretch: true, ..Canvas::new(width, height) }
    }

    pub(super) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let [x1, y1, x2, y2] = [from.0, from.1, to.0, to.1].map(Px);
        self.write(format_args!(r#"<line class="{class}" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"/>"#));
    }

    pub(super) fn rect(&mut self, class: &str, at: (f64, f64), size: (f64, f64)) {
        let [x, y, width, height] = [at.0, at.1, size.0.max(0.0), size.1.max(0.0)].map(Px);
        self.write(format_args!(r#"<rect class="{class}" x="{x}" y="{y}" width="{width}" height="{height}"/>"#));
    }

    pub(super) fn polyline(&mut self, class: &str, points: &[(f64, f64)]) {
        let points: Vec<String> = points.iter().map(|(x, y)| format!("{},{}", Px(*x), Px(*y))).collect();
        self.write(format_args!(r#"<polyline class="{class}" points="{}"/>"#, points.join(" ")));
    }

    /// A closed shape with a title that shows when the pointer rests on it.
    pub(super) fn path(&mut self, class: &str, d: &str, title: &str) {
        self.write(format_args!(r#"<path class="{class}" d="{d}"><title>{}</title></path>"#, escape(title)));
    }

    pub(super) fn text(&mut self, class: &str, anchor: Anchor, at: (f64, f64), text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let [x, y] = [at.0, at.1].map(Px);
        self.write(format_args!(r#"<text class="{class}" text-anchor="{anchor}" x="{x}" y="{y}">{}</text>"#, escape(text)));
    }

    /// A text that may be cut; the whole of it is its title.
    pub(super) fn label(&mut self, class: &str, anchor: Anchor, at: (f64, f64), text: &str, max_chars: usize) {
        self.open("g", &[]);
        self.write(format_args!("<title>{}</title>", escape(text)));
        self.text(class, anchor, at, &cut(text, max_chars));
        self.close("g");
    }

    /// Opens an element; the caller closes it.
    pub(super) fn open(&mut self, element: &str, attributes: &[(&str, &str)]) {
        self.write(format_args!("<{element}"));
        for (name, value) in attributes {
            self.write(format_args!(r#" {name}="{}""#, escape(value)));
        }
        self.body.push('>');
    }

    pub(super) fn close(&mut self, element: &str) {
        self.write(format_args!("</{element}>\n"));
    }

    /// The picture with the name and the description that a screen reader gives.
    pub(super) fn finish(self, class: &str, title: &str, description: &str) -> Svg {
        let (width, height) = (Px(self.width), Px(self.height));
        let aspect = if self.stretch { r#" preserveAspectRatio="none""# } else { "" };
        Svg(format!(
            r#"<svg class="plot {class}" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"{aspect} role="img" aria-label="{}"><desc>{}</desc>
{}</svg>"#,
            escape(title),
            escape(description),
            self.body
        ))
    }

    fn write(&mut self, arguments: fmt::Arguments<'_>) {
        self.body.write_fmt(arguments).expect("a String takes everything");
    }
}

/// A coordinate: one decimal is a tenth of a pixel. What is not finite would make the whole picture invalid.
#[derive(Clone, Copy)]
pub(super) struct Px(pub(super) f64);

impl fmt::Display for Px {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = if self.0.is_finite() { (self.0 * 10.0).round() / 10.0 } else { 0.0 };
        write!(f, "{}", if value == 0.0 { 0.0 } else { value })
    }
}

/// At most `max` characters, with an ellipsis in the middle: labels of kernels and parameters differ at their ends.
fn cut(text: &str, max: usize) -> String {
    let chars: Vec<char> = text.chars().collect();
    if chars.len() <= max || max < 3 {
        return text.to_owned();
    }
    let tail = (max - 1) / 2;
    let head = max - 1 - tail;
    chars[..head].iter().chain(&['…']).chain(&chars[chars.len() - tail..]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_becomes_markup_and_no_coordinate_is_infinite() {
        let mut canvas = Canvas::new(10.0, f64::NAN);
        canvas.text("a", Anchor::Start, (f64::INFINITY, -0.01), "<script>\"'&\u{7}");
        let svg = canvas.finish("x", "\"><script>", "</desc><script>").to_string();
        assert!(!svg.contains("<script"), "{svg}");
        assert!(svg.contains("x=\"0\" y=\"0\">&lt;script&gt;&quot;&#39;&amp; </text>"), "{svg}");
        assert!(svg.contains("viewBox=\"0 0 10 0\""), "{svg}");
    }

    #[test]
    fn long_labels_lose_their_middle() {
        assert_eq!(cut("2.6.30-rc4+io-throttle-v16", 11), "2.6.3…e-v16");
        assert_eq!(cut("short", 11), "short");
    }
}
