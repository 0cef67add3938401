package check

import (
	"debug/elf"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Libraries that the image's base brings: those of Debian's libc6 and libgcc-s1.
var librariesOfBase = []string{"ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1", "libc.so.6", "libdl.so.2", "libgcc_s.so.1", "libm.so.6", "libpthread.so.0", "librt.so.1"}

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
