//go:build !linux

package clockset

import "errors"

var errLinux = errors.New("only Linux notifies a process of such changes")

func newAlarm() (alarm, error) { return nil, errLinux }

func readClocks() (reading, error) { return reading{}, errLinux }
