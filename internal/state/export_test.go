package state

import "slices"

// InMemory returns a directory with one file in memory. The file contains the given text, or does not exist if the
// text is empty. Each save calls replace with the new text.
func InMemory(text []byte, node string, replace func(text []byte)) (*Dir, error) {
	d := &Dir{file: inMemory(func(text []byte) error {
		replace(text)
		return nil
	})}
	if len(text) == 0 {
		return d, nil
	}
	var err error
	d.Contents, err = parse(text, node)
	return d, err
}

// inMemory returns a file in memory. The function "write" receives the whole text at each save, and can refuse it.
func inMemory(write func(text []byte) error) file {
	var text []byte
	save := func(changed []byte) error {
		err := write(changed)
		if err == nil {
			text = changed
		}
		return err
	}
	return file{
		path:    "memory",
		replace: func(lines [][]byte) error { return save(slices.Concat(lines...)) },
		append: func(lines [][]byte, size int64) error {
			if size != int64(len(text)) {
				panic("the saver expects another size")
			}
			return save(slices.Concat(text, slices.Concat(lines...)))
		},
	}
}
