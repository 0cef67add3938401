//! The delay until records of a sink can be queried: writes lines to Kafka at a constant rate, ten per second with a mark, and
//! polls InfluxDB for the marked ones. For `bench/gateway/delay`; studies have probes for this.
//!
//! `cargo run --release -p waggle-sink --example sink_delay -- --kafka-brokers A --topic T --partitions 4 --influxdb HOST:PORT
//! --org O --bucket B` with the token in `INFLUX_TOKEN`. The topic must exist.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    io::{Read, Write},
    net::TcpStream,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant, SystemTime},
};

use clap::Parser;
use rdkafka::{
    ClientConfig,
    error::{KafkaError, RDKafkaErrorCode},
    producer::{BaseRecord, DefaultProducerContext, Producer, ThreadedProducer},
};

/// Interval of the sender.
const TURN: Duration = Duration::from_millis(2);
/// Interval of queries. Each costs InfluxDB a millisecond or more of CPU time, which adds to the delay.
const ASK_EVERY: Duration = Duration::from_millis(20);
/// Interval of marked lines.
const MARK_EVERY: Duration = Duration::from_millis(100);
/// Timeout of the last marked lines.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Parser)]
struct Arguments {
    #[arg(long)]
    kafka_brokers: String,
    #[arg(long)]
    topic: String,
    #[arg(long, default_value_t = 1)]
    partitions: i32,
    /// Host and port
    #[arg(long)]
    influxdb: String,
    #[arg(long)]
    org: String,
    #[arg(long)]
    bucket: String,
    /// Lines per second
    #[arg(long, default_value_t = 50_000)]
    rate: u32,
    /// Lines per message
    #[arg(long, default_value_t = 10)]
    lines: u32,
    #[arg(long, default_value_t = 30)]
    seconds: u64,
}

/// Marked lines by key, with their sent and seen instants.
#[derive(Default)]
struct Marks {
    sent: BTreeMap<u64, Instant>,
    delays: Vec<Duration>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments = Arguments::parse();
    let token = std::env::var("INFLUX_TOKEN")?;
    let producer: ThreadedProducer<DefaultProducerContext> = ClientConfig::new()
        .set("bootstrap.servers", &arguments.kafka_brokers)
        .set("enable.idempotence", "true")
        .set("linger.ms", "1")
        .create()?;
    let (marks, over) = (Mutex::new(Marks::default()), AtomicBool::new(false));
    let run = format!("{:x}", nanoseconds());
    let sent = thread::scope(|scope| {
        let asking = scope.spawn(|| ask(&arguments, &token, &run, &marks, &over));
        let sent = send(&arguments, &producer, &run, &marks);
        over.store(true, Ordering::Relaxed);
        asking.join().map_err(|_| "asking ended by a panic")??;
        sent
    })?;
    producer.flush(PATIENCE)?;
    report(sent, &marks)
}

/// Sends for the given time; returns the number of lines and the time it took.
fn send(
    arguments: &Arguments,
    producer: &ThreadedProducer<DefaultProducerContext>,
    run: &str,
    marks: &Mutex<Marks>,
) -> Result<(u64, Duration), Box<dyn std::error::Error>> {
    let begun = Instant::now();
    let (mut sent, mut key, mut partition, mut marked) = (0_u64, 0, 0, begun);
    let mut text = String::new();
    while begun.elapsed() < Duration::from_secs(arguments.seconds) {
        let due = (begun.elapsed().as_secs_f64() * f64::from(arguments.rate)) as u64;
        while sent < due {
            text.clear();
            let moment = nanoseconds();
            for line in 0..u64::from(arguments.lines) {
                let (series, time) = ((sent + line) % 1000, moment + line);
                writeln!(
                    text,
                    "delay,run={run},host=h{series} cpu=12.5,memory={series}i,waggle_key={}i {time}",
                    sent + line
                )?;
            }
            let mut mark = None;
            if marked.elapsed() >= MARK_EVERY {
                marked = Instant::now();
                key += 1;
                writeln!(text, "mark,run={run} waggle_key={key}i {moment}")?;
                mark = Some((key, marked));
            }
            put(producer, &arguments.topic, partition, text.trim_end())?;
            if let Some((key, moment)) = mark {
                marks
                    .lock()
                    .map_err(|_| "a panic")?
                    .sent
                    .insert(key, moment);
            }
            partition = (partition + 1) % arguments.partitions;
            sent += u64::from(arguments.lines);
        }
        thread::sleep(TURN);
    }
    Ok((sent, begun.elapsed()))
}

fn put(
    producer: &ThreadedProducer<DefaultProducerContext>,
    topic: &str,
    partition: i32,
    text: &str,
) -> Result<(), KafkaError> {
    loop {
        let record = BaseRecord::<(), str>::to(topic)
            .partition(partition)
            .payload(text);
        match producer.send(record) {
            Ok(()) => return Ok(()),
            Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), _)) => {
                thread::sleep(TURN)
            }
            Err((error, _)) => return Err(error),
        }
    }
}

/// Polls for marked lines until all have been seen after the last was sent, or until [`PATIENCE`] is over.
fn ask(
    arguments: &Arguments,
    token: &str,
    run: &str,
    marks: &Mutex<Marks>,
    over: &AtomicBool,
) -> Result<(), String> {
    let mut ended: Option<Instant> = None;
    loop {
        let lowest = marks
            .lock()
            .map_err(|_| "a panic")?
            .sent
            .keys()
            .next()
            .copied();
        if over.load(Ordering::Relaxed) {
            let since = *ended.get_or_insert_with(Instant::now);
            if lowest.is_none() || since.elapsed() > PATIENCE {
                return Ok(());
            }
        }
        if let Some(lowest) = lowest {
            let keys = query(arguments, token, run, lowest).map_err(|error| error.to_string())?;
            let now = Instant::now();
            let mut marks = marks.lock().map_err(|_| "a panic")?;
            for key in keys {
                if let Some(sent) = marks.sent.remove(&key) {
                    marks.delays.push(now - sent);
                }
            }
        }
        thread::sleep(ASK_EVERY);
    }
}

fn query(arguments: &Arguments, token: &str, run: &str, lowest: u64) -> std::io::Result<Vec<u64>> {
    let flux = format!(
        "from(bucket: \"{}\") |> range(start: -2m) |> filter(fn: (r) => r._measurement == \"mark\" and r.run == \"{run}\" and r._field == \"waggle_key\") |> filter(fn: (r) => r._value >= {lowest}) |> keep(columns: [\"_value\"])",
        arguments.bucket
    );
    let mut stream = TcpStream::connect(&arguments.influxdb)?;
    write!(
        stream,
        "POST /api/v2/query?org={} HTTP/1.0\r\nHost: {}\r\nAuthorization: Token {token}\r\nAccept: application/csv\r\n\
         Content-Type: application/vnd.flux\r\nContent-Length: {}\r\n\r\n{flux}",
        arguments.org,
        arguments.influxdb,
        flux.len()
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let values = answer.lines().filter_map(|line| line.rsplit(',').next());
    Ok(values
        .filter_map(|value| value.trim().parse().ok())
        .collect())
}

fn report(
    (sent, took): (u64, Duration),
    marks: &Mutex<Marks>,
) -> Result<(), Box<dyn std::error::Error>> {
    let mut marks = marks.lock().map_err(|_| "a panic")?;
    marks.delays.sort_unstable();
    let delays = &marks.delays;
    let at_ms = |share: f64| {
        let index = (delays.len() as f64 * share) as usize;
        let delay = delays.get(index.min(delays.len().saturating_sub(1)));
        delay.map_or(f64::NAN, |delay| delay.as_secs_f64() * 1e3)
    };
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "sent={sent} per_s={:.0} unseen={} p50_ms={:.1} p90_ms={:.1} p99_ms={:.1} max_ms={:.1}",
        sent as f64 / took.as_secs_f64(),
        marks.sent.len(),
        at_ms(0.5),
        at_ms(0.9),
        at_ms(0.99),
        at_ms(1.0)
    )?;
    Ok(())
}

fn nanoseconds() -> u64 {
    let since = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
