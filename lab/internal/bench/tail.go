package bench

import (
	"bufio"
	"bytes"
	"io"
	"os"
)

// tail reads what a log grows by, each line once.
type tail struct {
	path string
	at   int64
}

// tailOf starts at the end that the log has now.
func tailOf(path string) (tail, error) {
	info, err := os.Stat(path)
	if err != nil {
		return tail{}, err
	}
	return tail{path: path, at: info.Size()}, nil
}

// read hands over the lines that came since the last reading. A line without an end is left for the next
// one: its writer may be at it.
func (t *tail) read(take func(line []byte)) error {
	file, err := os.Open(t.path)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := file.Seek(t.at, io.SeekStart); err != nil {
		return err
	}
	for lines := bufio.NewReader(file); ; {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		t.at += int64(len(line))
		take(bytes.TrimSuffix(line, []byte("\n")))
	}
}
