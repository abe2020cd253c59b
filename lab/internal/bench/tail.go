package bench

import (
	"bufio"
	"bytes"
	"io"
	"os"
)

// tail reads the lines that a program appends to a log. tail reads each line once.
type tail struct {
	path string
	at   int64
}

// tailOf returns a tail that starts at the current end of the log.
func tailOf(path string) (tail, error) {
	info, err := os.Stat(path)
	if err != nil {
		return tail{}, err
	}
	return tail{path: path, at: info.Size()}, nil
}

// readNew calls a function for each new line of the log. If the last line is incomplete, readNew does not read this
// line. A later call reads the complete line.
func (t *tail) readNew(take func(line []byte)) error {
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
