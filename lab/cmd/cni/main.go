// Command cni is the lab's network plugin, which containerd runs. See internal/cni.
package main

import (
	"os"

	"github.com/podlapse/podlapse/lab/internal/cni"
)

func main() { os.Exit(cni.Main(os.Getenv, os.Stdin, os.Stdout)) }
