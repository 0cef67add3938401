//! `GET /random?num=N` with Actix Web: a JSON list of N random numbers, each as a string of six digits.

use actix_web::{App, HttpResponse, HttpServer, get, web::Query};
use serde::Deserialize;

#[derive(Deserialize)]
struct Wanted {
    #[serde(default = "default_num")]
    num: usize,
}

fn default_num() -> usize {
    10
}

#[get("/random")]
async fn random(wanted: Query<Wanted>) -> HttpResponse {
    if wanted.num > 100_000 {
        return HttpResponse::BadRequest().body("num is at most 100000");
    }
    let numbers: Vec<String> = (0..wanted.num)
        .map(|_| format!("{:06}", fastrand::u32(0..1_000_000)))
        .collect();
    HttpResponse::Ok().json(numbers)
}

fn setting<T: std::str::FromStr>(name: &str) -> Option<T> {
    std::env::var(name).ok()?.parse().ok()
}

#[actix_web::main]
async fn main() -> std::io::Result<()> {
    let mut server = HttpServer::new(|| App::new().service(random));
    if let Some(workers) = setting("WORKERS") {
        server = server.workers(workers);
    }
    // It has an effect before `bind` alone.
    if let Some(backlog) = setting("BACKLOG") {
        server = server.backlog(backlog);
    }
    let listen: std::net::IpAddr = setting("LISTEN").expect("LISTEN is set");
    let port = setting("PORT").expect("PORT is set");
    server.bind((listen, port))?.run().await
}
