//! The sink from outside: real processes, a real Kafka, a real InfluxDB, and a fake one for answers that the real one never
//! gives.

#[cfg(test)]
mod answers;
#[cfg(test)]
mod delivery;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod lab;
#[cfg(test)]
mod poison;
#[cfg(test)]
mod process;
#[cfg(all(test, feature = "kafka-tls"))]
mod security;
