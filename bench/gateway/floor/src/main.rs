//! The least that one would write: hyper takes a request, librdkafka gathers its body with others for 1 ms and sends them, and 204
//! is said when the broker has acknowledged it (idempotent, acks=all). Nothing is checked: neither path, nor method, nor body.
//!
//! `floor ADDRESS BROKERS TOPIC`; one thread beside librdkafka's own.

use std::{convert::Infallible, error::Error};

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::{Request, Response, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use rdkafka::{
    ClientConfig,
    producer::{FutureProducer, FutureRecord},
    util::Timeout,
};
use tokio::net::TcpListener;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, brokers, topic] = arguments.as_slice() else {
        return Err("usage: floor ADDRESS BROKERS TOPIC".into());
    };
    let producer: FutureProducer = ClientConfig::new()
        .set("bootstrap.servers", brokers)
        .set("enable.idempotence", "true")
        .set("acks", "all")
        .set("linger.ms", "1")
        .create()?;
    let listener = TcpListener::bind(address).await?;
    println!("listening on http://{}", listener.local_addr()?);
    tokio::task::LocalSet::new()
        .run_until(async {
            loop {
                let (stream, _) = listener.accept().await?;
                stream.set_nodelay(true)?;
                let (producer, topic) = (producer.clone(), topic.clone());
                tokio::task::spawn_local(async move {
                    let serve = service_fn(|request| put(request, &producer, &topic));
                    // A client that hangs up is no business of a floor's.
                    let _ = http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), serve)
                        .await;
                });
            }
        })
        .await
}

async fn put(
    request: Request<Incoming>,
    producer: &FutureProducer,
    topic: &str,
) -> Result<Response<Empty<Bytes>>, Infallible> {
    let status = match request.into_body().collect().await {
        Ok(body) => {
            let body = body.to_bytes();
            let record = FutureRecord::<(), [u8]>::to(topic).payload(&body);
            match producer.send(record, Timeout::Never).await {
                Ok(_) => 204,
                Err(_) => 503,
            }
        }
        Err(_) => 400,
    };
    let mut response = Response::new(Empty::new());
    *response.status_mut() = hyper::StatusCode::from_u16(status).expect("one of three");
    Ok(response)
}
