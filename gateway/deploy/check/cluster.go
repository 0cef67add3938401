package check

import (
	"context"
	"fmt"
	"os"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	"k8s.io/kubernetes/pkg/registry/apps/deployment"
	"k8s.io/kubernetes/pkg/registry/autoscaling/horizontalpodautoscaler"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolumeclaim"
	"k8s.io/kubernetes/pkg/registry/core/service"
	"k8s.io/kubernetes/pkg/registry/core/serviceaccount"
	"k8s.io/kubernetes/pkg/registry/networking/networkpolicy"
	"k8s.io/kubernetes/pkg/registry/policy/poddisruptionbudget"
	"sigs.k8s.io/yaml"
)

// Defaults and validation of the API server for each kind of the chart.
var strategies = map[schema.GroupVersionKind]rest.RESTCreateStrategy{
	{Group: "apps", Version: "v1", Kind: "Deployment"}:                     deployment.Strategy,
	{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"}: horizontalpodautoscaler.Strategy,
	{Version: "v1", Kind: "PersistentVolumeClaim"}:                         persistentvolumeclaim.Strategy,
	{Version: "v1", Kind: "Service"}:                                       service.Strategy,
	{Version: "v1", Kind: "ServiceAccount"}:                                serviceaccount.Strategy,
	{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"}:     networkpolicy.Strategy,
	{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"}:          poddisruptionbudget.Strategy,
}

// A kind of a custom resource definition.
type customKind struct {
	structural *structural.Structural
	validator  validation.SchemaValidator
}

// Cluster checks objects as an API server does, and stores none.
type Cluster struct {
	decoder runtime.Decoder
	custom  map[schema.GroupVersionKind]customKind
}

// NewCluster makes a cluster with custom resources from the files of their definitions.
func NewCluster(definitions ...string) (*Cluster, error) {
	// As `kubectl apply` by default: unknown and duplicate fields are errors.
	codecs := serializer.NewCodecFactory(legacyscheme.Scheme, serializer.EnableStrict)
	cluster := &Cluster{decoder: codecs.UniversalDecoder(), custom: map[schema.GroupVersionKind]customKind{}}
	for _, file := range definitions {
		if err := cluster.define(file); err != nil {
			return nil, fmt.Errorf("reading the definition %s: %w", file, err)
		}
	}
	return cluster, nil
}

func (c *Cluster) define(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var definition apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(text, &definition); err != nil {
		return err
	}
	for _, version := range definition.Spec.Versions {
		var properties apiextensions.JSONSchemaProps
		err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(version.Schema.OpenAPIV3Schema, &properties, nil)
		if err != nil {
			return err
		}
		kind := customKind{}
		if kind.structural, err = structural.NewStructural(&properties); err != nil {
			return err
		}
		if kind.validator, _, err = validation.NewSchemaValidator(&properties); err != nil {
			return err
		}
		c.custom[schema.GroupVersionKind{Group: definition.Spec.Group, Version: version.Name, Kind: definition.Spec.Names.Kind}] = kind
	}
	return nil
}

// Create decodes, defaults and validates an object as for a request to create it; warnings are errors.
func (c *Cluster) Create(text []byte) error {
	var says metav1.TypeMeta
	if err := yaml.Unmarshal(text, &says); err != nil {
		return err
	}
	kind := says.GroupVersionKind()
	if custom, known := c.custom[kind]; known {
		return custom.create(text)
	}
	strategy, known := strategies[kind]
	if !known {
		return fmt.Errorf("%v is no kind that the chart is expected to make", kind)
	}
	object, _, err := c.decoder.Decode(text, nil, nil)
	if err != nil {
		return err
	}
	// Of a Service's two fields for its address the server fills in the second one itself.
	if made, isService := object.(*core.Service); isService && made.Spec.ClusterIP != "" {
		made.Spec.ClusterIPs = []string{made.Spec.ClusterIP}
	}
	accessor, err := meta.Accessor(object)
	if err != nil {
		return err
	}
	rest.FillObjectMetaSystemFields(accessor)
	ctx := request.WithNamespace(context.Background(), namespace)
	if err := rest.BeforeCreate(strategy, ctx, object); err != nil {
		return err
	}
	if warnings := strategy.WarningsOnCreate(ctx, object); len(warnings) > 0 {
		return fmt.Errorf("the API server warns: %q", warnings)
	}
	return nil
}

func (k customKind) create(text []byte) error {
	asJSON, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return err
	}
	var object map[string]any
	if err := json.Unmarshal(asJSON, &object); err != nil {
		return err
	}
	options := structural.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}
	if unknown := pruning.PruneWithOptions(object, k.structural, true, options); len(unknown) > 0 {
		return fmt.Errorf("unknown fields %q", unknown)
	}
	return validation.ValidateCustomResource(field.NewPath(""), object, k.validator).ToAggregate()
}
