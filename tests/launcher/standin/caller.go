// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protowire"
)

// caller asks one launcher as virt-handler does: one channel, authority localhost.
type caller struct {
	folder *os.File // of its socket, so that the path is short
	link   *grpc.ClientConn
}

func call(folder string) (*caller, error) {
	opened, err := os.Open(folder)
	if err != nil {
		return nil, err
	}
	path := fmt.Sprintf("/proc/self/fd/%d/launcher-sock", opened.Fd())
	link, err := dial(path)
	if err != nil {
		opened.Close()
		return nil, err
	}
	return &caller{opened, link}, nil
}

func dial(path string) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///localhost", grpc.WithAuthority("localhost"),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(rawCodec{})),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", path)
		}))
}

func (c *caller) close() {
	_ = c.link.Close()
	_ = c.folder.Close()
}

func (c *caller) invoke(ctx context.Context, method string, limit time.Duration) ([]byte, error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var request, answer []byte
	err := c.link.Invoke(limited, "/kubevirt.cmd.v1.Cmd/"+method, &request, &answer)
	return answer, err
}

// domain is what the launcher says; nil without an error: it has none.
func (c *caller) domain(ctx context.Context) (object, error) {
	answer, err := c.invoke(ctx, "GetDomain", 5*time.Second)
	if err != nil {
		return nil, err
	}
	text, err := textIn(answer)
	if err != nil || len(text) == 0 {
		return nil, err
	}
	domain := object{}
	return domain, json.Unmarshal(text, &domain)
}

// textIn is what most answers hold beside whether it was a success; nothing if there is none.
func textIn(answer []byte) ([]byte, error) {
	for len(answer) > 0 {
		number, kind, size := protowire.ConsumeTag(answer)
		if size < 0 {
			return nil, errors.New("expected an answer of a launcher, found other bytes")
		}
		answer = answer[size:]
		size = protowire.ConsumeFieldValue(number, kind, answer)
		if size < 0 {
			return nil, errors.New("expected an answer of a launcher, found one that is cut off")
		}
		if number == 2 && kind == protowire.BytesType {
			text, _ := protowire.ConsumeBytes(answer)
			return text, nil
		}
		answer = answer[size:]
	}
	return nil, nil
}

// order is one of the methods that only virt-handler may call.
func (c *caller) order(ctx context.Context, method string) error {
	_, err := c.invoke(ctx, method, 20*time.Second)
	return err
}
