package check

import (
	"strings"
	"testing"
)

// Changes to the smallest set of values, and the error of the chart.
var refused = []struct{ values, says string }{
	{`image: { repository: "" }`, "image.repository is empty"},
	{`image: { repository: "a b" }`, "/image/repository"},
	{`image: { digest: "sha256:12" }`, "/image/digest"},
	{`kafka: { brokers: "" }`, "kafka.brokers is empty"},
	{`kafka: { brokers: "kafka" }`, "/kafka/brokers"},
	{`kafka: { password: x }`, "password"},
	{`influxdb: { url: "influxdb:8086" }`, "/influxdb/url"},
	{`influxdb: { url: "http://user:secret@influxdb:8086" }`, "/influxdb/url"},
	{`influxdb: { caSecret: { name: ca } }`, "expected an influxdb.url that begins with https://"},
	{`kafka: { securityProtocol: tls }`, "/kafka/securityProtocol"},
	{`kafka: { securityProtocol: sasl_ssl }`, "kafka.saslMechanism is empty"},
	{`kafka: { saslMechanism: PLAIN }`, "kafka.saslMechanism is PLAIN; expected kafka.securityProtocol"},
	{`kafka: { securityProtocol: sasl_ssl, saslMechanism: PLAIN }`, "kafka.username is empty"},
	{`kafka: { securityProtocol: sasl_ssl, saslMechanism: PLAIN, username: a }`, "kafka.passwordSecret.name is empty"},
	{`kafka: { securityProtocol: sasl_ssl, saslMechanism: OAUTHBEARER }`, "expected one of kafka.tokenSecret.name, kafka.tokenAudience and kafka.tokenEndpoint.url"},
	{`kafka: { securityProtocol: sasl_ssl, saslMechanism: OAUTHBEARER, tokenAudience: a, tokenEndpoint: { url: "https://a" } }`, "expected one of kafka.tokenSecret.name"},
	{`kafka: { securityProtocol: sasl_ssl, saslMechanism: OAUTHBEARER, tokenEndpoint: { url: "https://a" } }`, "kafka.tokenEndpoint.clientId is empty"},
	{`kafka: { securityProtocol: sasl_ssl, saslMechanism: OAUTHBEARER, tokenEndpoint: { url: "https://a", clientId: a } }`, "kafka.tokenEndpoint.clientSecret.name is empty"},
	{`kafka: { tokenEndpoint: { url: "https://a" } }`, "expected kafka.saslMechanism OAUTHBEARER"},
	{`kafka: { tokenEndpoint: { scope: a } }`, "kafka.tokenEndpoint.url is empty"},
	{`kafka: { tokenEndpoint: { url: "http://login.example/token" } }`, "/kafka/tokenEndpoint/url"},
	{`kafka: { tokenEndpoint: { url: "https://a:secret@login.example/token" } }`, "/kafka/tokenEndpoint/url"},
	{`kafka: { tokenEndpoint: { clientSecret: secret } }`, "clientSecret"},
	{`sink: { flags: { kafka-token-scope: a } }`, "sink.flags.kafka-token-scope: the chart sets this flag"},
	{`kafka: { securityProtocol: ssl, tokenAudience: a }`, "expected kafka.saslMechanism OAUTHBEARER"},
	{`kafka: { caSecret: { name: a } }`, "expected kafka.securityProtocol ssl or sasl_ssl"},
	{`{ kafka: { securityProtocol: ssl }, sink: { keda: { enabled: true } } }`, "sink.keda.authentication is empty"},
	{`gateway: { flags: { kafka-ca: a } }`, "gateway.flags.kafka-ca: the chart sets this flag"},
	{`gateway: { clientsSecret: { name: "" } }`, "expected the name of a secret with the file of clients, or gateway.insecure true"},
	{`gateway: { tls: { clientCertificates: required } }`, "expected gateway.tls.secret.name"},
	{`gateway: { tls: { clientCertificates: maybe } }`, "/gateway/tls/clientCertificates"},
	{`gateway: { flags: { clients: a } }`, "gateway.flags.clients: the chart sets this flag"},
	{`gateway: { flags: { kafka-create-topics: true } }`, "gateway.flags.kafka-create-topics: the chart sets this flag"},
	{`gateway: { service: { port: 8081 } }`, "gateway.service.port is 8081; expected another one"},
	{`influxdb: { token: secret }`, "token"},
	{`influxdb: { org: "" }`, "influxdb.org is empty"},
	{`influxdb: { tokenSecret: { name: "" } }`, "influxdb.tokenSecret.name is empty"},
	{`backend: sqlite`, "/backend"},
	{`backend: embedded`, "gateway.replicas is 2; expected 1"},
	{`backend: embedded`, "gateway.autoscaling.enabled is true; expected false"},
	{`backend: embedded`, "sink.enabled is true; expected false"},
	{`{ backend: embedded, gateway: { replicas: 3, autoscaling: { enabled: false } }, sink: { enabled: false } }`, "gateway.replicas is 3; expected 1"},
	{`gateway: { autoscaling: { minReplicas: 7 } }`, "gateway.autoscaling.minReplicas is 7; expected at most maxReplicas, which is 6"},
	{`gateway: { workers: 0 }`, "/gateway/workers"},
	{`gateway: { drainSeconds: "20s" }`, "/gateway/drainSeconds"},
	{`gateway: { flags: { listen: "0.0.0.0:80" } }`, "gateway.flags.listen: the chart sets this flag"},
	{`gateway: { flags: { "--body-max-bytes": 1 } }`, "--body-max-bytes"},
	{`gateway: { flags: { influxdb-bucket: other } }`, "gateway.flags.influxdb-bucket: the chart sets this flag"},
	{`gateway: { query: { token: secret } }`, "token"},
	{`{ gateway: { query: { enabled: false, passThrough: true } } }`, "gateway.query.passThrough is true"},
	{`{ sink: { enabled: false, topics: [] }, influxdb: { org: "" } }`, "the gateway's queries need it"},
	{`gateway: { service: { type: LoadBalancer } }`, "type"},
	{`listenAddress: 10.0.0.1`, "/listenAddress"},
	{`sink: { topics: [] }`, "sink.topics is empty"},
	{`sink: { topicPrefix: iot. }`, "sink.topics and sink.topicPrefix are both set"},
	{`sink: { topics: ["a b"] }`, "/sink/topics/0"},
	{`sink: { flags: { token: secret } }`, "sink.flags.token: the chart sets this flag"},
	{`sink: { autoscaling: { enabled: true } }`, "sink.autoscaling.metric.name is empty"},
	{`sink: { autoscaling: { enabled: true, metric: { name: lag } }, keda: { enabled: true } }`, "both true"},
	{`sink: { replica: 3 }`, "replica"},
	{`networkPolicies: { enabled: true }`, "networkPolicies"},
}

func TestRefused(t *testing.T) {
	least := example(t, "least.yaml")
	for _, wrong := range refused {
		t.Run(wrong.values, func(t *testing.T) {
			above, err := ParseValues([]byte(wrong.values))
			if err != nil {
				t.Fatal(err)
			}
			_, err = loadChart(t).Render(Over(least(), above), newest)
			if err == nil {
				t.Fatal("the chart takes it")
			}
			if !strings.Contains(err.Error(), wrong.says) {
				t.Errorf("expected the error %q, found:\n%v", wrong.says, err)
			}
		})
	}
}
