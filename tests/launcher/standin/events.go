// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"io"
	"sync"
	"time"
)

// happening is one line of standard output: what tests and people read. Members that mean nothing to
// an event are left out.
type happening struct {
	Time   string  `json:"time"` // UTC, RFC 3339 with nanoseconds
	Event  string  `json:"event"`
	VMI    string  `json:"vmi,omitempty"` // namespace/name
	Node   string  `json:"node,omitempty"`
	Object string  `json:"object,omitempty"` // name of a pod, migration or plugin
	By     string  `json:"by,omitempty"`
	Answer string  `json:"answer,omitempty"` // of a hook: allow or veto
	Phase  string  `json:"phase,omitempty"`
	Text   string  `json:"text,omitempty"`
	Took   float64 `json:"tookMs,omitempty"`
}

// journal writes happenings, each as one line, from any goroutine.
type journal struct {
	lock sync.Mutex
	out  io.Writer
}

func (j *journal) tell(one happening) {
	one.Time = time.Now().UTC().Format(time.RFC3339Nano)
	line, err := json.Marshal(one)
	if err != nil {
		return
	}
	j.lock.Lock()
	defer j.lock.Unlock()
	_, _ = j.out.Write(append(line, '\n'))
}
