package check

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"debug/elf"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// Libraries of the base image: those of Debian's libc6 and libgcc-s1. OpenSSL is the machine's in the program of the tests, and built into
// that of the image (TestImageHasItsOwnOpenSSL).
var librariesOfBase = []string{"ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1", "libc.so.6", "libcrypto.so.3", "libdl.so.2", "libgcc_s.so.1", "libm.so.6", "libpthread.so.0", "librt.so.1", "libssl.so.3"}

func TestLibraries(t *testing.T) {
	program, err := elf.Open(gateway(t))
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	needed, err := program.ImportedLibraries()
	if err != nil {
		t.Fatal(err)
	}
	for _, library := range needed {
		if !slices.Contains(librariesOfBase, library) {
			t.Errorf("the program needs %s, which the image does not have", library)
		}
	}
}

// With --help at the end, the program parses its flags and ends: an unknown flag or a wrong value is an error.
func TestFlagsExist(t *testing.T) {
	eachDeployment(t, func(t *testing.T, _ *Objects, deployed *appsv1.Deployment) {
		arguments := slices.Clone(deployed.Spec.Template.Spec.Containers[0].Args)
		output, err := exec.Command(gateway(t), append(arguments, "--help")...).CombinedOutput()
		if err != nil {
			t.Errorf("%q: %v\n%s", arguments, err, output)
		}
	})
}

func TestUnknownFlagsAreSeen(t *testing.T) {
	for _, flag := range []string{"--no-such-flag=1", "--workers=none"} {
		if err := exec.Command(gateway(t), "serve", flag, "--help").Run(); err == nil {
			t.Errorf("serve %s --help ends well", flag)
		}
	}
}

// Each pod's program starts with the arguments of its Deployment, answers its liveness probe although neither Kafka nor
// InfluxDB is running, and ends within the grace period.
func TestProgramsStart(t *testing.T) {
	eachDeployment(t, func(t *testing.T, _ *Objects, deployed *appsv1.Deployment) {
		pod := deployed.Spec.Template.Spec
		container := pod.Containers[0]
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, "token"), []byte("token-of-the-test"), 0o400); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "clients.yaml"), []byte("clients: []\n"), 0o400); err != nil {
			t.Fatal(err)
		}
		writeCertificate(t, folder)
		admin := freeAddress(t)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		command := exec.CommandContext(ctx, gateway(t), onThisMachine(container, folder, admin)...)
		command.Stderr = os.Stderr
		out, err := command.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		if listening(out) == "" {
			t.Fatalf("it ended before it listened: %v", command.Wait())
		}
		// Probes go to the port of the admin calls.
		address := "http://" + admin
		if status := get(t, ctx, address+container.LivenessProbe.HTTPGet.Path); status != http.StatusOK {
			t.Errorf("liveness probe: expected 200, found %d", status)
		}
		expected := http.StatusServiceUnavailable
		if strings.Contains(strings.Join(container.Args, " "), "--backend=embedded") {
			expected = http.StatusOK
		}
		// The gateway knows that Kafka is unavailable after its first attempt to reach it.
		for get(t, ctx, address+container.ReadinessProbe.HTTPGet.Path) != expected {
			time.Sleep(100 * time.Millisecond)
		}
		grace := time.Duration(*pod.TerminationGracePeriodSeconds) * time.Second
		stop(t, command, grace)
	})
}

func stop(t *testing.T, command *exec.Cmd, grace time.Duration) {
	t.Helper()
	if err := command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(grace):
		t.Errorf("it goes on after %v", grace)
		_ = command.Process.Kill()
		<-ended
	}
}

// An address on which nothing listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// The arguments of a container, with folders and addresses of the machine that the test runs on.
func onThisMachine(container corev1.Container, folder, admin string) []string {
	instead := map[string]string{
		"listen":                         "127.0.0.1:0",
		"admin-listen":                   admin,
		"influxdb-token-file":            filepath.Join(folder, "token"),
		"clients":                        filepath.Join(folder, "clients.yaml"),
		"store":                          filepath.Join(folder, "store.db"),
		"kafka-brokers":                  "127.0.0.1:1",
		"kafka-password-file":            filepath.Join(folder, "token"),
		"kafka-token-file":               filepath.Join(folder, "token"),
		"kafka-token-client-secret-file": filepath.Join(folder, "token"),
		"kafka-token-ca":                 filepath.Join(folder, "certificate"),
		"kafka-token-url":                "https://127.0.0.1:1/token",
		"kafka-ca":                       filepath.Join(folder, "certificate"),
		"kafka-certificate":              filepath.Join(folder, "certificate"),
		"kafka-key":                      filepath.Join(folder, "key"),
		"influxdb-ca":                    filepath.Join(folder, "certificate"),
		"tls-cert":                       filepath.Join(folder, "certificate"),
		"tls-key":                        filepath.Join(folder, "key"),
		"tls-client-ca":                  filepath.Join(folder, "certificate"),
		"workers":                        "1",
	}
	arguments := []string{}
	for _, argument := range container.Args {
		name, value, _ := strings.Cut(strings.TrimPrefix(argument, "--"), "=")
		if name == "influxdb-url" {
			scheme, _, _ := strings.Cut(value, "://")
			argument = "--influxdb-url=" + scheme + "://127.0.0.1:1"
		}
		if value, known := instead[name]; known {
			argument = fmt.Sprintf("--%s=%s", name, value)
		}
		arguments = append(arguments, argument)
	}
	return arguments
}

// A certificate that signs itself, and its key.
func writeCertificate(t *testing.T, folder string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	certificate, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{
		"certificate": {Type: "CERTIFICATE", Bytes: certificate},
		"key":         {Type: "PRIVATE KEY", Bytes: private},
	} {
		if err := os.WriteFile(filepath.Join(folder, name), pem.EncodeToMemory(block), 0o400); err != nil {
			t.Fatal(err)
		}
	}
}

// The address that a program prints; empty if it ends before that.
func listening(out interface{ Read([]byte) (int, error) }) string {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if _, address, found := strings.Cut(lines.Text(), "listening on "); found {
			return strings.TrimSuffix(strings.Fields(address)[0], "/")
		}
	}
	return ""
}

func get(t *testing.T, ctx context.Context, url string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	return answer.StatusCode
}

func gateway(t *testing.T) string {
	t.Helper()
	return setting(t, "WAGGLE_CHECK_GATEWAY", "the program waggle-gateway")
}

func drainSeconds(t *testing.T, container corev1.Container) int64 {
	t.Helper()
	drain, err := time.ParseDuration(flag(container, "drain-timeout"))
	if err != nil {
		t.Fatal(err)
	}
	return int64(drain.Seconds())
}

// The value of a container's flag; empty if it has none.
func flag(container corev1.Container, name string) string {
	for _, argument := range container.Args {
		if value, found := strings.CutPrefix(argument, "--"+name+"="); found {
			return value
		}
	}
	return ""
}
