package check

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

const (
	releaseName = "readings"
	namespace   = "plant"
)

// Values are the values of a chart.
type Values = map[string]any

// Manifest is one object as text, with its template.
type Manifest struct {
	File string
	Text []byte
}

// Chart is the content of a chart's folder.
type Chart struct {
	// Release is the name under which it is installed.
	Release string
	chart   *chart.Chart
}

// LoadChart reads a chart's folder.
func LoadChart(folder string) (*Chart, error) {
	read, err := loader.LoadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("reading the chart %s: %w", folder, err)
	}
	return &Chart{Release: releaseName, chart: read}, nil
}

// Render renders as `helm install` does, without a cluster; an undefined key in a template is an error.
func (c *Chart) Render(values Values, version chartutil.KubeVersion) ([]Manifest, error) {
	capabilities := chartutil.DefaultCapabilities.Copy()
	capabilities.KubeVersion = version
	release := chartutil.ReleaseOptions{Name: c.Release, Namespace: namespace, Revision: 1, IsInstall: true}
	all, err := chartutil.ToRenderValues(c.chart, values, release, capabilities)
	if err != nil {
		return nil, err
	}
	files, err := engine.Engine{Strict: true}.Render(c.chart, all)
	if err != nil {
		return nil, err
	}
	var manifests []Manifest
	for _, file := range slices.Sorted(maps.Keys(files)) {
		if !strings.HasSuffix(file, ".yaml") {
			continue
		}
		texts, err := documents(files[file])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		for _, text := range texts {
			manifests = append(manifests, Manifest{File: file, Text: text})
		}
	}
	return manifests, nil
}

// The non-empty documents of a YAML stream.
func documents(stream string) ([][]byte, error) {
	var found [][]byte
	reader := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(stream)))
	for {
		text, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
		var content any
		if err := yaml.Unmarshal(text, &content); err != nil {
			return nil, fmt.Errorf("%w in\n%s", err, text)
		}
		if content != nil {
			found = append(found, bytes.TrimSpace(text))
		}
	}
}

// ReadValues reads a file of values.
func ReadValues(file string) (Values, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return ParseValues(text)
}

// ParseValues parses values; a duplicate key is an error.
func ParseValues(text []byte) (Values, error) {
	values := Values{}
	if err := yaml.UnmarshalStrict(text, &values); err != nil {
		return nil, fmt.Errorf("%w in\n%s", err, text)
	}
	return values, nil
}

// Over merges values over others, as a second --values does.
func Over(below, above Values) Values {
	return chartutil.CoalesceTables(above, below)
}
