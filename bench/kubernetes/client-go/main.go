// The peer of bench/kubernetes/run: gets of one config map, or lists of all of them, by client-go, one after the other in each worker.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"log"
	"os"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

func main() {
	host := flag.String("server", "", "https://HOST:PORT of the API server")
	ca := flag.String("ca", "", "authority to trust, PEM")
	certificate := flag.String("cert", "", "certificate of the client, PEM")
	key := flag.String("key", "", "its key, PEM")
	what := flag.String("what", "get", "get or list")
	requests := flag.Int("requests", 1000, "requests in all")
	workers := flag.Int("workers", 1, "workers, each with a request at a time")
	flag.Parse()
	// A negative QPS: no limit of the client's own.
	config := &rest.Config{Host: *host, QPS: -1, TLSClientConfig: rest.TLSClientConfig{CAFile: *ca, CertFile: *certificate, KeyFile: *key}}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		log.Fatal(err)
	}
	maps := client.CoreV1().ConfigMaps("bench")
	send := func() error {
		if *what == "list" {
			_, err := maps.List(context.Background(), metav1.ListOptions{})
			return err
		}
		_, err := maps.Get(context.Background(), "object", metav1.GetOptions{})
		return err
	}
	if err := send(); err != nil {
		log.Fatal(err)
	}
	times := make([]time.Duration, *requests)
	failed := make([]int, *workers)
	var all sync.WaitGroup
	begun := time.Now()
	for worker := range *workers {
		all.Go(func() {
			for request := worker; request < *requests; request += *workers {
				sent := time.Now()
				if err := send(); err != nil {
					failed[worker]++
				}
				times[request] = time.Since(sent)
			}
		})
	}
	all.Wait()
	seconds := time.Since(begun).Seconds()
	slices.Sort(times)
	sum := 0
	for _, one := range failed {
		sum += one
	}
	at := func(share float64) float64 { return float64(times[int(share*float64(*requests-1))].Nanoseconds()) / 1e3 }
	result := map[string]float64{"failed": float64(sum), "per_s": float64(*requests) / seconds, "p50_us": at(0.5), "p99_us": at(0.99)}
	if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
		log.Fatal(err)
	}
}
