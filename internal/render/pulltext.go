package render

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/podlapse/podlapse/internal/terminal"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// LivePullText returns the state of a pull in progress. If the agent does not know whether the pull waits or runs,
// LivePullText names both possibilities.
func LivePullText(pull api.LivePullRecord) string { return livePullText(pull, "") }

// LivePullRateText is like LivePullText but adds the rate and the remaining time of the download.
func LivePullRateText(pull api.LivePullRecord) string { return livePullText(pull, rateText(pull)) }

func livePullText(pull api.LivePullRecord, rate string) string {
	text := cmp.Or(terminal.Clean(pull.State), terminal.Clean(string(pull.Outcome)))
	if pull.State == "" && pull.Outcome == imagepull.OutcomePulling {
		text = "queued or pulling"
	}
	text += rate
	if pull.Restart {
		text += ", restart"
	}
	if pull.Outcome == imagepull.OutcomeExternal && pull.State != "" {
		text += ", external"
	}
	return text
}

// LivePullFromText describes a pull in progress. Until all content has arrived, the text names the registry.
func LivePullFromText(pull api.LivePullRecord) string {
	registry := terminal.Clean(pull.Registry)
	switch pull.State {
	case api.PullStateUnpacking:
		return "unpacking"
	case api.PullStateQueued:
		return "queued for " + registry
	case api.PullStatePulling:
		return strings.TrimSpace(ProgressText(pull) + " from " + registry + rateText(pull))
	}
	return LivePullText(pull) + " from " + registry
}

// ProgressText returns the received bytes and the size of a pull. If the size is unknown, ProgressText returns only the
// received bytes. If the received bytes and the size are unknown, the text is empty.
func ProgressText(pull api.LivePullRecord) string {
	switch {
	case pull.TotalBytes > 0:
		share := float64(pull.DoneBytes) / float64(pull.TotalBytes) * 100
		return fmt.Sprintf("%.1f of %s (%.0f %%)", float64(pull.DoneBytes)/mebibyte, SizeText(pull.TotalBytes),
			max(min(share, 100), 0))
	case pull.DoneBytes > 0:
		return SizeText(pull.DoneBytes)
	}
	return ""
}

// rateText returns the rate and the remaining time of a download. The text begins with a space, for example " at 12.0
// MiB/s, download ends in about 8 s". If the rate is unknown, rateText returns an empty text.
func rateText(pull api.LivePullRecord) string {
	if pull.State != api.PullStatePulling || pull.BytesPerSecond <= 0 {
		return ""
	}
	text := fmt.Sprintf(" at %.1f MiB/s", float64(pull.BytesPerSecond)/mebibyte)
	if pull.BytesPerSecond < mebibyte/10 {
		text = fmt.Sprintf(" at %.1f KiB/s", float64(pull.BytesPerSecond)/kibibyte)
	}
	if pull.Remaining > 0 {
		text += ", download ends in about " + aboutText(pull.Remaining.Duration())
	}
	return text
}

// aboutText formats an estimate. A duration below an hour ends with seconds, for example 2m05s. A longer duration ends
// with minutes, for example 1h02m.
func aboutText(d time.Duration) string {
	if d = max(d, time.Second).Round(time.Second); d < time.Minute {
		return fmt.Sprintf("%d s", d/time.Second)
	}
	return LengthText(d)
}

// LengthText formats a duration that is still growing. For example, LengthText returns "5.2 s", "2m05s" or "1h02m".
func LengthText(d time.Duration) string {
	d = max(d, 0).Round(100 * time.Millisecond)
	switch {
	case d < time.Minute:
		return timeline.SecondsText(d, 1)
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d/time.Second%60)
	}
	return fmt.Sprintf("%dh%02dm", d/time.Hour, d/time.Minute%60)
}
