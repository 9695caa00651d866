// SPDX-License-Identifier: Apache-2.0

// Cel evaluates the condition of a node hook as virt-handler does (pkg/plugins/cel of KubeVirt): with
// `vmi` of KubeVirt's own Go types by their JSON names. Each line of the file that it is given is
// {"condition": "…", "vmi": {…}}, each line of standard output "true", "false" or "error: …".
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"reflect"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
	kubevirt "kubevirt.io/api/core/v1"
)

// As KubeVirt limits it.
const costLimit = 10_000_000

type question struct {
	Condition string                          `json:"condition"`
	VMI       kubevirt.VirtualMachineInstance `json:"vmi"`
}

func environment() (*cel.Env, error) {
	return cel.NewEnv(
		ext.NativeTypes(reflect.TypeOf(&kubevirt.VirtualMachineInstance{}), ext.ParseStructTag("json")),
		ext.Strings(), ext.Math(), ext.Lists(),
		cel.Variable("vmi", cel.ObjectType("v1.VirtualMachineInstance")))
}

func evaluate(env *cel.Env, line []byte) (bool, error) {
	var asked question
	if err := json.Unmarshal(line, &asked); err != nil {
		return false, err
	}
	ast, issues := env.Compile(asked.Condition)
	if issues.Err() != nil {
		return false, issues.Err()
	}
	program, err := env.Program(ast, cel.CostLimit(costLimit))
	if err != nil {
		return false, err
	}
	value, _, err := program.Eval(map[string]any{"vmi": &asked.VMI})
	if err != nil {
		return false, err
	}
	answer, ok := value.Value().(bool)
	if !ok {
		return false, fmt.Errorf("expected a bool, found %v", value.Type())
	}
	return answer, nil
}

func run() error {
	env, err := environment()
	if err != nil {
		return err
	}
	if len(os.Args) != 2 {
		return fmt.Errorf("expected: cel FILE")
	}
	file, err := os.Open(os.Args[1])
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if answer, err := evaluate(env, lines.Bytes()); err != nil {
			fmt.Printf("error: %q\n", err.Error())
		} else {
			fmt.Println(answer)
		}
	}
	return lines.Err()
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "cel: "+err.Error())
		os.Exit(1)
	}
}
