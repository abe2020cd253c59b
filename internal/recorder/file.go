package recorder

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/podlapse/podlapse/internal/recording"
)

const (
	// MaxFile is the maximum size of a file in bytes. A recorder stops writing to the file if the next line would
	// exceed this size.
	MaxFile = 256 << 20
	// fileBuffer is the size of the write buffer in bytes. If no more observations are queued, the recorder writes the
	// buffer even if it is not full.
	fileBuffer = 64 << 10
)

// File is a file to which a recorder appends observations. File is not safe for concurrent use.
type File struct {
	out   io.WriteCloser
	limit int64

	size    int64 // total size of the file and the buffer
	buffer  []byte
	waiting int // number of lines in the buffer
}

// OpenFile opens an existing recording to append to it, or creates the file. Only the owner can read a new file.
// OpenFile removes an incomplete last line. An agent that is killed during a write leaves an incomplete last line.
func OpenFile(path string) (*File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%w: check that the directory exists and that the agent's user can write the file, or "+
			"choose another file", err)
	}
	size, err := cutLine(file)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), file.Close())
	}
	return &File{out: file, limit: MaxFile, size: size}, nil
}

// cutLine removes an incomplete last line, and returns the size of the file.
func cutLine(file *os.File) (int64, error) {
	whole, size, err := measure(file)
	if err != nil {
		return 0, err
	}
	if whole < size {
		if err := file.Truncate(whole); err != nil {
			return 0, fmt.Errorf("cannot remove the incomplete last line of the file: %w", err)
		}
	}
	return whole, nil
}

// measure returns the total size of the complete lines, and the size of the file. If the agent cannot append to the
// file, for example because the file is not a recording, measure returns an error.
func measure(file *os.File) (whole, size int64, err error) {
	info, err := file.Stat()
	if err != nil {
		return 0, 0, fmt.Errorf("read the size of the file: %w", err)
	}
	if !info.Mode().IsRegular() {
		return 0, 0, errors.New("the path is not a regular file: choose another file")
	}
	if size = info.Size(); size == 0 {
		return 0, 0, nil
	}
	first, err := bufio.NewReaderSize(io.NewSectionReader(file, 0, size), recording.MaxLine).ReadSlice('\n')
	if err == nil {
		_, err = recording.DecodeHeader(first)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("the file does not begin with a valid header of a recording, so choose another "+
			"file: %w", err)
	}
	tail := make([]byte, min(size, recording.MaxLine))
	if _, err := file.ReadAt(tail, size-int64(len(tail))); err != nil {
		return 0, 0, fmt.Errorf("read the end of the file: %w", err)
	}
	end := bytes.LastIndexByte(tail, '\n')
	if end < 0 {
		return 0, 0, fmt.Errorf("the last line of the file has more than %d bytes: choose another file",
			recording.MaxLine)
	}
	return size - int64(len(tail)-1-end), size, nil
}

// begin writes a header immediately.
func (f *File) begin(header []byte) error {
	if !f.fits(header) {
		return f.full()
	}
	f.size += int64(len(header))
	_, err := f.out.Write(header)
	return err
}

// write appends a line to the buffer. Before the call, the caller must check that the line fits into the file
// (File.fits). write returns the number of lines that this call wrote to the file.
func (f *File) write(line []byte) (taken int, err error) {
	f.size += int64(len(line))
	f.buffer = append(f.buffer, line...)
	f.waiting++
	if len(f.buffer) < fileBuffer {
		return 0, nil
	}
	return f.flush()
}

func (f *File) fits(line []byte) bool { return f.size+int64(len(line)) <= f.limit }

func (f *File) full() error { return fullError(f.limit) }

func fullError(limit int64) error {
	return fmt.Errorf("the file has reached its limit of %d MiB: record to another file", limit>>20)
}

// flush writes the lines in the buffer and returns their number.
func (f *File) flush() (taken int, err error) {
	if f.waiting == 0 {
		return 0, nil
	}
	if _, err := f.out.Write(f.buffer); err != nil {
		return 0, err
	}
	taken = f.waiting
	f.buffer, f.waiting = f.buffer[:0], 0
	return taken, nil
}
