// Command sentences prints a random sample of the repository's sentences. See internal/sentences.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/podlapse/podlapse/lab/internal/sentences"
)

func main() {
	root := flag.String("root", "..", "root directory of the repository")
	seed := flag.Uint64("seed", 1, "seed of the sample")
	n := flag.Int("n", 30, "number of sentences from each group")
	flag.Parse()
	if err := run(*root, *seed, *n); err != nil {
		fmt.Fprintln(os.Stderr, "sentences:", err)
		os.Exit(1)
	}
}

func run(root string, seed uint64, n int) error {
	groups, err := sentences.Collect(os.DirFS(root))
	if err != nil {
		return err
	}
	return sentences.Print(os.Stdout, sentences.Sample(groups, seed, n))
}
