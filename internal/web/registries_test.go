package web

import (
	"net/http"
	"testing"
	"time"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// TestImagesWithoutPullAreNotListed checks an image for which no evidence shows a pull, for example the image of a pod
// that waits for its ConfigMap, and a pull of unknown outcome whose end is known.
func TestImagesWithoutPullAreNotListed(t *testing.T) {
	waits := timeline.Timeline{Namespace: "a", Name: "waits", UID: "w", State: timeline.StateStarting,
		Pulls: []timeline.Pull{{Container: "app", Registry: "unused.example", Outcome: imagepull.OutcomeUnknown}}}
	pulled := timeline.Timeline{Namespace: "a", Name: "pulled", UID: "p", Pulls: []timeline.Pull{{Container: "app",
		Registry: "r.example", Outcome: imagepull.OutcomeUnknown, FinishedAt: requestedAt.Add(-time.Hour)}}}
	gone := waits
	gone.UID, gone.State, gone.SettledAt = "g", timeline.StateDeleted, requestedAt.Add(-time.Hour)
	f := &fake{timelines: []timeline.Timeline{waits, pulled}, gone: []timeline.Timeline{gone}}
	if got := decode[api.PullList](t, f.ask(t, http.MethodGet, "/api/v1/pulls")).Recent; len(got) != 1 ||
		got[0].UID != "p" {
		t.Errorf("recent pulls %+v", got)
	}
	registries := decode[api.RegistryList](t, f.ask(t, http.MethodGet, "/api/v1/registries")).Items
	if len(registries) != 1 || registries[0].Registry != "r.example" || registries[0].Outcomes["unknown"] != 1 {
		t.Errorf("registries %+v", registries)
	}
	totals := decode[api.TotalsRecord](t, f.ask(t, http.MethodGet, "/api/v1/totals")).Registries
	if len(totals) != 0 {
		t.Errorf("registries in the totals %+v", totals)
	}
	for _, e := range f.api().History.Entries() {
		if e.Pulled {
			t.Errorf("the history has a pull of the pod %s", e.Name)
		}
	}
}

// TestRegistriesExcludeResumedPulls checks that the sums of bytes and of download time exclude resumed pulls.
func TestRegistriesExcludeResumedPulls(t *testing.T) {
	pull := func(registry string, resumed bool) api.PullRecord {
		return api.PullRecord{Registry: registry, Outcome: imagepull.OutcomeDownloaded, Resumed: resumed,
			Download: &api.DownloadRecord{Length: api.Seconds(10 * time.Second), Bytes: 1000}}
	}
	sums := registrySums{}
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
