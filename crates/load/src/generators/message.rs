//! The messages between those who collect and a generator, and their frames: a length in four bytes, then the message.

use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    job::share::Share,
    machine::clock::Clock,
    recording::outcome::{Interval, Outcome},
    scenario::kept::Kept,
};

/// Longest frame. A job has the rows of its feeds and its prepared requests.
const FRAME_MAX_BYTES: u32 = 1 << 30;
/// Most words of request outcomes in one message: one mebibyte.
pub(super) const WORDS_MAX: usize = 128 * 1024;

/// To a generator.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Order {
    /// The first: two versions of waggle may have different messages and do not make one load.
    Hello { version: String },
    /// What to run. The next frame is the job.
    Job(Share),
    /// The start of the run, by the generator's own monotonic clock.
    Start(Clock),
    /// Other texts of what is sent. The next frame is what.
    Replace,
    /// No new requests.
    Stop,
}

/// From a generator.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Report {
    /// Its workers are set up and wait for the start. The digest is that of the job as the generator would send it on.
    Ready {
        digest: u64,
    },
    /// Nothing else to say, and alive.
    Alive,
    Interval(Box<Interval>),
    /// Request outcomes of a worker, counted from 0 in its share, in pieces of [`WORDS_MAX`] in order.
    Outcomes {
        worker: usize,
        sent: u64,
        words: Vec<u64>,
    },
    /// What each of its workers kept.
    Kept(Vec<Kept>),
    /// The end, after all intervals, request outcomes and kept values.
    End(Box<Outcome>),
    /// Why it cannot run, or cannot go on.
    Failed(String),
}

/// The version in [`Order::Hello`].
pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Writes one message.
pub(super) fn write<T: Serialize>(to: &mut impl Write, message: &T) -> io::Result<()> {
    write_frame(to, &encode(message)?)
}

/// Writes a message that is bytes already.
pub(super) fn write_frame(to: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    let length = u32::try_from(bytes.len()).ok();
    let length = length.filter(|length| *length <= FRAME_MAX_BYTES);
    let length = length.ok_or_else(|| {
        io::Error::other(format!(
            "a message of {} bytes, at most {FRAME_MAX_BYTES} are sent",
            bytes.len()
        ))
    })?;
    to.write_all(&length.to_le_bytes())?;
    to.write_all(bytes)?;
    to.flush()
}

/// Reads one message; `None` at the end of the stream.
pub(super) fn read<T: DeserializeOwned>(from: &mut impl Read) -> io::Result<Option<T>> {
    read_frame(from)?.map(|bytes| decode(&bytes)).transpose()
}

/// Reads the bytes of one message.
pub(super) fn read_frame(from: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    let mut filled = 0;
    while filled < length.len() {
        match from.read(&mut length[filled..]) {
            Ok(0) if filled == 0 => return Ok(None),
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(bytes) => filled += bytes,
            Err(problem) if problem.kind() == io::ErrorKind::Interrupted => {}
            Err(problem) => return Err(problem),
        }
    }
    let length = u32::from_le_bytes(length);
    if length > FRAME_MAX_BYTES {
        return Err(io::Error::other(format!(
            "a message of {length} bytes, at most {FRAME_MAX_BYTES} are read"
        )));
    }
    // Grows with what arrives and not with what is announced.
    let mut bytes = Vec::new();
    from.take(length.into()).read_to_end(&mut bytes)?;
    if bytes.len() < length as usize {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Some(bytes))
}

pub(super) fn encode<T: Serialize>(value: &T) -> io::Result<Vec<u8>> {
    postcard::to_stdvec(value).map_err(io::Error::other)
}

pub(super) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> io::Result<T> {
    postcard::from_bytes(bytes).map_err(io::Error::other)
}

/// FNV-1a, 64 bits, of a value's bytes: shows that two jobs are the same, and is no protection against intent.
pub(super) fn digest<T: Serialize>(value: &T) -> io::Result<u64> {
    let mut digest = Digest(0xcbf2_9ce4_8422_2325);
    postcard::to_io(value, &mut digest).map_err(io::Error::other)?;
    Ok(digest.0)
}

struct Digest(u64);

impl Write for Digest {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use proptest::prelude::*;
    use waggle_spec::{
        Arrivals, FeedOrder, GeneratedRows, LoadModel, LoadStage, OnFailure, Protocol, RowValue,
        Think,
    };

    use super::*;
    use crate::{
        inspection::Inspect,
        job::{Job, Limits, Target, What},
        requests::{
            expect::{BodyCheck, Expect},
            prepared::{Prepared, Slot, Stamp},
        },
        scenario::{
            kept::KeptRows,
            model::{
                Action, Capture, Check, Condition, Extractor, Feed, Flow, Pattern, Preparation,
                Query, Repeat, Retries, Rounds, Scenario, StepRequest, Subject, WhileCaptured,
            },
            rows::Rows,
            template::Template,
        },
        transport::{
            settings::Transport,
            tls::{Roots, Tls, TlsOptions},
        },
    };

    /// A job is the same after its way, and so is its digest.
    fn check(job: &Job) {
        let bytes = encode(job).unwrap();
        let there: Job = decode(&bytes).unwrap();
        assert_eq!(format!("{there:?}"), format!("{job:?}"));
        assert_eq!(encode(&there).unwrap(), bytes);
        assert_eq!(digest(&there).unwrap(), digest(job).unwrap());
        let other = Job {
            seed: !job.seed,
            ..job.clone()
        };
        assert_ne!(digest(&other).unwrap(), digest(job).unwrap());
    }

    fn job(model: LoadModel, stages: Vec<LoadStage>, what: What) -> Job {
        let options = TlsOptions {
            server_name: "shop.test".to_owned(),
            roots: Roots::Unchecked,
            ..TlsOptions::default()
        };
        Job {
            name: "buy".to_owned(),
            targets: ["127.0.0.1:80", "[::1]:8080"]
                .map(|address| Target {
                    address: address.parse().unwrap(),
                })
                .to_vec(),
            transport: Transport {
                protocol: Protocol::Http1,
                tls: Some(Tls::new(options).unwrap()),
                ..Transport::default()
            },
            model,
            stages,
            what,
            limits: Limits::default(),
            workers: vec![Some(1), None],
            interval: Duration::from_millis(100),
            max_duration: Duration::from_nanos(1_234_567_891),
            max_requests: Some(u64::MAX),
            max_tracked_requests: Some(3),
            seed: u64::MAX - 5,
        }
    }

    fn step() -> StepRequest {
        let text = |text: &str| Template::parse(text).unwrap();
        let pattern = Pattern::parse("(?i)id=([0-9]+)\\b").unwrap();
        StepRequest {
            step: 0,
            method: "PUT".to_owned(),
            path: text("/{{f.a}}?q={{x}}"),
            headers: vec![("X".to_owned(), text("{{record.key}}"))],
            body: text("{{{{ä {{random.uuid}}"),
            expect: Expect {
                status: vec![200, 404],
                body: BodyCheck::Contains(vec![vec![0, 255]]),
            },
            checks: vec![
                Check {
                    of: Subject::Status,
                    holds: Condition::Exists,
                },
                Check {
                    of: Subject::Body,
                    holds: Condition::Matches(pattern.clone()),
                },
            ],
            captures: vec![
                Capture {
                    variable: "x".to_owned(),
                    from: Extractor::Json(Query::parse("$..a[?@.b > 1].c").unwrap()),
                    is_optional: true,
                },
                Capture {
                    variable: "y".to_owned(),
                    from: Extractor::Regex {
                        pattern: pattern.clone(),
                        group: 1,
                    },
                    is_optional: false,
                },
                Capture {
                    variable: "z".to_owned(),
                    from: Extractor::HeaderMatch {
                        name: "link".to_owned(),
                        pattern,
                        group: 0,
                    },
                    is_optional: true,
                },
            ],
            on_failure: OnFailure::Continue,
            timeout: Some(Duration::from_millis(7)),
        }
    }

    /// Every action that a session can have.
    fn actions() -> Vec<Action> {
        let condition = WhileCaptured {
            variable: "x".to_owned(),
            first: Template::parse("/{{f.a}}").unwrap(),
            max_rounds: 4,
            on_limit: OnFailure::Continue,
        };
        let repeat = |rounds| {
            Action::Repeat(Repeat {
                rounds,
                offset_step: 100,
                actions: vec![Action::Request(Box::new(step()))],
            })
        };
        let think_time = Think::Uniform {
            from: Duration::ZERO,
            to: Duration::from_secs(1),
        };
        vec![
            Action::Pause(think_time),
            repeat(Rounds::Times(3)),
            repeat(Rounds::While(condition)),
        ]
    }

    #[test]
    fn a_job_arrives_as_it_was_sent() {
        let think_time = Think::Uniform {
            from: Duration::ZERO,
            to: Duration::from_secs(1),
        };
        let values = [
            RowValue::Numbered(vec!["a".to_owned(), String::new()]),
            RowValue::Integer {
                min: i64::MIN,
                max: i64::MAX,
            },
            RowValue::Text { min: 0, max: 9 },
            RowValue::Choice(vec![("x".to_owned(), 1)]),
        ];
        let feed = |rows, order| Feed {
            name: "f".to_owned(),
            columns: vec!["a".to_owned()],
            rows,
            order,
        };
        let mut kept = KeptRows::new(1);
        kept.push([&b"id"[..]]);
        let scenario = Scenario {
            host: "shop".to_owned(),
            steps: vec!["one".to_owned()],
            flows: vec![Flow {
                name: "f".to_owned(),
                weight: 2,
                actions: actions(),
            }],
            feeds: vec![
                feed(Rows::Kept(Arc::new(kept)), FeedOrder::Recent { skew: 2.0 }),
                feed(Rows::Listed(vec![vec!["ü".to_owned()]]), FeedOrder::Once),
                feed(
                    Rows::Generated(GeneratedRows {
                        count: 5,
                        seed: 6,
                        columns: values.map(|value| ("c".to_owned(), value)).to_vec(),
                    }),
                    FeedOrder::Zipf { skew: 1.1 },
                ),
            ],
            run: "r1".to_owned(),
            preparation: Some(Preparation {
                done: 7,
                sessions: 11,
                retries: Retries {
                    max: 3,
                    pause: Duration::from_millis(1),
                    pause_max: Duration::from_secs(1),
                    any_answer: true,
                },
                keeps: vec!["x".to_owned()],
            }),
        };
        let stages = vec![LoadStage {
            target: 3.0,
            duration: Duration::from_secs(2),
        }];
        let users = LoadModel::Users {
            users: 3,
            think_time,
        };
        check(&job(users, stages, What::Scenario(Arc::new(scenario))));
    }

    #[test]
    fn prepared_requests_and_rates_arrive_to_the_last_bit() {
        let prepared = Prepared {
            bytes: (0..=255).collect(),
            slots: vec![
                Slot {
                    at: 3,
                    stamp: Stamp::Key { record: 1 },
                },
                Slot {
                    at: 30,
                    stamp: Stamp::Uuid,
                },
            ],
            records: 2,
            is_head: false,
        };
        let what = What::Requests {
            requests: vec![prepared],
            expect: Expect {
                status: Vec::new(),
                body: BodyCheck::Equals(vec![1]),
            },
            inspect: Some(Inspect {
                count: Some(vec!["items".to_owned()]),
            }),
        };
        for rate in [0.1 + 0.2, f64::MIN_POSITIVE, 1e7 / 3.0] {
            let stage = LoadStage {
                target: rate,
                duration: Duration::from_nanos(1),
            };
            for stages in [vec![], vec![stage]] {
                let model = LoadModel::Open {
                    rate_per_s: rate,
                    arrivals: Arrivals::Poisson,
                    connections: 9,
                    pipelining: 2,
                };
                check(&job(model, stages, what.clone()));
            }
        }
    }

    proptest! {
        #[test]
        fn noise_is_an_error_or_a_message_and_no_panic(
            kind in 0_u8..8, noise in prop::collection::vec(any::<u8>(), 0..400)
        ) {
            let bytes = [&[kind], &noise[..]].concat();
            let _ = decode::<Report>(&bytes);
            let _ = decode::<Order>(&bytes);
            let _ = decode::<Job>(&bytes);
            let _ = read::<Report>(&mut &noise[..]);
        }
    }

    #[test]
    fn a_message_that_is_cut_or_too_long_is_an_error() {
        let mut bytes = Vec::new();
        write(&mut bytes, &Order::Stop).unwrap();
        write(
            &mut bytes,
            &Order::Hello {
                version: "v".to_owned(),
            },
        )
        .unwrap();
        let all = &mut &bytes[..];
        assert!(matches!(read(all).unwrap(), Some(Order::Stop)));
        assert!(matches!(read(all).unwrap(), Some(Order::Hello { version }) if version == "v"));
        assert!(read::<Order>(all).unwrap().is_none());
        for length in 6..bytes.len() {
            let cut = &mut &bytes[5..length];
            assert!(read::<Order>(cut).is_err(), "{length}");
        }
        let too_long = (FRAME_MAX_BYTES + 1).to_le_bytes();
        assert!(read::<Order>(&mut &too_long[..]).is_err());
    }
}
