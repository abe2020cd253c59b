package state

import "slices"

// InMemory is a directory with one file in memory, which has the given text, or does not exist if the text is empty.
// replace is called when it is replaced.
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
