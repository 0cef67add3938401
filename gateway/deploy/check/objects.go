package check

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// Objects are the objects of a chart, by kind, as a client sees them.
type Objects struct {
	Deployments map[string]*appsv1.Deployment
	Services    map[string]*corev1.Service
	Accounts    map[string]*corev1.ServiceAccount
	Claims      map[string]*corev1.PersistentVolumeClaim
	Budgets     map[string]*policyv1.PodDisruptionBudget
	Autoscalers map[string]*autoscalingv2.HorizontalPodAutoscaler
	Policies    map[string]*networkingv1.NetworkPolicy
	Scaled      map[string]*ScaledObject
	Monitors    map[string]*ServiceMonitor
}

// ScaledObject has the checked part of KEDA's kind.
type ScaledObject struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		ScaleTargetRef autoscalingv2.CrossVersionObjectReference `json:"scaleTargetRef"`
		Triggers       []struct {
			Type     string            `json:"type"`
			Metadata map[string]string `json:"metadata"`
		} `json:"triggers"`
	} `json:"spec"`
}

// ServiceMonitor has the checked part of the Prometheus operator's kind.
type ServiceMonitor struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Selector  metav1.LabelSelector `json:"selector"`
		Endpoints []struct {
			Port string `json:"port"`
			Path string `json:"path"`
		} `json:"endpoints"`
	} `json:"spec"`
}

// ReadObjects reads manifests; two of the same kind and name are an error, because the second would replace the first.
func ReadObjects(manifests []Manifest) (*Objects, error) {
	objects := &Objects{
		Deployments: map[string]*appsv1.Deployment{},
		Services:    map[string]*corev1.Service{},
		Accounts:    map[string]*corev1.ServiceAccount{},
		Claims:      map[string]*corev1.PersistentVolumeClaim{},
		Budgets:     map[string]*policyv1.PodDisruptionBudget{},
		Autoscalers: map[string]*autoscalingv2.HorizontalPodAutoscaler{},
		Policies:    map[string]*networkingv1.NetworkPolicy{},
		Scaled:      map[string]*ScaledObject{},
		Monitors:    map[string]*ServiceMonitor{},
	}
	for _, manifest := range manifests {
		if err := objects.read(manifest); err != nil {
			return nil, fmt.Errorf("%s: %w", manifest.File, err)
		}
	}
	return objects, nil
}

func (o *Objects) read(manifest Manifest) error {
	var meta metav1.TypeMeta
	if err := yaml.Unmarshal(manifest.Text, &meta); err != nil {
		return err
	}
	switch meta.Kind {
	case "Deployment":
		return add(o.Deployments, manifest)
	case "Service":
		return add(o.Services, manifest)
	case "ServiceAccount":
		return add(o.Accounts, manifest)
	case "PersistentVolumeClaim":
		return add(o.Claims, manifest)
	case "PodDisruptionBudget":
		return add(o.Budgets, manifest)
	case "HorizontalPodAutoscaler":
		return add(o.Autoscalers, manifest)
	case "NetworkPolicy":
		return add(o.Policies, manifest)
	case "ScaledObject":
		return add(o.Scaled, manifest)
	case "ServiceMonitor":
		return add(o.Monitors, manifest)
	}
	return fmt.Errorf("%s is no kind that the chart is expected to make", meta.Kind)
}

func add[T any, Object interface {
	*T
	metav1.Object
}](to map[string]Object, manifest Manifest) error {
	object := Object(new(T))
	if err := yaml.Unmarshal(manifest.Text, object); err != nil {
		return err
	}
	if object.GetNamespace() != namespace {
		return fmt.Errorf("namespace %q; expected the release's", object.GetNamespace())
	}
	name := object.GetName()
	if _, twice := to[name]; twice {
		return fmt.Errorf("%q is made twice", name)
	}
	to[name] = object
	return nil
}
