package cni

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"
)

// Faults is the content of the faults file. The plugin reads the file at every ADD command. Without the file, the
// plugin injects no fault.
type Faults struct {
	// limits the fault to the pods of this namespace; if empty, the fault applies to all namespaces
	Namespace string   `json:"namespace,omitempty"`
	Pods      []string `json:"pods,omitempty"` // if set, limits the fault to these pods
	Delay     Duration `json:"delay,omitzero"` // delay before the plugin's first action
	Fail      string   `json:"fail,omitempty"` // error that the plugin returns after the delay
	More      []Faults `json:"more,omitempty"` // faults of other pods; the first fault that matches a pod applies
}

// faultOf returns the fault for a pod.
func (f Faults) faultOf(namespace, pod string) Faults {
	if f.matches(namespace, pod) && (f.Delay.Duration > 0 || f.Fail != "") {
		return f
	}
	for _, other := range f.More {
		if found := other.faultOf(namespace, pod); found.Delay.Duration > 0 || found.Fail != "" {
			return found
		}
	}
	return Faults{}
}

func (f Faults) matches(namespace, pod string) bool {
	return (f.Namespace == "" || f.Namespace == namespace) && (len(f.Pods) == 0 || slices.Contains(f.Pods, pod))
}

// Duration is a duration that is written in Go's format, such as "2s".
type Duration struct{ time.Duration }

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(text []byte) (err error) {
	d.Duration, err = time.ParseDuration(string(text))
	return err
}

// ReadFaults reads a faults file. If the file does not exist, ReadFaults returns no faults.
func ReadFaults(path string) (Faults, error) {
	var faults Faults
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || path == "" {
		return Faults{}, nil
	}
	if err != nil {
		return Faults{}, fmt.Errorf("read faults: %w", err)
	}
	if err := json.Unmarshal(data, &faults); err != nil {
		return Faults{}, fmt.Errorf("parse the faults file: %w", err)
	}
	return faults, nil
}

// WriteFaults replaces a faults file atomically, because the plugin can read the file at any time.
func WriteFaults(path string, faults Faults) error {
	data, err := json.Marshal(faults)
	if err != nil {
		return fmt.Errorf("encode faults: %w", err)
	}
	if err := os.WriteFile(path+".new", data, 0o600); err != nil {
		return fmt.Errorf("write faults: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("write faults: %w", err)
	}
	return nil
}
