package cni

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// Entry is one line of the plugin's log. Each entry describes one ADD command, with the wall-clock times of its start
// and its end.
type Entry struct {
	Command     string    `json:"command"`
	ContainerID string    `json:"container_id"`
	Namespace   string    `json:"namespace,omitempty"`
	Pod         string    `json:"pod,omitempty"`
	StartAt     time.Time `json:"start_at"`
	EndAt       time.Time `json:"end_at"`
	Error       string    `json:"error,omitempty"`
}

// appendEntry appends one line to the log. appendEntry uses only one system call, so the lines of concurrent plugin
// processes do not mix.
func appendEntry(path string, entry Entry) error {
	if path == "" {
		return nil
	}
	line, err := json.Marshal(entry)
	if err != nil {
		return fmt.Errorf("encode log entry: %w", err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	defer file.Close()
	if _, err := file.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("write log: %w", err)
	}
	return nil
}

// ReadLog returns the entries for the pods of a namespace. The oldest entry is first. If the file does not exist,
// ReadLog returns no entries.
func ReadLog(path, namespace string) ([]Entry, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	defer file.Close()
	var entries []Entry
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var entry Entry
		if err := json.Unmarshal(lines.Bytes(), &entry); err != nil {
			return nil, fmt.Errorf("parse log: %w", err)
		}
		if entry.Namespace == namespace {
			entries = append(entries, entry)
		}
	}
	return entries, nil
}
