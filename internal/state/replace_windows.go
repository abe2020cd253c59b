package state

import (
	"errors"
	"io"
)

var errUnixOnly = errors.New("the state directory is not supported on Windows: unset --state-dir")

// Agents run only on Unix nodes. The commands `explain` and `replay` work on all systems.
func (d dir) lock() (io.Closer, error) { return nil, errUnixOnly }

func (d dir) append([][]byte, int64) error { return errUnixOnly }

func (d dir) replace([][]byte) error { return errUnixOnly }

func (d dir) replaceFile(string, [][]byte) error { return errUnixOnly }
