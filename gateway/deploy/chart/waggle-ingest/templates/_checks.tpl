{{/* Checks beyond the schema: contradicting values. All of them are reported at once. */}}
{{- define "waggle-ingest.checks" -}}
{{- $wrong := list -}}
{{- if not .Values.image.repository -}}
  {{- $wrong = append $wrong "image.repository is empty; expected the repository of the image that deploy/Dockerfile builds" -}}
{{- end -}}
{{- if eq .Values.backend "kafka" -}}
  {{- if not .Values.kafka.brokers -}}
    {{- $wrong = append $wrong "kafka.brokers is empty; expected host:port, as backend is kafka" -}}
  {{- end -}}
{{- else -}}
  {{- if ne (int .Values.gateway.replicas) 1 -}}
    {{- $wrong = append $wrong (printf "gateway.replicas is %d; expected 1, as backend is embedded: its store is one file with one writer" (int .Values.gateway.replicas)) -}}
  {{- end -}}
  {{- if .Values.gateway.autoscaling.enabled -}}
    {{- $wrong = append $wrong "gateway.autoscaling.enabled is true; expected false, as backend is embedded: its store is one file with one writer" -}}
  {{- end -}}
  {{- if .Values.sink.enabled -}}
    {{- $wrong = append $wrong "sink.enabled is true; expected false, as backend is embedded: there is no Kafka to read from" -}}
  {{- end -}}
{{- end -}}
{{- $wrong = concat $wrong (include "waggle-ingest.kafkaChecks" . | fromJsonArray) -}}
{{- if and .Values.influxdb.caSecret.name (not (hasPrefix "https://" .Values.influxdb.url)) -}}
  {{- $wrong = append $wrong "influxdb.caSecret.name is set; expected an influxdb.url that begins with https://" -}}
{{- end -}}
{{- with .Values.gateway -}}
  {{- if and (not .clientsSecret.name) (ne .tls.clientCertificates "required") (not .insecure) -}}
    {{- $wrong = append $wrong "gateway.clientsSecret.name is empty; expected the name of a secret with the file of clients, or gateway.insecure true: every client in the cluster can write and read then" -}}
  {{- end -}}
  {{- if and (ne .tls.clientCertificates "none") (not .tls.secret.name) -}}
    {{- $wrong = append $wrong (printf "gateway.tls.clientCertificates is %s; expected gateway.tls.secret.name" .tls.clientCertificates) -}}
  {{- end -}}
  {{- if eq (int .service.port) 8081 -}}
    {{- $wrong = append $wrong "gateway.service.port is 8081; expected another one, as that is the port of probes and metrics" -}}
  {{- end -}}
{{- end -}}
{{- $queries := include "waggle-ingest.queries" . -}}
{{- if or .Values.sink.enabled $queries -}}
  {{- $needs := ternary "the sink needs it (sink.enabled is true)" "the gateway's queries need it (gateway.query.enabled is true)" .Values.sink.enabled -}}
  {{- range $key := list "url" "org" "bucket" -}}
    {{- if not (index $.Values.influxdb $key) -}}
      {{- $wrong = append $wrong (printf "influxdb.%s is empty; %s" $key $needs) -}}
    {{- end -}}
  {{- end -}}
  {{- if and (not .Values.influxdb.tokenSecret.name) (or .Values.sink.enabled (not .Values.gateway.query.tokenSecret.name)) -}}
    {{- $wrong = append $wrong "influxdb.tokenSecret.name is empty; expected the name of a secret that holds InfluxDB's token" -}}
  {{- end -}}
{{- end -}}
{{- if and .Values.gateway.query.passThrough (not $queries) -}}
  {{- $wrong = append $wrong "gateway.query.passThrough is true; expected false, as there is no InfluxDB to query (backend kafka, influxdb.url, gateway.query.enabled)" -}}
{{- end -}}
{{- if .Values.sink.enabled -}}
  {{- if and .Values.sink.topics .Values.sink.topicPrefix -}}
    {{- $wrong = append $wrong "sink.topics and sink.topicPrefix are both set; expected one" -}}
  {{- else if not (or .Values.sink.topics .Values.sink.topicPrefix) -}}
    {{- $wrong = append $wrong "sink.topics is empty; expected the topics that the sink reads, or sink.topicPrefix" -}}
  {{- end -}}
  {{- if and .Values.sink.autoscaling.enabled .Values.sink.keda.enabled -}}
    {{- $wrong = append $wrong "sink.autoscaling.enabled and sink.keda.enabled are both true; expected one, as two autoscalers would conflict" -}}
  {{- end -}}
  {{- if and .Values.sink.autoscaling.enabled (not .Values.sink.autoscaling.metric.name) -}}
    {{- $wrong = append $wrong "sink.autoscaling.metric.name is empty; expected the metric of the backlog" -}}
  {{- end -}}
{{- end -}}
{{- range $at, $scaling := dict "gateway.autoscaling" .Values.gateway.autoscaling "sink.autoscaling" .Values.sink.autoscaling "sink.keda" .Values.sink.keda -}}
  {{- if gt (int $scaling.minReplicas) (int $scaling.maxReplicas) -}}
    {{- $wrong = append $wrong (printf "%s.minReplicas is %d; expected at most maxReplicas, which is %d" $at (int $scaling.minReplicas) (int $scaling.maxReplicas)) -}}
  {{- end -}}
{{- end -}}
{{- range $component, $own := dict "gateway" (list "listen" "admin-listen" "clients" "insecure" "tls-cert" "tls-key" "tls-client-ca" "tls-client-auth" "influxdb-url" "influxdb-org" "influxdb-bucket" "influxdb-token-file" "query-pass-through" "backend" "store" "workers" "drain-timeout" "kafka-brokers" "kafka-security-protocol" "kafka-sasl-mechanism" "kafka-username" "kafka-password-file" "kafka-token-file" "kafka-token-url" "kafka-token-client-id" "kafka-token-client-secret-file" "kafka-token-scope" "kafka-token-ca" "kafka-ca" "kafka-certificate" "kafka-key" "influxdb-ca" "kafka-topic-prefix" "kafka-create-topics" "kafka-partitions" "kafka-replicas") "sink" (list "admin-listen" "kafka-brokers" "kafka-security-protocol" "kafka-sasl-mechanism" "kafka-username" "kafka-password-file" "kafka-token-file" "kafka-token-url" "kafka-token-client-id" "kafka-token-client-secret-file" "kafka-token-scope" "kafka-token-ca" "kafka-ca" "kafka-certificate" "kafka-key" "influxdb-ca" "topic" "topic-prefix" "group" "influxdb-url" "influxdb-org" "influxdb-bucket" "token" "influxdb-token-file" "drain-timeout") -}}
  {{- range $name := keys (index $.Values $component).flags | sortAlpha -}}
    {{- if has $name $own -}}
      {{- $wrong = append $wrong (printf "%s.flags.%s: the chart sets this flag from another value" $component $name) -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- if $wrong -}}
  {{- fail (printf "\n- %s\n" (join "\n- " $wrong)) -}}
{{- end -}}
{{- end }}
