// Package check looks at the image's recipe and at the chart with the code of those who will read them: BuildKit's for
// the Dockerfile, Helm's for the templates, the Kubernetes API server's for the objects, the program's own for its flags.
package check
