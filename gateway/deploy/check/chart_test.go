package check

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
)

const (
	chartFolder    = "../chart/waggle-ingest"
	examplesFolder = "../examples"
)

var newest = chartutil.KubeVersion{Version: "v1.34.0", Major: "1", Minor: "34"}

// The objects of each example.
var made = map[string][]string{
	"least.yaml": {
		"Deployment gateway", "Deployment sink", "HorizontalPodAutoscaler gateway", "PodDisruptionBudget gateway",
		"PodDisruptionBudget sink", "Service gateway", "ServiceAccount",
	},
	"embedded.yaml": {
		"Deployment gateway", "PersistentVolumeClaim store", "PodDisruptionBudget gateway", "Service gateway", "ServiceAccount",
	},
	"backlog.yaml": {
		"Deployment gateway", "Deployment sink", "HorizontalPodAutoscaler sink", "PodDisruptionBudget gateway",
		"PodDisruptionBudget sink", "Service gateway", "ServiceAccount",
	},
	"keda.yaml": {
		"Deployment gateway", "Deployment sink", "HorizontalPodAutoscaler gateway", "PodDisruptionBudget gateway",
		"PodDisruptionBudget sink", "ScaledObject sink", "Service gateway", "ServiceAccount",
	},
	"secured.yaml": {
		"Deployment gateway", "Deployment sink", "HorizontalPodAutoscaler gateway", "NetworkPolicy gateway", "NetworkPolicy sink",
		"PodDisruptionBudget gateway", "PodDisruptionBudget sink", "ScaledObject sink", "Service gateway", "ServiceAccount",
	},
	"token.yaml": {
		"Deployment gateway", "Deployment sink", "HorizontalPodAutoscaler gateway", "PodDisruptionBudget gateway",
		"PodDisruptionBudget sink", "Service gateway", "ServiceAccount",
	},
	"token-endpoint.yaml": {
		"Deployment gateway", "Deployment sink", "HorizontalPodAutoscaler gateway", "NetworkPolicy gateway", "NetworkPolicy sink",
		"PodDisruptionBudget gateway", "PodDisruptionBudget sink", "Service gateway", "ServiceAccount",
	},
	"everything.yaml": {
		"Deployment gateway", "Deployment sink", "HorizontalPodAutoscaler gateway", "NetworkPolicy gateway", "NetworkPolicy sink",
		"PodDisruptionBudget gateway", "PodDisruptionBudget sink", "ScaledObject sink", "Service gateway", "Service sink",
		"ServiceAccount", "ServiceMonitor gateway", "ServiceMonitor sink",
	},
}

func TestLint(t *testing.T) {
	for file, values := range examples(t) {
		t.Run(file, func(t *testing.T) {
			linter := lint.AllWithKubeVersion(chartFolder, values(), namespace, &newest)
			for _, message := range linter.Messages {
				// As `helm lint --strict`; a missing icon is only information.
				if message.Severity >= support.WarningSev {
					t.Error(message)
				}
			}
		})
	}
}

func TestMade(t *testing.T) {
	for file, values := range examples(t) {
		t.Run(file, func(t *testing.T) {
			var found []string
			for _, manifest := range render(t, values()) {
				found = append(found, kindAndName(t, manifest))
			}
			slices.Sort(found)
			if !slices.Equal(found, made[file]) {
				t.Errorf("expected\n%q, found\n%q", made[file], found)
			}
		})
	}
}

func TestTakenByTheCluster(t *testing.T) {
	cluster := newCluster(t)
	for file, values := range examples(t) {
		t.Run(file, func(t *testing.T) {
			for _, manifest := range render(t, values()) {
				if err := cluster.Create(manifest.Text); err != nil {
					t.Errorf("%s: %v", manifest.File, err)
				}
			}
		})
	}
}

// The cluster of the test must refuse wrong objects.
func TestMistakesAreSeenByTheCluster(t *testing.T) {
	cluster := newCluster(t)
	check := func(template, from, to, says string) {
		t.Helper()
		for _, manifest := range render(t, example(t, "everything.yaml")()) {
			if filepath.Base(manifest.File) != template || !strings.Contains(string(manifest.Text), from) {
				continue
			}
			err := cluster.Create([]byte(strings.Replace(string(manifest.Text), from, to, 1)))
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%s with %q: expected to be told %q, found %v", template, to, says, err)
			}
			return
		}
		t.Errorf("%s has no %q", template, from)
	}
	check("gateway.yaml", "runAsNonRoot: true", "runAsNonroot: true", "unknown field")
	check("gateway.yaml", "runAsNonRoot: true", "runAsNonRoot: sometimes", "runAsNonRoot")
	check("gateway.yaml", "path: /healthz, port: admin", "path: /healthz, port: 0", "must be between 1 and 65535")
	check("gateway.yaml", "name: http, containerPort", "name: http_port, containerPort", "Invalid value")
	check("sink.yaml", "matchLabels:\n      app.kubernetes.io/name: waggle", "matchLabels:\n      app.kubernetes.io/name: wiggle", "selector")
	check("sink.yaml", "name: influxdb, mountPath", "name: influx, mountPath", "Not found")
	check("gateway-autoscaler.yaml", "minReplicas: 3", "minReplicas: 13", "must be greater than or equal to")
	check("sink-keda.yaml", "type: kafka", "kind: kafka", "unknown fields")
	check("sink-keda.yaml", "maxReplicaCount: 12", "maxReplicaCount: many", "maxReplicaCount")
	check("service-monitors.yaml", "path: /metrics, interval: 10s", "path: /metrics, interval: often", "interval")
}

func TestKubernetesTooOld(t *testing.T) {
	read, err := LoadChart(chartFolder)
	if err != nil {
		t.Fatal(err)
	}
	for version, expected := range map[string]bool{"v1.29.9": false, "v1.30.0": true, "v1.34.1-gke.12": true} {
		if taken := chartutil.IsCompatibleRange(read.chart.Metadata.KubeVersion, version); taken != expected {
			t.Errorf("Kubernetes %s: expected %v, found %v", version, expected, taken)
		}
	}
}

// KEDA's definition does not define the fields of a trigger: Kafka's are in its code.
func TestTriggerIsUnderstood(t *testing.T) {
	source, err := os.ReadFile(filepath.Join(setting(t, "WAGGLE_CHECK_KEDA", "the folder of KEDA's module"), "pkg/scalers/kafka_scaler.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"keda.yaml", "everything.yaml"} {
		for _, trigger := range read(t, render(t, example(t, file)())).Scaled[releaseName+"-waggle-ingest-sink"].Spec.Triggers {
			for key := range trigger.Metadata {
				is(t, "KEDA knows "+key, strings.Contains(string(source), `keda:"name=`+key+`,`), true)
			}
		}
	}
}

func newCluster(t *testing.T) *Cluster {
	t.Helper()
	cluster, err := NewCluster(
		filepath.Join(setting(t, "WAGGLE_CHECK_KEDA", "the folder of KEDA's module"), "config/crd/bases/keda.sh_scaledobjects.yaml"),
		filepath.Join(setting(t, "WAGGLE_CHECK_MONITORS", "the folder of the Prometheus operator's module"),
			"example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml"),
	)
	if err != nil {
		t.Fatal(err)
	}
	return cluster
}

func loadChart(t *testing.T) *Chart {
	t.Helper()
	read, err := LoadChart(chartFolder)
	if err != nil {
		t.Fatal(err)
	}
	return read
}

func render(t *testing.T, values Values) []Manifest {
	t.Helper()
	manifests, err := loadChart(t).Render(values, newest)
	if err != nil {
		t.Fatal(err)
	}
	return manifests
}

// Examples by file; each call reads them again, because rendering may change them.
func examples(t *testing.T) map[string]func() Values {
	t.Helper()
	files, err := os.ReadDir(examplesFolder)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]func() Values{}
	for _, file := range files {
		found[file.Name()] = example(t, file.Name())
	}
	if expected := slices.Sorted(maps.Keys(made)); !slices.Equal(slices.Sorted(maps.Keys(found)), expected) {
		t.Fatalf("expected the examples %q", expected)
	}
	return found
}

func example(t *testing.T, file string) func() Values {
	return func() Values {
		t.Helper()
		values, err := ReadValues(filepath.Join(examplesFolder, file))
		if err != nil {
			t.Fatal(err)
		}
		return values
	}
}

// A variable that deploy/test sets.
func setting(t *testing.T, name, what string) string {
	t.Helper()
	value := os.Getenv(name)
	if value == "" {
		t.Fatalf("%s is not set; expected %s: run deploy/test", name, what)
	}
	return value
}
