package cni

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// addressFiles stores one file for each address in use. The file's name is the address, and the file contains the
// container's ID. The plugin creates each file with O_EXCL, so no lock is necessary.
type addressFiles struct{ dir string }

// reserve returns the address of a container. If the container has no address yet, reserve chooses the first free
// address.
func (l addressFiles) reserve(id string) (string, error) {
	if ip := l.find(id); ip != "" {
		return ip, nil
	}
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return "", fmt.Errorf("create lease directory: %w", err)
	}
	for n := 2; n < 1<<16-1; n++ {
		ip := fmt.Sprintf("127.2.%d.%d", n>>8, n&0xff)
		file, err := os.OpenFile(filepath.Join(l.dir, ip), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("reserve an address: %w", err)
		}
		_, err = file.WriteString(id)
		if closeErr := file.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			return "", fmt.Errorf("reserve an address: %w", err)
		}
		return ip, nil
	}
	return "", errors.New("reserve an address: 127.2.0.0/16 has no free address")
}

// For every lease, forEach calls the function "visit" with the path of the lease's file and the container's ID.
func (l addressFiles) forEach(visit func(path, id string)) {
	paths, _ := filepath.Glob(filepath.Join(l.dir, "127.2.*"))
	for _, path := range paths {
		if data, err := os.ReadFile(path); err == nil {
			visit(path, strings.TrimSpace(string(data)))
		}
	}
}

func (l addressFiles) find(id string) (ip string) {
	l.forEach(func(path, holder string) {
		if holder == id {
			ip = filepath.Base(path)
		}
	})
	return ip
}

func (l addressFiles) release(id string) {
	l.forEach(func(path, holder string) {
		if holder == id {
			_ = os.Remove(path)
		}
	})
}

// retain keeps the leases of the given containers and releases all other leases.
func (l addressFiles) retain(valid map[string]bool) {
	l.forEach(func(path, holder string) {
		if !valid[holder] {
			_ = os.Remove(path)
		}
	})
}
