package state

import (
	"errors"
	"io"
)

var errUnixOnly = errors.New("not supported on Windows: unset the flag")

// Agents run on Unix nodes only; podlapse-agent explain and replay work anywhere.
func (d dir) lock() (io.Closer, error) { return nil, errUnixOnly }

func (d dir) replace([][]byte) error { return errUnixOnly }
