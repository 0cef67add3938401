package check

import (
	"maps"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

func TestPodsAreConfined(t *testing.T) {
	eachDeployment(t, func(t *testing.T, _ *Objects, deployed *appsv1.Deployment) {
		pod := deployed.Spec.Template.Spec
		of := pod.SecurityContext
		is(t, "runs as root", !*of.RunAsNonRoot || *of.RunAsUser == 0 || *of.RunAsGroup == 0, false)
		is(t, "seccomp profile", of.SeccompProfile.Type, corev1.SeccompProfileTypeRuntimeDefault)
		is(t, "has a token of the cluster", *pod.AutomountServiceAccountToken, false)
		is(t, "shares the host", pod.HostNetwork || pod.HostPID || pod.HostIPC, false)
		for _, container := range pod.Containers {
			of := container.SecurityContext
			is(t, "root file system is read-only", *of.ReadOnlyRootFilesystem, true)
			is(t, "may gain rights", *of.AllowPrivilegeEscalation, false)
			is(t, "capabilities dropped", slices.Equal(of.Capabilities.Drop, []corev1.Capability{"ALL"}), true)
			is(t, "capabilities added", len(of.Capabilities.Add), 0)
			for _, list := range []corev1.ResourceList{container.Resources.Requests, container.Resources.Limits} {
				is(t, "CPU is said", list.Cpu().IsZero(), false)
				is(t, "memory is said", list.Memory().IsZero(), false)
			}
			for _, port := range container.Ports {
				is(t, "port of the host", port.HostPort, 0)
			}
		}
	})
}

func TestPodsEndInTime(t *testing.T) {
	eachDeployment(t, func(t *testing.T, _ *Objects, deployed *appsv1.Deployment) {
		pod := deployed.Spec.Template.Spec
		container := pod.Containers[0]
		needed := drainSeconds(t, container)
		if container.Lifecycle != nil {
			needed += container.Lifecycle.PreStop.Sleep.Seconds
		}
		if *pod.TerminationGracePeriodSeconds < needed+5 {
			t.Errorf("killed after %d s, but may need %d", *pod.TerminationGracePeriodSeconds, needed)
		}
	})
}

func TestProbes(t *testing.T) {
	eachDeployment(t, func(t *testing.T, _ *Objects, deployed *appsv1.Deployment) {
		container := deployed.Spec.Template.Spec.Containers[0]
		for path, probe := range map[string]*corev1.Probe{"/healthz": container.LivenessProbe, "/readyz": container.ReadinessProbe} {
			is(t, "path", probe.HTTPGet.Path, path)
			// The last port is the admin port; a network policy keeps clients from it.
			is(t, "port", probe.HTTPGet.Port.StrVal, container.Ports[len(container.Ports)-1].Name)
		}
	})
}

// The token is a file of an existing secret, and nowhere else.
func TestToken(t *testing.T) {
	for file, values := range examples(t) {
		manifests := render(t, values())
		objects := read(t, manifests)
		for name, deployed := range objects.Deployments {
			pod := deployed.Spec.Template.Spec
			is(t, file+": environment", len(pod.Containers[0].Env)+len(pod.Containers[0].EnvFrom), 0)
			if file == "embedded.yaml" {
				is(t, file+": file", flag(pod.Containers[0], "influxdb-token-file"), "")
				continue
			}
			expected := values()["influxdb"].(Values)["tokenSecret"].(Values)["name"].(string)
			if file == "everything.yaml" && strings.HasSuffix(name, "-gateway") {
				expected = "influxdb-reading"
			}
			secret := pod.Volumes[0].Secret
			mount := pod.Containers[0].VolumeMounts[0]
			is(t, file+": secret", secret.SecretName, expected)
			is(t, file+": mode", *secret.DefaultMode, 0o440)
			is(t, file+": file", flag(pod.Containers[0], "influxdb-token-file"), mount.MountPath+"/"+secret.Items[0].Path)
		}
	}
}

// Every reference has a target.
func TestNamesMeet(t *testing.T) {
	for file, values := range examples(t) {
		t.Run(file, func(t *testing.T) {
			objects := read(t, render(t, values()))
			for name, service := range objects.Services {
				is(t, name+": reachable from outside", service.Spec.Type, corev1.ServiceTypeClusterIP)
				deployed := selected(t, objects, metav1.LabelSelector{MatchLabels: service.Spec.Selector})
				for at, port := range deployed.Spec.Template.Spec.Containers[0].Ports {
					is(t, name+": port", service.Spec.Ports[at].TargetPort.StrVal, port.Name)
				}
			}
			for name, budget := range objects.Budgets {
				is(t, name, selected(t, objects, *budget.Spec.Selector).Name, name)
			}
			for name, policy := range objects.Policies {
				is(t, name, selected(t, objects, policy.Spec.PodSelector).Name, name)
			}
			for name, monitor := range objects.Monitors {
				service := objects.Services[name]
				selector := selectorOf(t, monitor.Spec.Selector)
				is(t, name+": finds its service", selector.Matches(labels.Set(service.Labels)), true)
				is(t, name+": port", monitor.Spec.Endpoints[0].Port, service.Spec.Ports[len(service.Spec.Ports)-1].Name)
				is(t, name+": path", monitor.Spec.Endpoints[0].Path, "/metrics")
			}
			for _, deployed := range objects.Deployments {
				pod := deployed.Spec.Template.Spec
				is(t, "account exists", objects.Accounts[pod.ServiceAccountName] != nil, true)
			}
		})
	}
}

// A number of replicas would reset the autoscaler with each upgrade.
func TestReplicasHaveOneMaster(t *testing.T) {
	eachDeployment(t, func(t *testing.T, objects *Objects, deployed *appsv1.Deployment) {
		targets := []autoscalingv2.CrossVersionObjectReference{}
		for _, autoscaler := range objects.Autoscalers {
			targets = append(targets, autoscaler.Spec.ScaleTargetRef)
		}
		for _, scaled := range objects.Scaled {
			targets = append(targets, scaled.Spec.ScaleTargetRef)
		}
		masters := 0
		for _, target := range targets {
			is(t, "kind", target.Kind, "Deployment")
			is(t, "target exists", objects.Deployments[target.Name] != nil, true)
			if target.Name == deployed.Name {
				masters++
			}
		}
		if deployed.Spec.Replicas != nil {
			masters++
		}
		is(t, "masters of "+deployed.Name, masters, 1)
	})
}

func TestEmbeddedKeepsItsStore(t *testing.T) {
	objects := read(t, render(t, example(t, "embedded.yaml")()))
	deployed := objects.Deployments[releaseName+"-waggle-ingest-gateway"]
	is(t, "replicas", *deployed.Spec.Replicas, 1)
	is(t, "strategy", deployed.Spec.Strategy.Type, appsv1.RecreateDeploymentStrategyType)
	pod := deployed.Spec.Template.Spec
	claim := objects.Claims[pod.Volumes[0].PersistentVolumeClaim.ClaimName]
	is(t, "kept on uninstall", claim.Annotations["helm.sh/resource-policy"], "keep")
	is(t, "size", claim.Spec.Resources.Requests.Storage().String(), "50Gi")
	is(t, "store lies on it", strings.HasPrefix(flag(pod.Containers[0], "store"), pod.Containers[0].VolumeMounts[0].MountPath+"/"), true)

	values := Over(example(t, "embedded.yaml")(), Values{"gateway": Values{"store": Values{"existingClaim": "mine"}}})
	objects = read(t, render(t, values))
	is(t, "new claims", len(objects.Claims), 0)
	pod = objects.Deployments[releaseName+"-waggle-ingest-gateway"].Spec.Template.Spec
	is(t, "claim", pod.Volumes[0].PersistentVolumeClaim.ClaimName, "mine")
}

func TestPoliciesOpenOnlyWhatIsNeeded(t *testing.T) {
	ports := func(values Values, name string) []string {
		policy := read(t, render(t, values)).Policies[releaseName+"-waggle-ingest-"+name]
		found := []string{}
		for _, rule := range policy.Spec.Egress {
			for _, port := range rule.Ports {
				found = append(found, port.Port.String())
			}
		}
		return found
	}
	check := func(brokers, url, name string, expected ...string) {
		t.Helper()
		above := Values{
			"networkPolicy": Values{"enabled": true},
			"kafka":         Values{"brokers": brokers},
			"influxdb":      Values{"url": url},
		}
		found := ports(Over(example(t, "least.yaml")(), above), name)
		if !slices.Equal(found, expected) {
			t.Errorf("%s, %s: expected %q, found %q", brokers, url, expected, found)
		}
	}
	check("a:9092,b:9092,c:9093", "http://i:8086", "gateway", "53", "53", "9092", "9093", "8086")
	check("a:9092", "http://i:8086", "sink", "53", "53", "9092", "8086")
	check("a:9092", "http://i", "sink", "53", "53", "9092", "80")
	check("a:9092", "http://i/influx", "gateway", "53", "53", "9092", "80")

	for _, name := range []string{"gateway", "sink"} {
		found := ports(example(t, "token-endpoint.yaml")(), name)
		if expected := []string{"53", "53", "9094", "8443", "443"}; !slices.Equal(found, expected) {
			t.Errorf("%s with a token endpoint: expected %q, found %q", name, expected, found)
		}
	}

	objects := read(t, render(t, Over(example(t, "least.yaml")(), Values{"networkPolicy": Values{"enabled": true}})))
	is(t, "who may reach the sink", len(objects.Policies[releaseName+"-waggle-ingest-sink"].Spec.Ingress), 0)
	clients := objects.Policies[releaseName+"-waggle-ingest-gateway"].Spec.Ingress[0].From
	is(t, "clients", len(clients), 1)
	is(t, "clients of other namespaces", clients[0].NamespaceSelector != nil || clients[0].IPBlock != nil, false)
}

func TestBacklogOfEachTopic(t *testing.T) {
	objects := read(t, render(t, example(t, "keda.yaml")()))
	triggers := objects.Scaled[releaseName+"-waggle-ingest-sink"].Spec.Triggers
	is(t, "triggers", len(triggers), 2)
	is(t, "topic", triggers[1].Metadata["topic"], "workshop")
	is(t, "group", triggers[1].Metadata["consumerGroup"], "waggle-sink")
	is(t, "lag", triggers[1].Metadata["lagThreshold"], "20000")
}

// With the longest suffix they are still names of services: 63 letters.
func TestNamesFit(t *testing.T) {
	for _, name := range []string{"r", "waggle-ingest", strings.Repeat("long-", 10) + "end"} {
		is(t, name, len(fullName(t, name)) <= 50, true)
	}
	is(t, "name", fullName(t, "readings"), "readings-waggle-ingest")
	is(t, "name", fullName(t, "waggle-ingest"), "waggle-ingest")
}

func fullName(t *testing.T, release string) string {
	t.Helper()
	chart := loadChart(t)
	chart.Release = release
	manifests, err := chart.Render(example(t, "least.yaml")(), newest)
	if err != nil {
		t.Fatal(err)
	}
	accounts := read(t, manifests).Accounts
	return slices.Sorted(maps.Keys(accounts))[0]
}

func eachDeployment(t *testing.T, check func(*testing.T, *Objects, *appsv1.Deployment)) {
	for file, values := range examples(t) {
		objects := read(t, render(t, values()))
		for _, name := range slices.Sorted(maps.Keys(objects.Deployments)) {
			t.Run(file+" "+name, func(t *testing.T) { check(t, objects, objects.Deployments[name]) })
		}
	}
}

func read(t *testing.T, manifests []Manifest) *Objects {
	t.Helper()
	objects, err := ReadObjects(manifests)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// The one Deployment whose pods a selector selects.
func selected(t *testing.T, objects *Objects, by metav1.LabelSelector) *appsv1.Deployment {
	t.Helper()
	var found []*appsv1.Deployment
	selector := selectorOf(t, by)
	for _, deployed := range objects.Deployments {
		if selector.Matches(labels.Set(deployed.Spec.Template.Labels)) {
			found = append(found, deployed)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%v selects %d deployments; expected 1", by, len(found))
	}
	return found[0]
}

func selectorOf(t *testing.T, by metav1.LabelSelector) labels.Selector {
	t.Helper()
	selector, err := metav1.LabelSelectorAsSelector(&by)
	if err != nil {
		t.Fatal(err)
	}
	return selector
}

func kindAndName(t *testing.T, manifest Manifest) string {
	t.Helper()
	var object metav1.PartialObjectMetadata
	if err := yaml.Unmarshal(manifest.Text, &object); err != nil {
		t.Fatal(err)
	}
	component := strings.TrimPrefix(strings.TrimPrefix(object.Name, releaseName+"-waggle-ingest"), "-")
	return strings.TrimSpace(object.Kind + " " + component)
}

func is[T comparable](t *testing.T, what string, found, expected T) {
	t.Helper()
	if found != expected {
		t.Errorf("%s: expected %v, found %v", what, expected, found)
	}
}

// What the flags name is mounted from existing secrets, of which a change arrives: no subPath.
func TestKafkaFilesAreMounted(t *testing.T) {
	for file, expected := range map[string][]string{
		"secured.yaml": {
			"kafka-password-file: kafka-user/secret", "kafka-ca: kafka-authority/authority.pem",
			"kafka-certificate: kafka-client/tls.crt", "kafka-key: kafka-client/tls.key",
		},
		"token.yaml": {"kafka-token-file: token for kafka.example"},
		"token-endpoint.yaml": {
			"kafka-token-client-secret-file: kafka-oidc/secret", "kafka-token-ca: login-authority/authority.pem",
		},
	} {
		for component, deployed := range read(t, render(t, example(t, file)())).Deployments {
			pod := deployed.Spec.Template.Spec
			files := map[string]string{}
			for _, volume := range pod.Volumes {
				if volume.Projected == nil {
					continue
				}
				is(t, "mode", *volume.Projected.DefaultMode, 0o440)
				for _, source := range volume.Projected.Sources {
					if token := source.ServiceAccountToken; token != nil {
						files["/run/secrets/kafka/"+token.Path] = "token for " + token.Audience
						continue
					}
					for _, item := range source.Secret.Items {
						files["/run/secrets/kafka/"+item.Path] = source.Secret.Name + "/" + item.Key
					}
				}
			}
			for _, mount := range pod.Containers[0].VolumeMounts {
				is(t, mount.Name+" has a subPath", mount.SubPath, "")
			}
			for _, pair := range expected {
				name, _, _ := strings.Cut(pair, ": ")
				is(t, component+" of "+file, name+": "+files[flag(pod.Containers[0], name)], pair)
			}
		}
	}
}
