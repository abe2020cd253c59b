package timeline

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// eventAt returns an Event n seconds after the creation of the pod.
func eventAt(n int, message string) EventSeen {
	named := base.Add(time.Duration(n)*time.Second + 5)
	return EventSeen{UID: "u", ArrivedAt: named.Add(time.Second), Reason: "FailedMount", Message: message,
		NamedAt: named,
		FirstAt: named.Truncate(time.Second), LastAt: named.Truncate(time.Second), Count: 1}
}

func messagesAfter(observations []Observation) []EventMessage {
	e := NewEvidence(Scope{})
	e.Apply(PodSeen{ArrivedAt: base, Live: true, Pod: Pod{UID: "u", CreatedAt: base}})
	for _, o := range observations {
		e.Apply(o)
	}
	t, _ := e.Timeline(base.Add(time.Hour), Skew{})
	return t.EventMessage
}

func TestEarliestMessagesAreKept(t *testing.T) {
	var events []Observation
	for n := range 2 * maxMessages {
		event := eventAt(n, fmt.Sprint("attempt ", n))
		events = append(events, event)
		event.Count, event.LastAt, event.ArrivedAt = 2, event.LastAt.Add(time.Minute), event.ArrivedAt.Add(time.Minute)
		events = append(events, event) // the same Event again
	}
	want := messagesAfter(events)
	if len(want) != maxMessages || want[0].Message != "attempt 0" ||
		want[maxMessages-1].Message != fmt.Sprint("attempt ", maxMessages-1) ||
		!want[0].At.Equal(base.Add(5)) || want[0].Reason != "FailedMount" {
		t.Fatalf("%d kept: %+v", len(want), want)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		random.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
		if got := messagesAfter(events); !reflect.DeepEqual(got, want) {
			t.Fatalf("order changes what is kept:\n%+v\nwant\n%+v", got, want)
		}
	}
}

func TestMessagesAreValidAndShort(t *testing.T) {
	for _, message := range []string{strings.Repeat("ö", 200), "a" + strings.Repeat("ö", 200),
		strings.Repeat("\xff", 300), "a\xffb"} {
		got := messagesAfter([]Observation{eventAt(1, message)})
		if len(got) != 1 || len(got[0].Message) > maxMessageBytes || !utf8.ValidString(got[0].Message) ||
			got[0].Message == "" {
			t.Errorf("%q became %+v", message, got)
		}
	}
}

func TestMessagesAfterStartUpAreIgnored(t *testing.T) {
	ready := PodSeen{ArrivedAt: base.Add(5 * time.Second), Live: true, Pod: Pod{UID: "u", CreatedAt: base,
		Conditions: []Condition{{"Ready", true, base.Add(4 * time.Second)}}}}
	got := messagesAfter([]Observation{eventAt(1, "before"), ready, eventAt(30, "after")})
	if len(got) != 1 || got[0].Message != "before" {
		t.Errorf("got %+v", got)
	}
}
