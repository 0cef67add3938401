//! The latest reading of a series, of acknowledged records.

use super::cluster::shared_broker;
use crate::{
    latest::fetch_latest,
    support::{Gateway, kafka_command},
};

#[test]
fn the_latest_reading_is_visible_after_its_204() {
    let kafka = shared_broker();
    let flags = [
        "--workers=2",
        "--kafka-partitions=3",
        "--kafka-delivery-timeout=1m",
    ];
    let gateway = Gateway::start_by(&mut kafka_command(&kafka.brokers(), &flags));
    assert_eq!(fetch_latest(&gateway, "latest", "m,a=b"), "404");
    for time in 0..20 {
        let body = format!("m,a=b f=\"a {time}\" {time}\nm,a=b f=1 -1\nn,s={time} f=1 {time}");
        assert_eq!(gateway.put("latest", &body).status, 204);
        assert_eq!(
            fetch_latest(&gateway, "latest", "m,a=b"),
            format!("m,a=b f=\"a {time}\" {time}\n")
        );
    }
    assert_eq!(gateway.put("latest", "m,a=b f=9 99\nm,a=b f=").status, 400);
    assert_eq!(
        fetch_latest(&gateway, "latest", "m,a=b"),
        "m,a=b f=\"a 19\" 19\n"
    );
    let all = gateway.get("/api/v1/topics/latest/latest?limit=100");
    assert_eq!((all.status, all.body.lines().count()), (200, 21));
    assert_eq!(all.header("waggle-next"), None);
    // Another gateway has only what it wrote itself.
    let other = Gateway::start_by(&mut kafka_command(&kafka.brokers(), &flags));
    assert_eq!(fetch_latest(&other, "latest", "m,a=b"), "404");
    assert_eq!(other.put("latest", "m,a=b f=2 2").status, 204);
    assert_eq!(fetch_latest(&other, "latest", "m,a=b"), "m,a=b f=2 2\n");
}
