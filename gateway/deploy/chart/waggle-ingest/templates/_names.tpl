{{/* Names and labels that several objects share. */}}

{{/* The release's name, once if it is the chart's too; short enough for what is put behind it. */}}
{{- define "waggle-ingest.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{/* What selects a component's pods: never changes over the life of a release. Takes (list $ "gateway"). */}}
{{- define "waggle-ingest.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ $root.Chart.Name }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{/* All labels of a component's object. Takes (list $ "gateway"). */}}
{{- define "waggle-ingest.labels" -}}
{{- $root := index . 0 -}}
{{ include "waggle-ingest.selector" . }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" }}
{{- end }}

{{/* The image, by digest if there is one. */}}
{{- define "waggle-ingest.image" -}}
{{- with .Values.image -}}
{{- if .digest }}{{ .repository }}@{{ .digest }}
{{- else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{/* An address to listen on. Takes (list $ port). */}}
{{- define "waggle-ingest.listen" -}}
{{- $address := (index . 0).Values.listenAddress -}}
{{- if contains ":" $address }}[{{ $address }}]{{ else }}{{ $address }}{{ end }}:{{ index . 1 }}
{{- end }}

{{/* The name of the claim of the embedded store's volume. */}}
{{- define "waggle-ingest.claim" -}}
{{ .Values.gateway.store.existingClaim | default (printf "%s-store" (include "waggle-ingest.name" .)) }}
{{- end }}
