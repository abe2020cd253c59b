package peer

import (
	"fmt"
	"testing"
)

func TestOf(t *testing.T) {
	for address, want := range map[string]string{
		"10.0.0.7:4000": "10.0.0.7/32", "[::ffff:10.0.0.7]:4000": "10.0.0.7/32",
		"[2001:db8:1:2:3:4:5:6]:4000": "2001:db8:1:2::/64", "[2001:db8:1:2::1]:9": "2001:db8:1:2::/64",
		"[fe80::1%eth0]:4000": "fe80::/64", "": "invalid Prefix", "@": "invalid Prefix",
	} {
		if got := Of(address).String(); got != want {
			t.Errorf("%s is %s, want %s", address, got, want)
		}
	}
}

func TestLatestEvictsOldest(t *testing.T) {
	made := 0
	l := NewLatest(3, func() *int { made++; n := made; return &n })
	of := func(i int) int { return *l.Of(Of(fmt.Sprintf("10.0.0.%d:1", i))) }
	for i := 1; i <= 3; i++ {
		if got := of(i); got != i {
			t.Fatalf("peer %d has %d", i, got)
		}
	}
	of(1)
	of(4) // replaces 2
	if of(1) != 1 || of(3) != 3 || of(4) != 4 || of(2) != 5 {
		t.Error("another peer was forgotten")
	}
	if len(l.known) != 3 || l.order.Len() != 3 {
		t.Errorf("stored %d and %d peers, want 3", len(l.known), l.order.Len())
	}
}
