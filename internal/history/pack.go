package history

import (
	"bytes"
	_ "embed"
	"io"
	"sync"

	"github.com/klauspost/compress/flate"
)

// typical is a record as most are. What a record has in common with it, such as names of fields,
// takes nothing when packed.
//
//go:embed typical.txt
var typical []byte

// pack compresses without memory that it would keep between records. The result has no room to spare.
func pack(text []byte) ([]byte, error) {
	var out bytes.Buffer
	if err := flate.StatelessDeflate(&out, text, true, typical); err != nil {
		return nil, err
	}
	return bytes.Clone(out.Bytes())[:out.Len():out.Len()], nil
}

var unpackers = sync.Pool{New: func() any { return flate.NewReaderDict(bytes.NewReader(nil), typical) }}

func unpack(packed []byte) ([]byte, error) {
	reader := unpackers.Get().(io.Reader)
	defer unpackers.Put(reader)
	if err := reader.(flate.Resetter).Reset(bytes.NewReader(packed), typical); err != nil {
		return nil, err
	}
	return io.ReadAll(reader)
}
