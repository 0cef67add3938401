// Steve on one address, with the certificate that it is given. Steve's own main program listens on all addresses, and keeps a
// certificate of its own as a secret in the cluster, where it would be listed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/rancher/steve/pkg/server/cli"
)

// How long answers under way may take when it is asked to end.
const shutdownTimeout = 5 * time.Second

func main() {
	kubeconfig := flag.String("kubeconfig", "", "file with the address of the API server and who asks it")
	address := flag.String("listen", "", "HOST:PORT on which it answers")
	certificate := flag.String("tls-cert-file", "", "its certificate, PEM")
	key := flag.String("tls-private-key-file", "", "the key of its certificate, PEM")
	sqlCache := flag.Bool("sql-cache", false, "whether lists are answered from a cache in SQLite")
	version := flag.Bool("version", false, "prints its version and ends")
	flag.Parse()
	if *version {
		fmt.Println(versionText())
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	config := cli.Config{KubeConfig: *kubeconfig}
	handler, err := config.ToServer(ctx, *sqlCache)
	if err != nil {
		log.Fatalf("cannot set up Steve: %v", err)
	}
	server := &http.Server{Addr: *address, Handler: handler}
	go func() {
		<-ctx.Done()
		ending, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
		defer cancel()
		_ = server.Shutdown(ending)
	}()
	if err := server.ListenAndServeTLS(*certificate, *key); !errors.Is(err, http.ErrServerClosed) {
		log.Fatalf("cannot listen on %s: %v", *address, err)
	}
}

func versionText() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if module.Path == "github.com/rancher/steve" {
				return "Steve " + module.Version
			}
		}
	}
	return "Steve of an unknown version"
}
