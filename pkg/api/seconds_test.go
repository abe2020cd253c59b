package api

import (
	"encoding/json"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"
)

func TestSecondsText(t *testing.T) {
	for text, want := range map[string]Seconds{
		"0":                     0,
		"1":                     Seconds(time.Second),
		"1.5":                   Seconds(1500 * time.Millisecond),
		"0.000000001":           1,
		"-0.000000001":          -1,
		"-12.25":                Seconds(-12250 * time.Millisecond),
		"60":                    Seconds(time.Minute),
		"9223372036.854775807":  math.MaxInt64,
		"-9223372036.854775808": math.MinInt64,
	} {
		if got := want.String(); got != text {
			t.Errorf("%d ns: got %s, want %s", int64(want), got, text)
		}
		var got Seconds
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
			t.Errorf("read %s: got %d ns, %v; want %d ns", text, int64(got), err, int64(want))
		}
	}
}

func TestSecondsReadsTrailingZeros(t *testing.T) {
	var got Seconds
	if err := json.Unmarshal([]byte("1.500"), &got); err != nil || got != Seconds(1500*time.Millisecond) {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestSecondsRefuses(t *testing.T) {
	for _, text := range []string{
		`"1"`, `1e3`, `0.0000000001`, `9223372036.854775808`, `-9223372036.854775809`,
		`99999999999999999999`, `true`, `{}`, `""`, `[]`,
	} {
		var got Seconds
		if err := json.Unmarshal([]byte(text), &got); err == nil {
			t.Errorf("%s: read as %v, want an error", text, got)
		}
	}
}

// TestSecondsAddUpInDecimal adds the printed decimals with decimal arithmetic that is independent of Seconds.
func TestSecondsAddUpInDecimal(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var total Seconds
		sum := new(big.Rat)
		for range random.IntN(40) {
			part := Seconds(random.Int64N(int64(10 * time.Minute)))
			total += part
			addDecimal(t, sum, part.String())
		}
		want := new(big.Rat)
		addDecimal(t, want, total.String())
		if sum.Cmp(want) != 0 {
			t.Fatalf("the parts sum to %s, the total is %s", sum.FloatString(12), want.FloatString(12))
		}
	}
}

func addDecimal(t *testing.T, sum *big.Rat, text string) {
	t.Helper()
	part, ok := new(big.Rat).SetString(text)
	if !ok {
		t.Fatalf("not a number: %q", text)
	}
	sum.Add(sum, part)
}

func FuzzSeconds(f *testing.F) {
	for _, seed := range []string{"0", "-1.5", "1.", ".5", "+1", "-", "9223372036.854775807", "1e9", "00.1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		read, err := parseSeconds(text)
		if err != nil {
			return
		}
		again, err := parseSeconds(read.String())
		if err != nil || again != read {
			t.Fatalf("%q read as %v, then as %v, %v", text, read, again, err)
		}
	})
}
