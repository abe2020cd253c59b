package scenario

import "testing"

func TestSelectedCostKinds(t *testing.T) {
	kinds, err := costKinds("3,14")
	if err != nil || len(kinds) != 2 || kinds[0].number != 3 || kinds[1].number != 14 {
		t.Errorf("got %+v, %v, want the loads 3 and 14", kinds, err)
	}
	for _, wrong := range []string{"0", "15", "3,", "half"} {
		if kinds, err := costKinds(wrong); err == nil {
			t.Errorf("%q selects %+v, want an error", wrong, kinds)
		}
	}
}
