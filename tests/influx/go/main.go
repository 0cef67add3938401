// Writes the records of the test `influx::clients` by the official client for Go: `write URL TOKEN TOPIC RECORDS`.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	influxdb2 "github.com/influxdata/influxdb-client-go/v2"
	"github.com/influxdata/influxdb-client-go/v2/api/http"
	"github.com/influxdata/influxdb-client-go/v2/api/write"
)

const batch = 100

func main() {
	if err := run(os.Args[1], os.Args[2], os.Args[3], os.Args[4]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(url, token, topic, records string) error {
	count, err := strconv.Atoi(records)
	if err != nil {
		return err
	}
	ctx := context.Background()
	options := influxdb2.DefaultOptions().SetUseGZip(true).SetPrecision(time.Nanosecond)
	client := influxdb2.NewClientWithOptions(url, token, options)
	defer client.Close()
	if ok, err := client.Ping(ctx); err != nil || !ok {
		return fmt.Errorf("ping: %v %v", ok, err)
	}
	health, err := client.Health(ctx)
	if err != nil || health.Status != "pass" {
		return fmt.Errorf("health: %v %v", health, err)
	}
	api := client.WriteAPIBlocking("any", topic)
	for start := 0; start < count; start += batch {
		var points []*write.Point
		for i := start; i < min(start+batch, count); i++ {
			points = append(points, point(i))
		}
		if err := api.WritePoint(ctx, points...); err != nil {
			return err
		}
	}
	if err := expect(api.WriteRecord(ctx, "reading value="), 400, "invalid"); err != nil {
		return err
	}
	stranger := influxdb2.NewClientWithOptions(url, "wgw_unknown", options)
	defer stranger.Close()
	err = stranger.WriteAPIBlocking("any", topic).WritePoint(ctx, point(0))
	return expect(err, 401, "unauthorized")
}

func point(i int) *write.Point {
	return influxdb2.NewPointWithMeasurement("reading").
		AddTag("machine", fmt.Sprintf("press %d", i%5)).
		AddField("value", float64(i)+0.5).
		AddField("count", i).
		AddField("text", fmt.Sprintf(`said "%d", ok`, i)).
		AddField("ok", i%2 == 0).
		SetTime(time.Unix(0, 1_700_000_000_000_000_000+int64(i)*1000))
}

// expect is nil if the error is the gateway's, as the client reads it.
func expect(err error, status int, code string) error {
	var refused *http.Error
	if !errors.As(err, &refused) || refused.StatusCode != status || refused.Code != code || refused.Message == "" {
		return fmt.Errorf("expected %d %s, found %v", status, code, err)
	}
	return nil
}
