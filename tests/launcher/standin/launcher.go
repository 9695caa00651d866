// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
)

// One launcher: its socket, and what it answers.
type launcher struct {
	folder string // of its pod
	server *grpc.Server
	guest  guest
	lock   sync.Mutex
	domain string
	hangs  bool
}

const socketsFolder = "volumes/kubernetes.io~empty-dir/sockets" // below that of a pod

// Raw bytes in and out: the messages are written here by field numbers, apart from the .proto files
// that the agent is built from.
type rawCodec struct{}

func (rawCodec) Marshal(value any) ([]byte, error) { return *value.(*[]byte), nil }
func (rawCodec) Unmarshal(data []byte, value any) error {
	*value.(*[]byte) = append([]byte(nil), data...)
	return nil
}
func (rawCodec) Name() string { return "proto" }

func start(pods, uid, domain string) (*launcher, error) {
	one := &launcher{folder: filepath.Join(pods, uid), domain: domain}
	sockets := filepath.Join(one.folder, socketsFolder)
	if err := os.MkdirAll(sockets, 0o755); err != nil {
		return nil, err
	}
	// As a launcher does: listen under another name, and take the right one when ready. The path by
	// way of the descriptor is short enough for any folder of pods.
	folder, err := os.Open(sockets)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	short := fmt.Sprintf("/proc/self/fd/%d/launcher-init-sock", folder.Fd())
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: short, Net: "unix"})
	if err != nil {
		return nil, err
	}
	listener.SetUnlinkOnClose(false)
	if err := os.Rename(filepath.Join(sockets, "launcher-init-sock"),
		filepath.Join(sockets, "launcher-sock")); err != nil {
		return nil, err
	}
	one.server = grpc.NewServer(grpc.ForceServerCodec(rawCodec{}),
		grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
			return one.answer(stream)
		}))
	go one.server.Serve(listener)
	return one, nil
}

func (one *launcher) answer(stream grpc.ServerStream) error {
	var request []byte
	if err := stream.RecvMsg(&request); err != nil {
		return err
	}
	method, _ := grpc.MethodFromServerStream(stream)
	var response []byte
	switch method {
	case "/kubevirt.cmd.info.CmdInfo/Info":
		packed := protowire.AppendVarint(nil, 1)
		response = protowire.AppendTag(nil, 1, protowire.BytesType)
		response = protowire.AppendBytes(response, packed)
	case "/kubevirt.cmd.v1.Cmd/GetDomain":
		if err := one.wait(stream); err != nil {
			return err
		}
		response = success()
		response = protowire.AppendTag(response, 2, protowire.BytesType)
		response = protowire.AppendString(response, one.text())
	case "/kubevirt.cmd.v1.Cmd/GetDomainStats":
		response = success()
		response = protowire.AppendTag(response, 2, protowire.BytesType)
		response = protowire.AppendString(response, one.guest.stats())
	case "/kubevirt.cmd.v1.Cmd/GetDomainDirtyRateStats":
		response = success()
		response = protowire.AppendTag(response, 2, protowire.VarintType)
		response = protowire.AppendVarint(response, uint64(one.guest.dirtyRate()))
	case "/kubevirt.cmd.v1.Cmd/Ping":
		response = done()
	default:
		if !one.guest.obey(one, method) {
			return status.Errorf(codes.Unimplemented, "unknown method %s", method)
		}
		response = done()
	}
	return stream.SendMsg(&response)
}

// A Response with success=1.
func done() []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 1)
}

// Field `response` of most answers: success=1.
func success() []byte {
	outer := protowire.AppendTag(nil, 1, protowire.BytesType)
	return protowire.AppendBytes(outer, done())
}

// While it hangs nothing is answered, as long as somebody waits.
func (one *launcher) wait(stream grpc.ServerStream) error {
	for one.isHanging() {
		select {
		case <-stream.Context().Done():
			return stream.Context().Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
	return nil
}

func (one *launcher) isHanging() bool {
	one.lock.Lock()
	defer one.lock.Unlock()
	return one.hangs
}

func (one *launcher) hang(hangs bool) {
	one.lock.Lock()
	defer one.lock.Unlock()
	one.hangs = hangs
}

func (one *launcher) text() string {
	one.lock.Lock()
	defer one.lock.Unlock()
	return one.domain
}

func (one *launcher) say(domain string) {
	one.lock.Lock()
	defer one.lock.Unlock()
	one.domain = domain
}

// The launcher ends and its pod's folder is removed, as the kubelet does.
func (one *launcher) stop() error {
	one.server.Stop()
	return os.RemoveAll(one.folder)
}
