// GET /random?num=N with Go's net/http: a JSON list of N random numbers, each as a string of six digits.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"syscall"
)

func random(w http.ResponseWriter, r *http.Request) {
	num := 10
	if query := r.URL.Query(); query.Has("num") {
		var err error
		num, err = strconv.Atoi(query.Get("num"))
		if err != nil || num < 0 || num > 100_000 {
			http.Error(w, "num is a number from 0 to 100000", http.StatusBadRequest)
			return
		}
	}
	numbers := make([]string, num)
	for i := range numbers {
		numbers[i] = fmt.Sprintf("%06d", rand.IntN(1_000_000))
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(numbers)
}

// The package net has no setting for it; a second listen of the same socket replaces the first one's backlog.
func setBacklog(listener *net.TCPListener, backlog int) error {
	socket, err := listener.SyscallConn()
	if err != nil {
		return err
	}
	var failure error
	err = socket.Control(func(fd uintptr) { failure = syscall.Listen(int(fd), backlog) })
	if err != nil {
		return err
	}
	return failure
}

func main() {
	if workers, err := strconv.Atoi(os.Getenv("WORKERS")); err == nil {
		runtime.GOMAXPROCS(workers)
	}
	listener, err := net.Listen("tcp4", os.Getenv("LISTEN")+":"+os.Getenv("PORT"))
	if err != nil {
		log.Fatal(err)
	}
	if backlog, err := strconv.Atoi(os.Getenv("BACKLOG")); err == nil {
		if err := setBacklog(listener.(*net.TCPListener), backlog); err != nil {
			log.Fatal(err)
		}
	}
	http.HandleFunc("GET /random", random)
	log.Fatal(http.Serve(listener, nil))
}
