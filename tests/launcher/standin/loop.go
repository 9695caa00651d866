// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"strings"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// loop works on keys, each on one goroutine at a time, with the back-off of KubeVirt's controllers: 5 ms
// doubled for each failure of the key, at most 1000 s, and ten a second of all.
type loop struct {
	queue workqueue.TypedRateLimitingInterface[string]
}

func newLoop() *loop {
	return &loop{workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())}
}

func (l *loop) add(key string) { l.queue.Add(key) }

// run starts the workers. What work gives is when it wants to be asked again though nothing changes; 0:
// never.
func (l *loop) run(ctx context.Context, workers int,
	work func(ctx context.Context, key string) (time.Duration, error)) {
	go func() {
		<-ctx.Done()
		l.queue.ShutDown()
	}()
	for range workers {
		go func() {
			for l.step(ctx, work) {
			}
		}()
	}
}

func (l *loop) step(ctx context.Context,
	work func(ctx context.Context, key string) (time.Duration, error)) bool {
	key, ended := l.queue.Get()
	if ended {
		return false
	}
	defer l.queue.Done(key)
	limited, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	after, err := work(limited, key)
	switch {
	case err != nil:
		l.queue.AddRateLimited(key)
	case after > 0:
		l.queue.Forget(key)
		l.queue.AddAfter(key, after)
	default:
		l.queue.Forget(key)
	}
	return true
}

func split(key string) (space, name string) {
	space, name, there := strings.Cut(key, "/")
	if !there {
		return "", space
	}
	return space, name
}
