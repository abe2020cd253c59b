package web

import (
	"testing"
	"time"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/imagepull"
)

// TestRegistriesExcludeResumedPulls checks that the sums of bytes and of download time exclude resumed pulls.
func TestRegistriesExcludeResumedPulls(t *testing.T) {
	pull := func(registry string, resumed bool) api.PullRecord {
		return api.PullRecord{Registry: registry, Outcome: imagepull.OutcomeDownloaded, Resumed: resumed,
			Download: &api.DownloadRecord{Length: api.Seconds(10 * time.Second), Bytes: 1000}}
	}
	sums := newRegistrySums()
	sums.add([]api.PullRecord{
		pull("r.example", false), pull("r.example", false), pull("resumed.example", true),
		{Registry: "r.example", Outcome: imagepull.OutcomeFailed, Failure: imagepull.FailureDNS, Unconfirmed: true},
	})
	list := sums.list().Items
	if len(list) != 2 || list[0].Bytes != 2000 || list[0].DownloadTime != api.Seconds(20*time.Second) ||
		list[0].Failures[imagepull.FailureUnconfirmed] != 1 {
		t.Errorf("%+v", list)
	} else if resumed := list[1]; resumed.Bytes != 0 || resumed.DownloadTime != 0 ||
		resumed.Outcomes[imagepull.OutcomeDownloaded] != 1 {
		t.Errorf("%+v", resumed)
	}
}
