// delayline is a wire with delay, jitter and loss between a network interface and a tap, in user space: not every kernel has netem.
//
// Usage: delayline INTERFACE TAP DELAY [JITTER [LOSS]]
//
// Frames that arrive at the interface leave at the tap, and the other way round, each DELAY later and up to JITTER more, in order; the
// share LOSS of them is lost. The interface must have neither bridge nor address, and both ends of it no offloads: what arrives must be
// whole frames with their checksums.
package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

// Frames in flight in each direction; more are dropped.
const inFlightMax = 10_000

// A frame is due at the other end at an instant.
type frame struct {
	due   time.Time
	bytes []byte
}

// A wire is what happens to each frame.
type wire struct {
	delay  time.Duration
	jitter time.Duration
	loss   float64
}

func main() {
	if len(os.Args) < 4 || len(os.Args) > 6 {
		fmt.Fprintln(os.Stderr, "usage: delayline INTERFACE TAP DELAY [JITTER [LOSS]]")
		os.Exit(2)
	}
	w := parse(os.Args[3:])
	port, address := openPort(os.Args[1])
	tap := openTap(os.Args[2])
	receive := func(buffer []byte) (int, error) {
		count, _, err := syscall.Recvfrom(port, buffer, 0)
		return count, err
	}
	send := func(bytes []byte) { _ = syscall.Sendto(port, bytes, 0, address) }
	read := func(buffer []byte) (int, error) { return syscall.Read(tap, buffer) }
	write := func(bytes []byte) { _, _ = syscall.Write(tap, bytes) }
	go w.carry(receive, write)
	w.carry(read, send)
}

func parse(arguments []string) wire {
	var w wire
	var err error
	w.delay, err = time.ParseDuration(arguments[0])
	must("the delay", err)
	if len(arguments) > 1 {
		w.jitter, err = time.ParseDuration(arguments[1])
		must("the jitter", err)
	}
	if len(arguments) > 2 {
		w.loss, err = strconv.ParseFloat(arguments[2], 64)
		must("the loss", err)
	}
	return w
}

// One direction, until the end of the process. What the far end does not take is lost, as on a wire.
func (w wire) carry(read func([]byte) (int, error), write func([]byte)) {
	frames := make(chan frame, inFlightMax)
	go deliver(frames, write)
	buffer := make([]byte, 1<<16)
	var last time.Time
	for {
		count, err := read(buffer)
		if err == syscall.EINTR || err == syscall.ENETDOWN || err == syscall.EIO {
			// EIO: the tap is not up yet.
			time.Sleep(time.Millisecond)
			continue
		}
		must("a frame", err)
		if count == 0 || rand.Float64() < w.loss {
			continue
		}
		due := time.Now().Add(w.delay)
		if w.jitter > 0 {
			due = due.Add(rand.N(w.jitter))
		}
		if due.Before(last) {
			due = last
		}
		select {
		case frames <- frame{due, append([]byte(nil), buffer[:count]...)}:
			last = due
		default:
		}
	}
}

func deliver(frames <-chan frame, write func([]byte)) {
	for next := range frames {
		time.Sleep(time.Until(next.due))
		write(next.bytes)
	}
}

// Linux's struct ifreq: a name, and what a call asks or answers.
type request struct {
	name  [16]byte
	value [24]byte
}

func control(fd int, code uintptr, name string) *request {
	var r request
	copy(r.name[:15], name)
	if code == syscall.TUNSETIFF {
		*(*uint16)(unsafe.Pointer(&r.value)) = syscall.IFF_TAP | syscall.IFF_NO_PI
	}
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), code, uintptr(unsafe.Pointer(&r))); errno != 0 {
		must(name, errno)
	}
	return &r
}

func openTap(name string) int {
	fd, err := syscall.Open("/dev/net/tun", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	must("/dev/net/tun", err)
	control(fd, syscall.TUNSETIFF, name)
	return fd
}

func openPort(name string) (int, *syscall.SockaddrLinklayer) {
	const all = 0x0300              // ETH_P_ALL in network order
	const packetIgnoreOutgoing = 23 // of SOL_PACKET: what is sent here is not received here
	const solPacket = 263
	fd, err := syscall.Socket(syscall.AF_PACKET, syscall.SOCK_RAW|syscall.SOCK_CLOEXEC, 0)
	must("a socket", err)
	must("a socket", syscall.SetsockoptInt(fd, solPacket, packetIgnoreOutgoing, 1))
	must("a socket", syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_RCVBUFFORCE, 16<<20))
	index := *(*int32)(unsafe.Pointer(&control(fd, syscall.SIOCGIFINDEX, name).value))
	address := &syscall.SockaddrLinklayer{Ifindex: int(index), Protocol: all}
	must(name, syscall.Bind(fd, address))
	return fd, address
}

func must(what string, err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "delayline: %s: %v\n", what, err)
		os.Exit(1)
	}
}
