// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// authority signs what one cluster believes.
type authority struct {
	certificate *x509.Certificate
	key         crypto.Signer
	pem         []byte
}

type pair struct {
	certificate []byte // PEM
	key         []byte // PEM
}

func template(name string, groups []string) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: name, Organization: groups},
		NotBefore:             now.Add(-time.Hour),
		NotAfter:              now.Add(24 * time.Hour),
		BasicConstraintsValid: true,
	}, nil
}

func newAuthority(name string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	wanted, err := template(name, nil)
	if err != nil {
		return nil, err
	}
	wanted.IsCA = true
	wanted.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, wanted, wanted, key.Public(), key)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &authority{certificate, key, encode("CERTIFICATE", der)}, nil
}

// issue signs a certificate for a client (a user and its groups) or, with hosts, for a server.
func (a *authority) issue(name string, groups []string, hosts ...string) (*pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	wanted, err := template(name, groups)
	if err != nil {
		return nil, err
	}
	wanted.KeyUsage = x509.KeyUsageDigitalSignature
	wanted.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
	for _, host := range hosts {
		if address := net.ParseIP(host); address != nil {
			wanted.IPAddresses = append(wanted.IPAddresses, address)
		} else {
			wanted.DNSNames = append(wanted.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, wanted, a.certificate, key.Public(), a.key)
	if err != nil {
		return nil, err
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return &pair{encode("CERTIFICATE", der), encode("EC PRIVATE KEY", secret)}, nil
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func (p *pair) write(folder, name string) error {
	if err := os.WriteFile(filepath.Join(folder, name+".crt"), p.certificate, 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, name+".key"), p.key, 0o600)
}
