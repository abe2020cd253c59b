package prereq

import (
	"strings"
	"testing"
)

func TestSupported(t *testing.T) {
	if err := Supported("linux", 0); err != nil {
		t.Error(err)
	}
	if err := Supported("darwin", 0); err == nil || !strings.Contains(err.Error(), "darwin") {
		t.Errorf("error %v does not name the system", err)
	}
	if err := Supported("linux", 1000); err == nil || !strings.Contains(err.Error(), "root") {
		t.Errorf("error %v does not name the remedy", err)
	}
}

func TestEveryMissingPackageIsNamed(t *testing.T) {
	never := func() bool { return false }
	missing := absent([]requirement{{"one", "first", never}, {"two", "second", never}, {"three", "third", func() bool { return true }}})
	message := describe(missing).Error()
	if !strings.Contains(message, "one (first)") || !strings.Contains(message, "two (second)") || strings.Contains(message, "three") {
		t.Errorf("error %q", message)
	}
}
