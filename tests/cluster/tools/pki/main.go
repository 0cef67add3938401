// pki makes the certificates, keys and kubeconfigs of a cluster that is thrown away, in one process: openssl needs about forty.
//
// Usage: pki FOLDER APISERVER_ADDRESS PORT SERVICE_ADDRESS NODE=ADDRESS…
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// An authority is what signs, and where its files go.
type authority struct {
	folder string
	server string
	cert   *x509.Certificate
	key    *ecdsa.PrivateKey
	text   []byte
	serial int64
}

func main() {
	if len(os.Args) < 6 {
		fmt.Fprintln(os.Stderr, "usage: pki FOLDER APISERVER_ADDRESS PORT SERVICE_ADDRESS NODE=ADDRESS...")
		os.Exit(2)
	}
	folder, address, port, service, nodes := os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5:]
	must(os.MkdirAll(folder, 0o700))
	ca := newAuthority(folder, "https://"+net.JoinHostPort(address, port))
	ca.apiserver(net.ParseIP(address), net.ParseIP(service))
	ca.save("kubelet-client", ca.client("apiserver-kubelet-client", "system:masters"))
	admin := ca.client("admin", "system:masters")
	ca.save("admin", admin)
	ca.kubeconfig("admin", admin)
	for _, name := range []string{"controller-manager", "scheduler", "proxy"} {
		ca.kubeconfig(name, ca.client("system:kube-"+name))
	}
	ca.kubeconfig("coredns", ca.client("coredns"))
	for _, node := range nodes {
		name, address, _ := strings.Cut(node, "=")
		ca.node(name, net.ParseIP(address))
	}
	ca.serviceAccounts()
}

func newAuthority(folder, server string) *authority {
	ca := &authority{folder: folder, server: server}
	template := ca.template("cluster-ca")
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature
	key, _ := newKey()
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must(err)
	ca.cert, err = x509.ParseCertificate(der)
	must(err)
	ca.key, ca.text = key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	ca.write("ca.crt", ca.text)
	return ca
}

// A pair is a certificate and its key, as PEM.
type pair struct{ cert, key []byte }

func (ca *authority) apiserver(addresses ...net.IP) {
	template := ca.template("kube-apiserver")
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	template.DNSNames = []string{"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"}
	template.IPAddresses = append(addresses, net.IPv4(127, 0, 0, 1))
	ca.save("apiserver", ca.sign(template))
}

// A kubelet is a client of the API server, and a server for it.
func (ca *authority) node(name string, address net.IP) {
	template := ca.template("system:node:"+name, "system:nodes")
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
	template.DNSNames, template.IPAddresses = []string{name}, []net.IP{address}
	signed := ca.sign(template)
	ca.save("node-"+name, signed)
	ca.kubeconfig("node-"+name, signed)
}

// The keys by which tokens of service accounts are signed and checked.
func (ca *authority) serviceAccounts() {
	key, text := newKey()
	ca.write("sa.key", text)
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	must(err)
	ca.write("sa.pub", pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
}

func (ca *authority) client(name string, groups ...string) pair {
	template := ca.template(name, groups...)
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return ca.sign(template)
}

// Valid from two days ago: a program whose clock a test sets back still accepts it.
func (ca *authority) template(name string, groups ...string) *x509.Certificate {
	ca.serial++
	return &x509.Certificate{
		SerialNumber: big.NewInt(ca.serial),
		Subject:      pkix.Name{CommonName: name, Organization: groups},
		NotBefore:    time.Now().Add(-48 * time.Hour),
		NotAfter:     time.Now().AddDate(1, 0, 0),
		KeyUsage:     x509.KeyUsageDigitalSignature,
	}
}

func (ca *authority) sign(template *x509.Certificate) pair {
	key, text := newKey()
	der, err := x509.CreateCertificate(rand.Reader, template, ca.cert, &key.PublicKey, ca.key)
	must(err)
	return pair{pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), text}
}

func newKey() (*ecdsa.PrivateKey, []byte) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	der, err := x509.MarshalECPrivateKey(key)
	must(err)
	return key, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
}

func (ca *authority) save(name string, signed pair) {
	ca.write(name+".crt", signed.cert)
	ca.write(name+".key", signed.key)
}

const kubeconfig = `apiVersion: v1
kind: Config
clusters: [{name: cluster, cluster: {server: %q, certificate-authority-data: %s}}]
users: [{name: user, user: {client-certificate-data: %s, client-key-data: %s}}]
contexts: [{name: context, context: {cluster: cluster, user: user}}]
current-context: context
`

func (ca *authority) kubeconfig(name string, signed pair) {
	encode := base64.StdEncoding.EncodeToString
	text := fmt.Sprintf(kubeconfig, ca.server, encode(ca.text), encode(signed.cert), encode(signed.key))
	ca.write(name+".kubeconfig", []byte(text))
}

func (ca *authority) write(name string, text []byte) {
	must(os.WriteFile(filepath.Join(ca.folder, name), text, 0o600))
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "pki:", err)
		os.Exit(1)
	}
}
