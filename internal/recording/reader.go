package recording

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// ErrTruncated means that the last line is incomplete, for example because the agent was killed during a write. After
// all complete observations, Next returns an error that wraps ErrTruncated.
var ErrTruncated = errors.New("the last line is incomplete")

// Reader reads a recording.
type Reader struct {
	in     *bufio.Reader
	line   int // number of the last line read; the first line is 1
	header Header
	begun  bool // true after the header was read
}

// NewReader creates a reader. The Reader reads nothing before the first call of Next.
func NewReader(in io.Reader) *Reader {
	buffer := MaxLine
	if text, ok := in.(*bytes.Reader); ok {
		buffer = min(buffer, text.Len()+1) // a small buffer saves memory: a state file contains many short recordings
	}
	return &Reader{in: bufio.NewReaderSize(in, buffer)}
}

// Header returns the latest header that Next has read. This header applies to the latest observation.
func (r *Reader) Header() Header { return r.header }

// Next returns the next observation, or io.EOF after the last observation. Every error except io.EOF contains a line
// number. After an error, the Reader cannot continue. Next skips empty lines.
func (r *Reader) Next() (timeline.Observation, error) {
	for {
		line, err := r.nextLine()
		if err == io.EOF && !r.begun {
			return nil, fmt.Errorf("line %d: the input is empty, so it is not a recording", max(r.line, 1))
		}
		if err == io.EOF {
			return nil, err
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", max(r.line, 1), err)
		}
		o, err := r.decode(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", r.line, err)
		}
		if o != nil {
			return o, nil
		}
	}
}

// decode decodes a line. If the line is a header, decode stores the header and returns nil.
func (r *Reader) decode(line []byte) (timeline.Observation, error) {
	var t tag
	err := json.Unmarshal(line, &t)
	if !r.begun || err == nil && t.Kind == kindHeader {
		h, err := DecodeHeader(line)
		if err != nil && !r.begun {
			return nil, fmt.Errorf("the input is not a recording: %w", err)
		}
		if err != nil {
			return nil, err
		}
		r.header, r.begun = h, true
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return decode(t.Kind, line)
}

// nextLine returns the next line that is not empty. The line is valid until the next call.
func (r *Reader) nextLine() ([]byte, error) {
	for {
		line, err := r.in.ReadSlice('\n')
		if len(line) > 0 || err == nil {
			r.line++
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return nil, fmt.Errorf("the line is longer than %d bytes", MaxLine)
		case err != nil && err != io.EOF:
			return nil, fmt.Errorf("read the recording: %w", err)
		case err == io.EOF && len(line) > 0 && r.begun && !json.Valid(line):
			return nil, ErrTruncated
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
		if err != nil {
			return nil, err
		}
	}
}
