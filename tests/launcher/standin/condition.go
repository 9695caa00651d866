// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path"
	"reflect"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// What the condition of a hook may read of a VMI: the Go types that KubeVirt gives its evaluator, as far
// as conditions have a use for them. A member that is not here does not compile, as there.
type (
	conditionVMI struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
		Spec     conditionSpec     `json:"spec"`
		Status   conditionStatus   `json:"status"`
	}
	conditionSpec struct {
		EvictionStrategy              *string           `json:"evictionStrategy,omitempty"`
		TerminationGracePeriodSeconds *int64            `json:"terminationGracePeriodSeconds,omitempty"`
		NodeSelector                  map[string]string `json:"nodeSelector,omitempty"`
		PriorityClassName             string            `json:"priorityClassName,omitempty"`
		Architecture                  string            `json:"architecture,omitempty"`
	}
	conditionStatus struct {
		Phase              string                   `json:"phase,omitempty"`
		NodeName           string                   `json:"nodeName,omitempty"`
		Reason             string                   `json:"reason,omitempty"`
		EvacuationNodeName string                   `json:"evacuationNodeName,omitempty"`
		Conditions         []conditionCondition     `json:"conditions,omitempty"`
		ActivePods         map[string]string        `json:"activePods,omitempty"`
		MigrationMethod    string                   `json:"migrationMethod,omitempty"`
		MigrationState     *conditionMigrationState `json:"migrationState,omitempty"`
	}
	conditionCondition struct {
		Type    string `json:"type"`
		Status  string `json:"status"`
		Reason  string `json:"reason,omitempty"`
		Message string `json:"message,omitempty"`
	}
	conditionMigrationState struct {
		SourceNode   string `json:"sourceNode,omitempty"`
		TargetNode   string `json:"targetNode,omitempty"`
		MigrationUID string `json:"migrationUid,omitempty"`
		Completed    bool   `json:"completed,omitempty"`
		Failed       bool   `json:"failed,omitempty"`
	}
)

const conditionCost = 10_000_000

// conditions evaluates them and keeps each distinct text compiled, for ever as virt-handler does.
type conditions struct {
	lock     sync.Mutex
	env      *cel.Env
	programs map[string]cel.Program
}

func newConditions() (*conditions, error) {
	of := reflect.TypeFor[conditionVMI]()
	env, err := cel.NewEnv(
		ext.NativeTypes(of, ext.ParseStructTag("json")),
		// As the evaluator names it: in a test the package's path is another one.
		cel.Variable("vmi", cel.ObjectType(path.Base(of.PkgPath())+"."+of.Name())),
		ext.Strings(), ext.Math(), ext.Lists())
	return &conditions{env: env, programs: map[string]cel.Program{}}, err
}

func (c *conditions) compile(text string) (cel.Program, error) {
	c.lock.Lock()
	defer c.lock.Unlock()
	if program, there := c.programs[text]; there {
		return program, nil
	}
	tree, issues := c.env.Compile(text)
	if issues.Err() != nil {
		return nil, fmt.Errorf("failed to compile CEL expression: %w", issues.Err())
	}
	if tree.OutputType() != cel.BoolType {
		return nil, fmt.Errorf("expected a CEL expression that is a bool, found %s", tree.OutputType())
	}
	program, err := c.env.Program(tree, cel.CostLimit(conditionCost))
	if err == nil {
		c.programs[text] = program
	}
	return program, err
}

// holds evaluates it for a VMI. An empty condition holds.
func (c *conditions) holds(text string, vmi object) (bool, error) {
	if text == "" {
		return true, nil
	}
	program, err := c.compile(text)
	if err != nil {
		return false, err
	}
	view := &conditionVMI{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(vmi, view); err != nil {
		return false, err
	}
	value, _, err := program.Eval(map[string]any{"vmi": view})
	if err != nil {
		return false, fmt.Errorf("failed to evaluate CEL expression: %w", err)
	}
	answer, is := value.Value().(bool)
	if !is {
		return false, fmt.Errorf("expected a bool from a CEL expression, found %v", value)
	}
	return answer, nil
}
