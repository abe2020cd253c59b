package history

import (
	"bytes"
	_ "embed"
	"io"
	"sync"

	"github.com/klauspost/compress/flate"
)

// typicalRecord is the preset dictionary of the compression. Text that a record shares with typicalRecord, such as
// field names, takes almost no space.
//
//go:embed typical.txt
var typicalRecord []byte

// pack compresses a text. pack keeps no memory between calls. The result has no spare capacity.
func pack(text []byte) ([]byte, error) {
	var out bytes.Buffer
	if err := flate.StatelessDeflate(&out, text, true, typicalRecord); err != nil {
		return nil, err
	}
	return bytes.Clone(out.Bytes())[:out.Len():out.Len()], nil
}

var unpackers = sync.Pool{New: func() any { return flate.NewReaderDict(bytes.NewReader(nil), typicalRecord) }}

func unpack(packed []byte) ([]byte, error) {
	reader := unpackers.Get().(io.Reader)
	defer unpackers.Put(reader)
	if err := reader.(flate.Resetter).Reset(bytes.NewReader(packed), typicalRecord); err != nil {
		return nil, err
	}
	return io.ReadAll(reader)
}
