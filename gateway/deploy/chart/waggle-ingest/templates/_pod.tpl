{{/* What the pods of gateway and sink have in common. */}}

{{/* The pod's fields around its containers. Takes (list $ "gateway"). */}}
{{- define "waggle-ingest.pod" -}}
{{- $root := index . 0 -}}
{{- $component := index . 1 -}}
{{- $values := index $root.Values $component -}}
serviceAccountName: {{ include "waggle-ingest.name" $root }}
# Neither uses the Kubernetes API.
automountServiceAccountToken: false
enableServiceLinks: false
{{- with $root.Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: { type: RuntimeDefault }
# A failing node affects as few replicas as possible.
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{- include "waggle-ingest.selector" . | nindent 8 }}
{{- with $values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* The container's fields that say what it may do. */}}
{{- define "waggle-ingest.confinement" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- end }}

{{/* Probes: alive restarts, ready only takes it out of the service. Takes the port's name. */}}
{{- define "waggle-ingest.probes" -}}
# Until it listens; an embedded store recovers its write-ahead log first after a crash.
startupProbe:
  httpGet: { path: /healthz, port: {{ . }} }
  periodSeconds: 2
  failureThreshold: 60
livenessProbe:
  httpGet: { path: /healthz, port: {{ . }} }
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: { path: /readyz, port: {{ . }} }
  periodSeconds: 5
  timeoutSeconds: 2
  failureThreshold: 2
{{- end }}

{{/* Further flags as the user named them, in a fixed order. */}}
{{- define "waggle-ingest.flags" -}}
{{- range $name := keys . | sortAlpha }}
- --{{ $name }}={{ include "waggle-ingest.number" (index $ $name) }}
{{- end }}
{{- end }}

{{/* A value as text: large numbers without an exponent. */}}
{{- define "waggle-ingest.number" -}}
{{- if kindIs "float64" . }}{{ if eq (float64 (int64 .)) . }}{{ int64 . }}{{ else }}{{ . }}{{ end }}{{ else }}{{ . }}{{ end }}
{{- end }}

{{/* Says something where the gateway asks InfluxDB. */}}
{{- define "waggle-ingest.queries" -}}
{{- if and (eq .Values.backend "kafka") .Values.gateway.query.enabled .Values.influxdb.url }}yes{{ end }}
{{- end }}
