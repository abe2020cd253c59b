package state

import "slices"

// InMemory returns a directory with one file in memory. The file contains the given text, or does not exist if the
// text is empty. Each save calls replace with the new text.
func InMemory(text []byte, node string, replace func(text []byte)) (*Dir, error) {
	d := &Dir{file: "memory", replace: func(lines [][]byte) error {
		replace(slices.Concat(lines...))
		return nil
	}}
	if len(text) == 0 {
		return d, nil
	}
	var err error
	d.Contents, err = parse(text, node)
	return d, err
}
