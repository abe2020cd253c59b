package credentials

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Store is the directory with the plugin's files: the login, the faults and the log.
type Store struct{ Dir string }

// Login is a user name with a password.
type Login struct {
	Username string `json:"username"`
	Password string `json:"password"`
}

// Fault delays the plugin's response for one image, or makes the response fail.
type Fault struct {
	Image string        `json:"image"` // image reference without the tag and the digest
	Delay time.Duration `json:"delay"`
	Fail  string        `json:"fail,omitempty"` // error that the plugin returns after the delay
}

// Entry is one line of the plugin's log. Each line describes one run of the plugin. StartAt and EndAt are the
// wall-clock times of the start and the end of the run.
type Entry struct {
	Image   string    `json:"image"`
	StartAt time.Time `json:"start_at"`
	EndAt   time.Time `json:"end_at"`
	Error   string    `json:"error,omitempty"`
}

func (s Store) loginFile() string  { return filepath.Join(s.Dir, "login.json") }
func (s Store) faultsFile() string { return filepath.Join(s.Dir, "faults.json") }
func (s Store) logFile() string    { return filepath.Join(s.Dir, "log.jsonl") }

// CreateLogin creates a login with a random password. The directory of the Store must exist.
func (s Store) CreateLogin() error {
	var random [16]byte
	_, _ = rand.Read(random[:]) // crypto/rand does not fail on Linux
	return s.replaceFile(s.loginFile(), Login{Username: "podlapse-lab", Password: hex.EncodeToString(random[:])})
}

// Login returns the user name and the password that CreateLogin stored.
func (s Store) Login() (Login, error) {
	var login Login
	data, err := os.ReadFile(s.loginFile())
	if err == nil {
		err = json.Unmarshal(data, &login)
	}
	if err != nil {
		return Login{}, fmt.Errorf("read the user name and the password for the registry: %w", err)
	}
	return login, nil
}

// SetFaults replaces the faults of the plugin.
func (s Store) SetFaults(faults ...Fault) error { return s.replaceFile(s.faultsFile(), faults) }

// readFaults returns the faults of the plugin. Before the first call of SetFaults, the result is empty.
func (s Store) readFaults() (faults []Fault, err error) {
	data, err := os.ReadFile(s.faultsFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &faults)
	}
	if err != nil {
		return nil, fmt.Errorf("read the injected faults of the credential provider plugin: %w", err)
	}
	return faults, nil
}

// replaceFile replaces a file atomically, because the plugin can read the file at any time.
func (s Store) replaceFile(path string, content any) error {
	data, err := json.Marshal(content)
	if err == nil {
		err = os.WriteFile(path+".new", data, 0o600)
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return fmt.Errorf("write a file of the credential provider plugin: %w", err)
	}
	return nil
}

// Runs returns the plugin's runs for an image, with the oldest run first.
func (s Store) Runs(image string) ([]Entry, error) {
	data, err := os.ReadFile(s.logFile())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the log of the credential provider plugin: %w", err)
	}
	var runs []Entry
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		var entry Entry
		if err := json.Unmarshal(lines.Bytes(), &entry); err != nil {
			return nil, fmt.Errorf("parse the log of the credential provider plugin: %w", err)
		}
		if entry.Image == image {
			runs = append(runs, entry)
		}
	}
	return runs, nil
}

// appendEntry writes each line with one system call, so that the lines of concurrent plugin processes do not mix.
func (s Store) appendEntry(entry Entry) error {
	line, err := json.Marshal(entry)
	if err != nil {
		return fmt.Errorf("encode an entry for the log of the credential provider plugin: %w", err)
	}
	file, err := os.OpenFile(s.logFile(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("open the log of the credential provider plugin: %w", err)
	}
	defer file.Close()
	if _, err := file.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("write the log of the credential provider plugin: %w", err)
	}
	return nil
}
