package web

import (
	"net/http"
	"testing"

	"github.com/podlapse/podlapse/internal/startuptest"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// TestWhatIf requests a present pod and a deleted pod. Only the response about one pod contains predictions.
func TestWhatIf(t *testing.T) {
	f := &fake{timelines: []timeline.Timeline{startuptest.Predictable("web-0")},
		gone: []timeline.Timeline{startuptest.Predictable("web-1")}}
	for _, name := range []string{"web-0", "web-1"} {
		record := decode[api.Record](t, f.ask(t, http.MethodGet, "/api/v1/pods/shop/"+name))
		if len(record.WhatIf) != 1 || record.WhatIf[0].Change != api.WhatIfImages {
			t.Errorf("%s: %+v, want a prediction about the image", name, record.WhatIf)
		}
	}
	for _, record := range decode[api.PodList](t, f.ask(t, http.MethodGet, "/api/v1/pods")).Items {
		if record.WhatIf != nil {
			t.Errorf("the list contains the predictions %+v", record.WhatIf)
		}
	}
}
