// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	kjson "sigs.k8s.io/json"
)

// oracle answers each line of a file, or of standard input, with one of standard output, by Kubernetes' own
// code. A line that it cannot answer is answered by {"error": …}.
func oracle(name string, files []string) error {
	in := os.Stdin
	if len(files) > 1 {
		return fmt.Errorf("expected: bed %s [FILE]", name)
	}
	if len(files) == 1 {
		file, err := os.Open(files[0])
		if err != nil {
			return err
		}
		defer file.Close()
		in = file
	}
	switch name {
	case "matches":
		return answerLines(in, matches)
	case "selector":
		return answerLines(in, selector)
	default:
		f, err := newFilters()
		if err != nil {
			return err
		}
		return answerLines(in, f.answer)
	}
}

func answerLines(from io.Reader, answer func(line []byte) (any, error)) error {
	in := bufio.NewReaderSize(from, 1<<20)
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	encoder := json.NewEncoder(out)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			if err := encoder.Encode(answered(answer, line)); err != nil {
				return err
			}
		}
		// Whoever waits for an answer before the next question gets it.
		if err != nil || in.Buffered() == 0 {
			if failed := out.Flush(); failed != nil {
				return failed
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func answered(answer func(line []byte) (any, error), line []byte) (said any) {
	type failure struct {
		Error string `json:"error"`
	}
	// Kubernetes' code takes what an API server has validated.
	defer func() {
		if found := recover(); found != nil {
			said = failure{fmt.Sprintf("panic: %v", found)}
		}
	}()
	out, err := answer(bytes.TrimSpace(line))
	if err != nil {
		return failure{err.Error()}
	}
	return out
}

// decode takes keys as a client of Kubernetes does, and refuses those that it would overlook.
func decode(line []byte, into any) error {
	faults, err := kjson.UnmarshalStrict(line, into)
	if err != nil {
		return err
	}
	return errors.Join(faults...)
}

type matched struct {
	Match bool `json:"match"`
}

// matches is a pod's required node affinity, as the scheduler's plugin asks for it: terms that cannot be
// read match nothing.
func matches(line []byte) (any, error) {
	var asked struct {
		Terms  []v1.NodeSelectorTerm `json:"terms"`
		Labels map[string]string     `json:"labels"`
		Name   string                `json:"name"`
	}
	if err := decode(line, &asked); err != nil {
		return nil, err
	}
	pod := v1.Pod{Spec: v1.PodSpec{Affinity: &v1.Affinity{NodeAffinity: &v1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: asked.Terms},
	}}}}
	node := v1.Node{ObjectMeta: metav1.ObjectMeta{Name: asked.Name, Labels: asked.Labels}}
	match, _ := nodeaffinity.GetRequiredNodeAffinity(&pod).Match(&node)
	return matched{match}, nil
}

func selector(line []byte) (any, error) {
	var asked struct {
		Selector *metav1.LabelSelector `json:"selector"`
		Labels   map[string]string     `json:"labels"`
	}
	if err := decode(line, &asked); err != nil {
		return nil, err
	}
	selector, err := metav1.LabelSelectorAsSelector(asked.Selector)
	if err != nil {
		return nil, err
	}
	return matched{selector.Matches(labels.Set(asked.Labels))}, nil
}
