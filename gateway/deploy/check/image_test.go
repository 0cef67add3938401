package check

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/moby/buildkit/client/llb"
	"github.com/moby/buildkit/client/llb/sourceresolver"
	"github.com/moby/buildkit/frontend/dockerfile/dockerfile2llb"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"
	"github.com/opencontainers/go-digest"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"
)

// Of the gateway, and of waggle for agents and runners.
var dockerfiles = []string{"../Dockerfile", "../../../deploy/Dockerfile"}

var pinned = regexp.MustCompile(`:[^:@]+@sha256:[0-9a-f]{64}$`)

// Base images are not fetched: they are only known to be for Linux.
type noRegistry struct{}

func (noRegistry) ResolveImageConfig(_ context.Context, name string, _ sourceresolver.Opt) (string, digest.Digest, []byte, error) {
	image, err := json.Marshal(ocispecs.Image{Platform: ocispecs.Platform{OS: "linux", Architecture: "amd64"}})
	return name, digest.FromBytes(image), image, err
}

// As `docker build --check`.
func TestDockerfilesAreClean(t *testing.T) {
	for _, file := range dockerfiles {
		if warnings := lintDockerfile(t, readDockerfile(t, file)); len(warnings) > 0 {
			t.Errorf("%s: %q", file, warnings)
		}
	}
}

func TestMistakesInADockerfileAreSeen(t *testing.T) {
	wrong := bytes.Replace(readDockerfile(t, dockerfiles[0]), []byte("USER 65532:65532"), []byte("ENV API_TOKEN=${TOKEN}\nUSER 65532:65532"), 1)
	warnings := strings.Join(lintDockerfile(t, wrong), " ")
	for _, rule := range []string{"SecretsUsedInArgOrEnv", "UndefinedVar"} {
		is(t, rule, strings.Contains(warnings, rule), true)
	}
}

func TestImages(t *testing.T) {
	for _, file := range dockerfiles {
		checkImage(t, file)
	}
}

func checkImage(t *testing.T, file string) {
	t.Helper()
	parsed, err := parser.Parse(bytes.NewReader(readDockerfile(t, file)))
	if err != nil {
		t.Fatal(err)
	}
	stages, arguments, err := instructions.Parse(parsed.AST, nil)
	if err != nil {
		t.Fatal(err)
	}
	bases := map[string]string{}
	for _, argument := range arguments {
		for _, pair := range argument.Args {
			bases["${"+pair.Key+"}"] = *pair.Value
		}
	}
	ignored := ignoredFiles(t)
	for _, stage := range stages {
		base := bases[stage.BaseName]
		is(t, base+" is pinned by digest", pinned.MatchString(base), true)
		for _, command := range stage.Commands {
			if copied, fromContext := command.(*instructions.CopyCommand); fromContext && copied.From == "" {
				for _, source := range copied.SourcePaths {
					if _, err := os.Stat(filepath.Join("../../..", source)); err != nil {
						t.Error(err)
					}
					left, err := ignored.MatchesOrParentMatches(source)
					is(t, source+" is left out by .dockerignore", left || err != nil, false)
				}
			}
		}
	}
	for _, command := range stages[len(stages)-1].Commands {
		switch command := command.(type) {
		case *instructions.UserCommand:
			is(t, "user is a number, and not root's", regexp.MustCompile(`^[1-9][0-9]*:[1-9][0-9]*$`).MatchString(command.User), true)
		case *instructions.EntrypointCommand:
			is(t, "a shell starts it", command.PrependShell, false)
		case *instructions.RunCommand:
			t.Error("the image that is run has no shell to run anything")
		}
	}
}

// The base image has none for the Kafka client.
func TestImageHasItsOwnOpenSSL(t *testing.T) {
	text := readDockerfile(t, dockerfiles[0])
	is(t, "the feature is built", bytes.Contains(text, []byte("--package waggle-gateway --features kafka-tls-vendored ")), true)
}

// Files that the build does not need, above all secrets, do not reach the builder.
func TestContextIsSmall(t *testing.T) {
	ignored := ignoredFiles(t)
	for file, expected := range map[string]bool{
		".git/config": true, ".env": true, "target/debug/waggle": true, "runs/a/run.json": true, "docs/reference/load.md": true, "gateway/deploy/Dockerfile": true,
		"Cargo.lock": false, "gateway/gateway/src/main.rs": false, "gateway/gateway/target/x": true,
	} {
		left, err := ignored.MatchesOrParentMatches(file)
		if err != nil {
			t.Fatal(err)
		}
		is(t, file+" is left out", left, expected)
	}
}

func lintDockerfile(t *testing.T, text []byte) []string {
	t.Helper()
	source := llb.NewSourceMap(nil, "Dockerfile", "Dockerfile", text)
	source.Definition = &llb.Definition{}
	results, err := dockerfile2llb.DockerfileLint(t.Context(), text, dockerfile2llb.ConvertOpt{SourceMap: source, MetaResolver: noRegistry{}})
	if err != nil {
		t.Fatal(err)
	}
	if results.Error != nil {
		t.Fatal(results.Error.Message)
	}
	var warnings []string
	for _, warning := range results.Warnings {
		warnings = append(warnings, warning.RuleName+": "+warning.Detail)
	}
	return warnings
}

func ignoredFiles(t *testing.T) *patternmatcher.PatternMatcher {
	t.Helper()
	file, err := os.Open("../../../.dockerignore")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	patterns, err := ignorefile.ReadAll(file)
	if err != nil {
		t.Fatal(err)
	}
	matcher, err := patternmatcher.New(patterns)
	if err != nil {
		t.Fatal(err)
	}
	return matcher
}

func readDockerfile(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
