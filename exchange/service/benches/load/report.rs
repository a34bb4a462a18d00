//! Reports measured values, one per line, and compares them with goals.

use serde::Serialize;

/// A measured value.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Figure {
    scenario: &'static str,
    what: String,
    value: f64,
    unit: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    goal: Option<Goal>,
}

/// The goal for a value.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Goal {
    /// The minimum value.
    AtLeast(f64),
    /// The maximum value.
    AtMost(f64),
}

impl Goal {
    fn is_met(self, value: f64) -> bool {
        match self {
            Self::AtLeast(goal) => value >= goal,
            Self::AtMost(goal) => value <= goal,
        }
    }
}

/// The values of one scenario.
pub(crate) struct Report {
    scenario: &'static str,
    figures: Vec<Figure>,
    json: bool,
}

impl Report {
    pub(crate) fn new(scenario: &'static str, json: bool) -> Self {
        Self { scenario, figures: Vec::new(), json }
    }

    /// Reports a value.
    pub(crate) fn record(&mut self, what: impl Into<String>, value: f64, unit: &'static str) {
        self.add(what.into(), value, unit, None);
    }

    /// Reports a value with a goal.
    pub(crate) fn record_with_goal(
        &mut self,
        what: impl Into<String>,
        value: f64,
        unit: &'static str,
        goal: Goal,
    ) {
        self.add(what.into(), value, unit, Some(goal));
    }

    /// Reports the percentiles of latencies, in milliseconds.
    pub(crate) fn latencies(&mut self, what: &str, latencies: &hdrhistogram::Histogram<u64>) {
        for (name, quantile) in [("p50", 0.5), ("p99", 0.99), ("max", 1.0)] {
            self.record(format!("{what}, {name}"), millis(latencies.value_at_quantile(quantile)), "ms");
        }
    }

    fn add(&mut self, what: String, value: f64, unit: &'static str, goal: Option<Goal>) {
        let scenario = self.scenario;
        self.figures.push(Figure { scenario, what, value, unit, goal });
        if !self.json
            && let Some(figure) = self.figures.last()
        {
            println!("{}", figure.line());
        }
    }

    /// Returns all values.
    pub(crate) fn into_figures(self) -> Vec<Figure> {
        self.figures
    }
}

impl Figure {
    fn line(&self) -> String {
        let Self { scenario, what, value, unit, goal } = self;
        let number = match value.abs() {
            large if large >= 1000.0 => format!("{value:.0}"),
            middle if middle >= 10.0 => format!("{value:.1}"),
            _ => format!("{value:.3}"),
        };
        let goal = goal.map_or(String::new(), |goal| {
            let (word, bound) = match goal {
                Goal::AtLeast(bound) => ("at least", bound),
                Goal::AtMost(bound) => ("at most", bound),
            };
            let met = if goal.is_met(*value) { "met" } else { "missed" };
            format!("   goal {word} {bound}: {met}")
        });
        format!("{scenario:<9} {what:<52} {number:>10} {unit}{goal}")
    }
}

/// Converts microseconds to milliseconds.
#[allow(clippy::cast_precision_loss, reason = "latencies are far below 2^52 microseconds")]
pub(crate) fn millis(micros: u64) -> f64 {
    micros as f64 / 1000.0
}
