// Command credentials is the lab's credential provider plugin, which the kubelet runs. See internal/credentials.
package main

import (
	"os"

	"github.com/podlapse/podlapse/lab/internal/credentials"
)

func main() { os.Exit(credentials.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
