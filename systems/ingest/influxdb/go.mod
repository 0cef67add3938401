module waggle/influxdb

go 1.23.0

require github.com/influxdata/influxdb/v2 v2.7.12

replace github.com/nats-io/nats-streaming-server v0.11.2 => github.com/influxdata/nats-streaming-server v0.11.3-0.20201112040610-c277f7560803
