package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Record is the lab's record of one background process.
type Record struct {
	Name        string    `json:"name"`
	Identity              // PID and start time of the process
	Boot        string    `json:"boot_id"`
	Fingerprint string    `json:"fingerprint"` // fingerprint of the spec when the process started
	Log         string    `json:"log"`
	StartedAt   time.Time `json:"started_at"`
}

// Alive reports whether the recorded process still runs. After a reboot, the result is false, even if another process
// has the same PID.
func (r Record) Alive() bool { return r.Boot == BootID() && r.Identity.Alive() }

// Table stores records in a directory. Each record has its own file, so a crash during a write destroys at most one
// record.
type Table struct{ Dir string }

// Put stores a record. If a record with the same name exists, Put replaces the existing record.
func (t Table) Put(r Record) error {
	data, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode the record of a process: %w", err)
	}
	path := filepath.Join(t.Dir, r.Name+".json")
	if err := os.WriteFile(path+".new", data, 0o600); err != nil {
		return fmt.Errorf("write the record of a process: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("write the record of a process: %w", err)
	}
	return nil
}

// Get returns the record of a process. If the record is missing or not readable, ok is false.
func (t Table) Get(name string) (r Record, ok bool) {
	data, err := os.ReadFile(filepath.Join(t.Dir, name+".json"))
	if err != nil || json.Unmarshal(data, &r) != nil || r.Name != name {
		return Record{}, false
	}
	return r, true
}

// Remove removes the record of a process.
func (t Table) Remove(name string) error {
	err := os.Remove(filepath.Join(t.Dir, name+".json"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the record of a process: %w", err)
	}
	return nil
}
