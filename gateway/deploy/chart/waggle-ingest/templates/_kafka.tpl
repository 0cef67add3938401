{{/* How gateway and sink reach Kafka: protocol, credentials, certificates. */}}

{{/* Flags. */}}
{{- define "waggle-ingest.kafkaFlags" -}}
{{- with .Values.kafka -}}
- --kafka-brokers={{ .brokers }}
{{- if ne .securityProtocol "plaintext" }}
- --kafka-security-protocol={{ .securityProtocol }}
{{- end }}
{{- with .saslMechanism }}
- --kafka-sasl-mechanism={{ . }}
{{- end }}
{{- if .username }}
- --kafka-username={{ .username }}
- --kafka-password-file=/run/secrets/kafka/password
{{- end }}
{{- if or .tokenSecret.name .tokenAudience }}
- --kafka-token-file=/run/secrets/kafka/token
{{- end }}
{{- with .tokenEndpoint }}
{{- if .url }}
- --kafka-token-url={{ .url }}
- --kafka-token-client-id={{ .clientId }}
- --kafka-token-client-secret-file=/run/secrets/kafka/client-secret
{{- with .scope }}
- {{ printf "--kafka-token-scope=%s" . | quote }}
{{- end }}
{{- if .caSecret.name }}
- --kafka-token-ca=/run/secrets/kafka/token-ca.crt
{{- end }}
{{- end }}
{{- end }}
{{- if .caSecret.name }}
- --kafka-ca=/run/secrets/kafka/ca.crt
{{- end }}
{{- if .certificateSecret.name }}
- --kafka-certificate=/run/secrets/kafka/tls.crt
- --kafka-key=/run/secrets/kafka/tls.key
{{- end }}
{{- end -}}
{{- end }}

{{/* Says something if there are files. */}}
{{- define "waggle-ingest.kafkaFiles" -}}
{{- with .Values.kafka -}}
{{- if and (eq $.Values.backend "kafka") (or .username .tokenSecret.name .tokenAudience .tokenEndpoint.url .caSecret.name .certificateSecret.name) }}yes{{ end -}}
{{- end -}}
{{- end }}

{{/* The volume with the files; a change of a secret arrives without a restart. */}}
{{- define "waggle-ingest.kafkaVolume" -}}
{{- with .Values.kafka -}}
- name: kafka
  projected:
    defaultMode: 0440
    sources:
      {{- if .username }}
      - secret: { name: {{ .passwordSecret.name }}, items: [{ key: {{ .passwordSecret.key }}, path: password }] }
      {{- end }}
      {{- if .tokenSecret.name }}
      - secret: { name: {{ .tokenSecret.name }}, items: [{ key: {{ .tokenSecret.key }}, path: token }] }
      {{- end }}
      {{- with .tokenAudience }}
      - serviceAccountToken: { audience: {{ . | quote }}, expirationSeconds: 3600, path: token }
      {{- end }}
      {{- with .tokenEndpoint }}
      {{- if .url }}
      - secret: { name: {{ .clientSecret.name }}, items: [{ key: {{ .clientSecret.key }}, path: client-secret }] }
      {{- end }}
      {{- if .caSecret.name }}
      - secret: { name: {{ .caSecret.name }}, items: [{ key: {{ .caSecret.key }}, path: token-ca.crt }] }
      {{- end }}
      {{- end }}
      {{- if .caSecret.name }}
      - secret: { name: {{ .caSecret.name }}, items: [{ key: {{ .caSecret.key }}, path: ca.crt }] }
      {{- end }}
      {{- if .certificateSecret.name }}
      - secret: { name: {{ .certificateSecret.name }}, items: [{ key: tls.crt, path: tls.crt }, { key: tls.key, path: tls.key }] }
      {{- end }}
{{- end -}}
{{- end }}

{{/* The volume with the authorities of InfluxDB. */}}
{{- define "waggle-ingest.influxdbAuthorities" -}}
- name: influxdb-ca
  secret:
    secretName: {{ .Values.influxdb.caSecret.name }}
    defaultMode: 0440
    items: [{ key: {{ .Values.influxdb.caSecret.key }}, path: ca.crt }]
{{- end }}

{{/* What contradicts itself, as a list in JSON. */}}
{{- define "waggle-ingest.kafkaChecks" -}}
{{- $wrong := list -}}
{{- with .Values.kafka -}}
{{- $hasSasl := hasPrefix "sasl_" .securityProtocol -}}
{{- $isToken := eq .saslMechanism "OAUTHBEARER" -}}
{{- if and $hasSasl (not .saslMechanism) -}}
  {{- $wrong = append $wrong (printf "kafka.saslMechanism is empty; expected one, as kafka.securityProtocol is %s" .securityProtocol) -}}
{{- end -}}
{{- if and .saslMechanism (not $hasSasl) -}}
  {{- $wrong = append $wrong (printf "kafka.saslMechanism is %s; expected kafka.securityProtocol sasl_ssl or sasl_plaintext with it" .saslMechanism) -}}
{{- end -}}
{{- if and .saslMechanism (not $isToken) (not .username) -}}
  {{- $wrong = append $wrong (printf "kafka.username is empty; expected a user for %s" .saslMechanism) -}}
{{- end -}}
{{- if and .username (or $isToken (not .saslMechanism)) -}}
  {{- $wrong = append $wrong "kafka.username is set; expected kafka.saslMechanism PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512 with it" -}}
{{- end -}}
{{- if and .username (not .passwordSecret.name) -}}
  {{- $wrong = append $wrong "kafka.passwordSecret.name is empty; expected the name of a secret that holds the password of kafka.username" -}}
{{- end -}}
{{- $tokens := len (compact (list .tokenSecret.name .tokenAudience .tokenEndpoint.url)) -}}
{{- if and $isToken (ne $tokens 1) -}}
  {{- $wrong = append $wrong "kafka.saslMechanism is OAUTHBEARER; expected one of kafka.tokenSecret.name, kafka.tokenAudience and kafka.tokenEndpoint.url" -}}
{{- end -}}
{{- if and $tokens (not $isToken) -}}
  {{- $wrong = append $wrong "kafka.tokenSecret.name, kafka.tokenAudience or kafka.tokenEndpoint.url is set; expected kafka.saslMechanism OAUTHBEARER with it" -}}
{{- end -}}
{{- with .tokenEndpoint -}}
  {{- if and .url (not .clientId) -}}
    {{- $wrong = append $wrong "kafka.tokenEndpoint.clientId is empty; expected the client's name at kafka.tokenEndpoint.url" -}}
  {{- end -}}
  {{- if and .url (not .clientSecret.name) -}}
    {{- $wrong = append $wrong "kafka.tokenEndpoint.clientSecret.name is empty; expected the name of a secret that holds that of kafka.tokenEndpoint.clientId" -}}
  {{- end -}}
  {{- if and (not .url) (or .clientId .clientSecret.name .scope .caSecret.name) -}}
    {{- $wrong = append $wrong "kafka.tokenEndpoint.url is empty; expected one, as other values of kafka.tokenEndpoint are set" -}}
  {{- end -}}
{{- end -}}
{{- if and (or .caSecret.name .certificateSecret.name) (not (hasSuffix "ssl" .securityProtocol)) -}}
  {{- $wrong = append $wrong "kafka.caSecret.name or kafka.certificateSecret.name is set; expected kafka.securityProtocol ssl or sasl_ssl with it" -}}
{{- end -}}
{{- if and $.Values.sink.keda.enabled (ne .securityProtocol "plaintext") (not $.Values.sink.keda.authentication) -}}
  {{- $wrong = append $wrong (printf "sink.keda.authentication is empty; expected a TriggerAuthentication, as kafka.securityProtocol is %s" .securityProtocol) -}}
{{- end -}}
{{- end -}}
{{- $wrong | toJson -}}
{{- end }}
