// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
)

// part is one of the programs of a control plane.
type part struct {
	name      string
	program   string
	arguments []string
	running   *exec.Cmd     // nil while it is stopped
	ended     chan struct{} // closed once the running one has ended
}

// run starts this program again as a part of its own.
func (c *cluster) run(name string, flags ...string) error {
	return c.runProgram(name, c.program, append([]string{name}, flags...)...)
}

func (c *cluster) runProgram(name, program string, arguments ...string) error {
	added := &part{name: name, program: program, arguments: arguments}
	c.parts = append(c.parts, added)
	return c.startPart(added)
}

// startPart must be called on the thread that lives as long as this process: see up.
func (c *cluster) startPart(p *part) error {
	output, err := os.OpenFile(c.path(p.name+".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer output.Close()
	child := exec.Command(p.program, p.arguments...)
	child.Stdout, child.Stderr = output, output
	child.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := child.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	p.running, p.ended = child, ended
	go func() {
		_ = child.Wait()
		close(ended)
		c.ended <- child
	}()
	return nil
}

// stopPart kills: nothing here is worth a clean end.
func (p *part) stopPart() {
	if p.running == nil {
		return
	}
	_ = p.running.Process.Kill()
	<-p.ended
	p.running = nil
}

// faultOf tells of a part that ended though nobody had stopped it.
func (c *cluster) faultOf(ended *exec.Cmd) error {
	for _, p := range c.parts {
		if p.running == ended {
			return fmt.Errorf("%s ended by itself: see %s", p.name, c.path(p.name+".log"))
		}
	}
	return nil
}

func (c *cluster) stop() {
	for _, p := range c.parts {
		p.stopPart()
	}
}

func (c *cluster) readLines() {
	defer close(c.lines)
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		c.lines <- input.Text()
	}
}

// wait serves until the end of standard input or a signal.
func (c *cluster) wait() error {
	told, release := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer release()
	for {
		select {
		case <-told.Done():
			return nil
		case ended := <-c.ended:
			if err := c.faultOf(ended); err != nil {
				return err
			}
		case line, more := <-c.lines:
			if !more {
				return nil
			}
			if err := c.obey(os.Stdout, line); err != nil {
				return err
			}
		}
	}
}

// obey does what a line asks, "stop PART" or "start PART", and answers with a line when it is done.
func (c *cluster) obey(answers io.Writer, line string) error {
	verb, name, _ := strings.Cut(line, " ")
	for _, p := range c.parts {
		if p.name != name {
			continue
		}
		switch {
		case verb == "stop":
			p.stopPart()
		case verb == "start" && p.running == nil:
			if err := c.startPart(p); err != nil {
				return err
			}
			if name == "apiserver" {
				if err := c.awaitReady(); err != nil {
					return err
				}
			}
		default:
			return fmt.Errorf("expected stop PART, or start PART of one that is stopped, found %q", line)
		}
		_, err := fmt.Fprintln(answers, "done "+line)
		return err
	}
	return fmt.Errorf("expected stop PART or start PART with a part that runs here, found %q", line)
}
