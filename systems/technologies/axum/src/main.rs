//! `GET /random?num=N` with axum: a JSON list of N random numbers, each as a string of six digits.

use std::{env, io, net::Ipv4Addr, str::FromStr};

use axum::{Json, Router, extract::Query, http::StatusCode, routing::get, serve::ListenerExt};
use serde::Deserialize;
use tokio::{net::TcpSocket, runtime::Builder};

/// That of `tokio::net::TcpListener::bind`.
const BACKLOG: u32 = 1024;

#[derive(Deserialize)]
struct Wanted {
    #[serde(default = "default_num")]
    num: usize,
}

fn default_num() -> usize {
    10
}

async fn random(
    Query(wanted): Query<Wanted>,
) -> Result<Json<Vec<String>>, (StatusCode, &'static str)> {
    if wanted.num > 100_000 {
        return Err((StatusCode::BAD_REQUEST, "num is at most 100000"));
    }
    let number = |_| format!("{:06}", fastrand::u32(0..1_000_000));
    Ok(Json((0..wanted.num).map(number).collect()))
}

fn setting<T: FromStr>(name: &str) -> Option<T> {
    env::var(name).ok()?.parse().ok()
}

async fn serve() -> io::Result<()> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    let listen: Ipv4Addr = setting("LISTEN").expect("LISTEN is set");
    let port: u16 = setting("PORT").expect("PORT is set");
    socket.bind((listen, port).into())?;
    let listener = socket.listen(setting("BACKLOG").unwrap_or(BACKLOG))?;
    let app = Router::new().route("/random", get(random));
    if setting("TUNED") == Some(true) {
        let nodelay = listener.tap_io(|stream| stream.set_nodelay(true).expect("TCP_NODELAY"));
        axum::serve(nodelay, app).await
    } else {
        axum::serve(listener, app).await
    }
}

fn main() -> io::Result<()> {
    let mut runtime = Builder::new_multi_thread();
    if let Some(workers) = setting("WORKERS") {
        runtime.worker_threads(workers);
    }
    runtime.enable_all().build()?.block_on(serve())
}
