package scenario

import (
	"strings"
	"testing"
	"time"
)

func TestWhatIfVerdict(t *testing.T) {
	const second = time.Second
	good := whatIfPair{before: whatIfTruth{9 * second, 9 * second, second},
		after: whatIfTruth{3 * second, 3 * second, second}, predicted: true,
		prediction: whatIfPrediction{2 * second, 4 * second, 6500 * time.Millisecond, 5 * second, 7 * second}}
	missing, wrong, wide, lessGain, moreGain, noEstimate := good, good, good, good, good, good
	missing.predicted = false
	wrong.after = whatIfTruth{5 * second, 5 * second, second}
	wide.prediction = whatIfPrediction{0, 1000 * time.Hour, 6 * second, -1000 * time.Hour, 9 * second}
	noEstimate.prediction.gain = 0
	lessGain.prediction.gainLow, lessGain.prediction.gainHigh = 6300*time.Millisecond, 7*second
	moreGain.prediction.gainLow, moreGain.prediction.gainHigh = 5*second, 5600*time.Millisecond
	varied := lessGain // the true gain of 6 s is outside the interval only because of the variation
	varied.prediction.gainLow = 6200 * time.Millisecond
	lessLoad, moreLoad, notLoad := good, good, good
	lessLoad.before.steps, lessLoad.after = 2500*time.Millisecond, whatIfTruth{1500 * time.Millisecond,
		1500 * time.Millisecond, second}
	moreLoad.after = whatIfTruth{6 * second, 6 * second, 4 * second}
	notLoad.after = whatIfTruth{1500 * time.Millisecond, 1500 * time.Millisecond, second}
	for name, test := range map[string]struct {
		pairs []whatIfPair
		want  string // part of the problem; empty without a problem
	}{
		"right":                  {[]whatIfPair{good, good}, ""},
		"one without":            {[]whatIfPair{good, missing}, ""},
		"most without":           {[]whatIfPair{good, missing, missing}, "1 of 3 pods have a prediction"},
		"outside the interval":   {[]whatIfPair{good, wrong}, "the prediction was 2.000 to 4.000 s"},
		"wide interval":          {[]whatIfPair{good, wide}, "want an interval of at most 6.700 s"},
		"gain of less":           {[]whatIfPair{good, lessGain}, "the predicted gain was 6.300 to 7.000 s"},
		"gain of more":           {[]whatIfPair{moreGain}, "the change saved 5.667 to 6.273 s of 9.000 s"},
		"no estimate":            {[]whatIfPair{noEstimate}, "saved 6.000 s on average, but the estimate is 0.000 s"},
		"less load":              {[]whatIfPair{lessLoad, lessLoad}, ""},
		"more load":              {[]whatIfPair{moreLoad, moreLoad}, ""},
		"less without less load": {[]whatIfPair{notLoad}, "took 9.000 s before the change and 1.500 to 1.500 s after"},
		"varied gain":            {[]whatIfPair{varied}, ""},
		"no pod has prediction":  {[]whatIfPair{missing}, "0 of 1 pods"},
	} {
		v := &Verdict{}
		v.judgeWhatIf(whatIfCase{name: "image", wide: widthLimit(30, 0)}, test.pairs)
		problems := strings.Join(v.Problems, "\n")
		if (problems != "") != (test.want != "") || !strings.Contains(problems, test.want) {
			t.Errorf("%s: problems %q, want %q", name, problems, test.want)
		}
	}
}

func TestWhatIfReadsPrediction(t *testing.T) {
	const text = `{"what_if":[{"change":"images_on_node","total_least_seconds":1,"total_most_seconds":2.5,` +
		`"gain_seconds":3,"gain_least_seconds":-1,"gain_most_seconds":4},` +
		`{"change":"config_present","container":"main",` +
		`"total_least_seconds":5,"total_most_seconds":6,"gain_least_seconds":7,"gain_most_seconds":8}]}`
	p, there, err := whatIfCase{change: "images_on_node"}.read(text)
	want := whatIfPrediction{time.Second, 2500 * time.Millisecond, 3 * time.Second, -time.Second, 4 * time.Second}
	if err != nil || !there || p != want {
		t.Errorf("got %+v, %v, %v, want %+v", p, there, err, want)
	}
	if _, there, err := (whatIfCase{change: "config_present"}).read(text); there || err != nil {
		t.Errorf("a prediction of another container: %v, %v", there, err)
	}
	if _, _, err := (whatIfCase{}).read("{"); err == nil {
		t.Error("no error for incomplete JSON")
	}
}

func TestWhatIfCount(t *testing.T) {
	for text, want := range map[string]int{"": whatIfPods, "3": 3, "0": 0, "-1": 0, "many": 0} {
		if got, err := whatIfCount(text); got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
}
