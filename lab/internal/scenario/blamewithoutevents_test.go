package scenario

import (
	"strings"
	"testing"
)

func TestRemoveEvents(t *testing.T) {
	const header = `{"kind":"header","version":2,"runtime":true,"events":`
	const pod, event = `{"kind":"pod_seen","pod":{"name":"a"}}` + "\n", `{"kind":"event_seen","uid":"a"}` + "\n"
	got, err := removeEvents([]byte(header + "true}\n" + event + pod + `{"kind":"events_lost","uid":"a"}` + "\n" +
		event + `{"kind":"pod_s`))
	if want := header + "false}\n" + pod; err != nil || string(got) != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	_, err = removeEvents([]byte(header + "false}\n"))
	if err == nil || !strings.Contains(err.Error(), `"events":true`) {
		t.Errorf("got %v, want an error for a recording without Events", err)
	}
}
