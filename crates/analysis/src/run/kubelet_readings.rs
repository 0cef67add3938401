//! How finely CPU and memory are known of pods that waggle did not make: kubelets read them, less often than waggle would.

use crate::{
    info::instrument::INSTRUMENT, run::run_model::Model, trial::trial_model::TrialNumbers,
};

/// CPU and memory of the system are what kubelets say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KubeletReadings {
    /// The shortest and the longest time between two readings of one replica, in seconds; `None`: none was read twice in a trial.
    pub apart_s: Option<(f64, f64)>,
}

/// `None`: waggle read them itself, or nobody did.
#[must_use]
pub fn kubelet_readings(model: &Model) -> Option<KubeletReadings> {
    if !model.info.system_manifests {
        return None;
    }
    let trials = model.trials.iter();
    let numbers = trials.filter_map(|trial| trial.numbers.as_ref());
    let is_read = |numbers: &&TrialNumbers| {
        let mut names = numbers.component_cores.iter().map(|(name, _)| name);
        names.any(|name| name != INSTRUMENT)
    };
    let mut read = numbers.filter(is_read).peekable();
    read.peek()?;
    let apart = read.filter_map(|numbers| numbers.readings_apart_s);
    Some(KubeletReadings {
        apart_s: apart.reduce(|all, trial| (all.0.min(trial.0), all.1.max(trial.1))),
    })
}

#[cfg(test)]
mod tests {
    use super::{INSTRUMENT, KubeletReadings, kubelet_readings};
    use crate::tests::simulated_run::{Scatter, Simulated};

    #[test]
    fn only_of_pods_that_were_read_by_kubelets() {
        let mut model = Simulated {
            scatter: Scatter::Equal,
            repetitions: 3,
            ratio: 1.0,
        }
        .model(1);
        model.info.system_manifests = true;
        assert_eq!(kubelet_readings(&model), None);
        // What waggle reads of itself is not of the system.
        let numbers = model.trials[0].numbers.as_mut().unwrap();
        numbers.component_cores = vec![(INSTRUMENT.to_owned(), 0.5)];
        assert_eq!(kubelet_readings(&model), None);
        let mut set = |trial: usize, apart_s: Option<(f64, f64)>| {
            let numbers = model.trials[trial].numbers.as_mut().unwrap();
            numbers.component_cores = vec![("shop-0".to_owned(), 0.5)];
            numbers.readings_apart_s = apart_s;
        };
        set(0, None);
        set(1, Some((10.0, 12.0)));
        set(2, Some((11.0, 15.5)));
        let apart_s = Some((10.0, 15.5));
        assert_eq!(kubelet_readings(&model), Some(KubeletReadings { apart_s }));
        model.info.system_manifests = false;
        assert_eq!(kubelet_readings(&model), None);
    }
}
