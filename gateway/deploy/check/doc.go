// Package check checks the Dockerfile and the chart with the code of the programs that will read them: BuildKit's for
// the Dockerfile, Helm's for the templates, the Kubernetes API server's for the objects, the program's own for its flags.
package check
