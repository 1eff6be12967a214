//! What was measured many times, and what to say of it.

use std::time::Duration;

/// Measurements of one thing.
#[derive(Debug, Clone, Default)]
pub(crate) struct Samples(Vec<f64>);

impl Samples {
    pub(crate) fn push(&mut self, value: f64) {
        self.0.push(value);
    }

    pub(crate) fn push_milliseconds(&mut self, duration: Duration) {
        self.push(duration.as_secs_f64() * 1e3);
    }

    /// Takes in the measurements of `other`.
    pub(crate) fn extend(&mut self, other: &Self) {
        self.0.extend_from_slice(&other.0);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn max(&self) -> f64 {
        self.percentile(100)
    }

    /// Half of the measurements are not above it.
    pub(crate) fn median(&self) -> f64 {
        self.percentile(50)
    }

    /// The smallest measurement that `percent` of all are not above; nothing measured is no number.
    pub(crate) fn percentile(&self, percent: usize) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let rank = (sorted.len() * percent).div_ceil(100).max(1);
        sorted.get(rank - 1).copied().unwrap_or(f64::NAN)
    }
}

impl FromIterator<f64> for Samples {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}

/// How often something happened in a second.
pub(crate) fn rate(count: usize, took: Duration) -> f64 {
    to_f64(count) / took.as_secs_f64()
}

/// A count, none of which is so large that it would be another as a float.
pub(crate) fn to_f64(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_one_of_the_measurements() {
        let samples: Samples = (1..=100).map(f64::from).collect();
        let told = [samples.median(), samples.percentile(99), samples.max()];
        assert_eq!(told.map(|value| format!("{value}")), ["50", "99", "100"]);
        let single = Samples::from_iter([7.0]).percentile(99);
        assert!((single - 7.0).abs() < f64::EPSILON);
        assert!(Samples::default().median().is_nan());
    }
}
