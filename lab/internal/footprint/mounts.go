package footprint

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// mount is one line of /proc/self/mountinfo.
type mount struct {
	point  string
	kind   string // file system type
	source string
}

func mounts() ([]mount, error) {
	file, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("list mounts: %w", err)
	}
	defer file.Close()
	var all []mount
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20) // an overlay mount with many layers has a long line
	for lines.Scan() {
		if m, ok := parseMount(lines.Text()); ok {
			all = append(all, m)
		}
	}
	return all, lines.Err()
}

// parseMount parses a line of the form "36 35 98:0 /root /point options [tags…] - kind source superoptions".
func parseMount(line string) (mount, bool) {
	before, after, ok := strings.Cut(line, " - ")
	left, right := strings.Fields(before), strings.Fields(after)
	if !ok || len(left) < 6 || len(right) < 2 {
		return mount{}, false
	}
	return mount{point: unescape(left[4]), kind: right[0], source: unescape(right[1])}, true
}

// unescape decodes the octal escapes that the kernel uses for space, tab, newline and backslash.
func unescape(text string) string {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+3 < len(text) {
			if code, err := strconv.ParseUint(text[i+1:i+4], 8, 8); err == nil {
				out.WriteByte(byte(code))
				i += 3
				continue
			}
		}
		out.WriteByte(text[i])
	}
	return out.String()
}

func below(path string, dirs []string) bool {
	for _, dir := range dirs {
		if path == dir || strings.HasPrefix(path, dir+"/") {
			return true
		}
	}
	return false
}

// Mounts returns the mount points inside the given directories.
func Mounts(dirs ...string) ([]string, error) {
	all, err := mounts()
	if err != nil {
		return nil, err
	}
	var points []string
	for _, m := range all {
		if below(m.point, dirs) {
			points = append(points, m.point)
		}
	}
	return points, nil
}

// Unmount unmounts everything inside the given directories. Unmount begins with the latest mount.
func Unmount(dirs ...string) error {
	const passes = 5 // more than one pass is necessary if a mount hides an earlier mount on the same directory
	var failures []error
	for range passes {
		points, err := Mounts(dirs...)
		if err != nil {
			return err
		}
		if len(points) == 0 {
			return nil
		}
		failures = nil
		for i := len(points) - 1; i >= 0; i-- {
			// A lazy unmount succeeds even if another process still uses the mount.
			if err := syscall.Unmount(points[i], syscall.MNT_DETACH); err != nil {
				failures = append(failures, fmt.Errorf("unmount %s: %w", points[i], err))
			}
		}
	}
	if points, err := Mounts(dirs...); err != nil || len(points) > 0 {
		return errors.Join(append(failures, fmt.Errorf("unmount: %d mounts remain: %v", len(points), points), err)...)
	}
	return nil
}
