// Command runc-without-limits removes the limits from a container and executes runc. See internal/runc.
package main

import (
	"os"

	"github.com/podlapse/podlapse/lab/internal/runc"
)

func main() { os.Exit(runc.Main(os.Args, os.Environ(), os.Stderr)) }
