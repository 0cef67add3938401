//! A chart over runs as SVG: it needs no script, and takes the colours of the page.

use maud::{Markup, html};

use crate::{
    layout::timeline::{Band, Level, Mark, Point, Timeline, VerticalMark},
    words::format,
};

/// The drawing, in its own units.
const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 210.0;
/// The plot within it.
const LEFT: f64 = 76.0;
const RIGHT: f64 = 948.0;
const TOP: f64 = 24.0;
const BOTTOM: f64 = 174.0;
/// The axis shows so much more than the values, and at least this share of them.
const PADDING: f64 = 0.08;
const MIN_SPAN: f64 = 0.1;
/// Lines of the axis of values.
const MAX_GRID_LINES: f64 = 5.0;
/// Colours of the style.
const COLOURS: usize = 8;
/// Half the width of the cap of an interval.
const CAP: f64 = 3.0;

/// Where values and runs are in the drawing.
struct Axes {
    low: f64,
    high: f64,
    /// Between two runs.
    step: f64,
}

pub(super) fn timeline(timeline: &Timeline) -> Markup {
    let axes = Axes::new(timeline);
    html! {
        figure class="chart timeline" tabindex="0" {
            figcaption { (timeline.label) (legend(&timeline.lines)) }
            svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-label=(timeline.label) {
                @for band in &timeline.bands { (band_markup(&axes, band)) }
                (grid(&axes, timeline))
                @for mark in &timeline.marks { (triangle(&axes, mark)) }
                @for change in &timeline.changes { (vertical(&axes, change)) }
                @for point in &timeline.points { (interval(&axes, point)) }
                @for level in &timeline.levels { (level_line(&axes, level)) }
                @for point in &timeline.points { (circle(&axes, point)) }
            }
        }
    }
}

impl Axes {
    fn new(timeline: &Timeline) -> Self {
        let values = || timeline.points.iter().map(|point| point.value);
        let low = values().fold(f64::INFINITY, f64::min);
        let high = values().fold(0.0, f64::max);
        // Whole intervals are shown unless they are far wider than the values scatter.
        let reach = (high - low).max(MIN_SPAN * high);
        let ends = |end: fn(&Point) -> f64| timeline.points.iter().map(end);
        let lowest = ends(|point| point.ends.0).fold(low, f64::min);
        let highest = ends(|point| point.ends.1).fold(high, f64::max);
        let low = lowest.max(low - reach / 2.0);
        let high = highest.min(high + reach / 2.0);
        let missing = (MIN_SPAN * high - (high - low)).max(0.0) / 2.0;
        let padding = missing + PADDING * (high - low);
        let runs = timeline.runs.max(1);
        Self {
            low: (low - padding).max(0.0),
            high: if high > 0.0 { high + padding } else { 1.0 },
            step: (RIGHT - LEFT) / place(runs),
        }
    }

    /// The middle of a run.
    fn x(&self, run: usize) -> f64 {
        LEFT + self.step * (place(run) + 0.5)
    }

    fn y(&self, value: f64) -> f64 {
        let share = (value.clamp(self.low, self.high) - self.low) / (self.high - self.low);
        BOTTOM - share * (BOTTOM - TOP)
    }

    /// Round values within the axis.
    fn grid_values(&self) -> Vec<f64> {
        let span = self.high - self.low;
        let power = 10_f64.powf((span / MAX_GRID_LINES).log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0].map(|part| part * power);
        let step = steps.into_iter().find(|step| span / step <= MAX_GRID_LINES);
        let step = step.unwrap_or(10.0 * power);
        let first = (self.low / step).ceil();
        let lines = (0..20_u32).map(|line| (first + f64::from(line)) * step);
        lines.take_while(|value| *value <= self.high).collect()
    }
}

fn place(run: usize) -> f64 {
    u32::try_from(run).map_or(f64::from(u32::MAX), f64::from)
}

fn coordinate(place: f64) -> String {
    format!("{place:.1}")
}

fn colour(line: usize) -> String {
    format!("l{}", line % COLOURS + 1)
}

fn legend(lines: &[String]) -> Markup {
    html! {
        @if lines.len() > 1 {
            @for (at, name) in lines.iter().enumerate() {
                " " span class={ "key " (colour(at)) } { (name) }
            }
        }
    }
}

fn grid(axes: &Axes, timeline: &Timeline) -> Markup {
    html! {
        @for value in axes.grid_values() {
            line class="grid" x1=(LEFT) x2=(RIGHT) y1=(coordinate(axes.y(value))) y2=(coordinate(axes.y(value))) {}
            text class="value" x=(LEFT - 8.0) y=(coordinate(axes.y(value) + 4.0)) { (format::in_unit(value, timeline.unit)) }
        }
        line class="base" x1=(LEFT) x2=(RIGHT) y1=(BOTTOM) y2=(BOTTOM) {}
        @for (run, label) in &timeline.labels {
            text class="run" x=(coordinate(axes.x(*run))) y=(BOTTOM + 28.0) { (label) }
        }
    }
}

fn band_markup(axes: &Axes, band: &Band) -> Markup {
    let start = axes.x(band.first) - axes.step / 2.0;
    let width = axes.x(band.last) + axes.step / 2.0 - start;
    html! {
        rect class="host" x=(coordinate(start)) y=(TOP) width=(coordinate(width)) height=(BOTTOM - TOP) { title { (band.title) } }
    }
}

fn triangle(axes: &Axes, mark: &Mark) -> Markup {
    let x = axes.x(mark.at);
    let (top, bottom) = (BOTTOM + 3.0, BOTTOM + 12.0);
    let points = format!(
        "{x:.1},{top} {:.1},{bottom} {:.1},{bottom}",
        x - 5.0,
        x + 5.0
    );
    html! { polygon class="mark" points=(points) { title { (mark.title) } } }
}

fn vertical(axes: &Axes, change: &VerticalMark) -> Markup {
    let x = axes.x(change.at) - axes.step / 2.0;
    html! {
        g class={ "change " (change.class) } {
            title { (change.title) }
            line x1=(coordinate(x)) x2=(coordinate(x)) y1=(TOP - 4.0) y2=(BOTTOM) {}
            text x=(coordinate(x)) y=(TOP - 9.0) { (change.label) }
        }
    }
}

/// An end that is outside of the plot has no cap.
fn interval(axes: &Axes, point: &Point) -> Markup {
    let (low, high) = point.ends;
    let x = axes.x(point.at);
    let cap = |end: f64| {
        let is_shown = (axes.low..=axes.high).contains(&end);
        is_shown.then(|| format!("M{:.1} {:.1}h{:.1}", x - CAP, axes.y(end), 2.0 * CAP))
    };
    let caps: Vec<String> = [low, high].into_iter().filter_map(cap).collect();
    let line = format!("M{x:.1} {:.1}V{:.1}", axes.y(high), axes.y(low));
    html! {
        @if low < high {
            path class={ "interval " (colour(point.line)) } d={ (line) (caps.concat()) } {}
        }
    }
}

fn level_line(axes: &Axes, level: &Level) -> Markup {
    let half = axes.step / 2.0;
    let y = coordinate(axes.y(level.value));
    html! {
        line class={ "level " (colour(level.line)) } x1=(coordinate(axes.x(level.first) - half)) x2=(coordinate(axes.x(level.last) + half)) y1=(y) y2=(y) {}
    }
}

fn circle(axes: &Axes, point: &Point) -> Markup {
    let doubt = if point.is_doubtful { " doubtful" } else { "" };
    html! {
        circle class={ "point " (colour(point.line)) (doubt) } cx=(coordinate(axes.x(point.at))) cy=(coordinate(axes.y(point.value))) r="3.5" {
            title { (point.title) }
        }
    }
}
