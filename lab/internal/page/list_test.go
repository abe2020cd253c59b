package page

import (
	"fmt"
	"testing"
)

// TestDeletedPods checks that deleted pods stay in the list, and that the page marks these pods as gone.
func TestDeletedPods(t *testing.T) {
	s := standIn(t, "--pods=20", "--leaving")
	tab := open(t, wide)
	must(t, tab.Go("http://"+s.address+"/"))
	must(t, tab.Await("a deleted pod",
		`document.querySelector('.row.gone:not([hidden])')?.innerText.includes('pod gone')`, soon))
	requireNoComplaints(t, tab)
}

// TestStartUpInProgressGrows checks that the duration of a start-up in progress grows with the browser's clock.
func TestStartUpInProgressGrows(t *testing.T) {
	tab := modules(t)
	got := ask[[]float64](t, tab, `(async () => {
		const { age, startUpOf, stuckIn } = `+module("startup.js")+`;
		const record = { ...(await (await fetch('api/v1/pods')).json()).items[0], total_seconds: 10 };
		const last = record.phases.at(-1).seconds;
		return ['starting', 'ready'].flatMap((state) => { const s = startUpOf({ ...record, state }, 1000);
			return [age(s, 6000), Math.round(stuckIn(s, 6000).seconds - last)]; }); })()`)
	if fmt.Sprint(got) != "[15 5 10 0]" {
		t.Errorf("%v", got)
	}
}

// TestPodDeletedDuringList deletes a pod while the agent sends the list of start-ups. The page must mark the pod as
// gone.
func TestPodDeletedDuringList(t *testing.T) {
	tab := modules(t)
	if gone := ask[bool](t, tab, `(async () => {
		const { Known } = `+module("known.js")+`;
		const record = (await (await fetch('api/v1/pods')).json()).items[0];
		const known = new Known();
		known.expectList();
		known.gone(record.uid);
		known.addPage([record], 0);
		known.completeList();
		return known.startUps.get(record.uid)?.gone === true; })()`); !gone {
		t.Error("the page must show the pod and mark it as gone")
	}
}

// TestDeletedPodsAreLimited checks the limit of deleted pods in the list. The page must remove the pods that were
// deleted first.
func TestDeletedPodsAreLimited(t *testing.T) {
	tab := modules(t)
	got := ask[[]string](t, tab, `(async () => {
		const { Known } = `+module("known.js")+`;
		const record = (await (await fetch('api/v1/pods')).json()).items[0];
		const known = new Known();
		for (let i = 0; i < 1100; i++) known.update({ ...record, uid: 'u' + i }, 0);
		for (let i = 1099; i >= 10; i--) known.gone('u' + i);
		const uids = [...known.startUps.keys()];
		return [String(uids.length), uids[0], uids[10], uids.at(-1)]; })()`)
	if fmt.Sprint(got) != "[1010 u0 u1009 u10]" { // ten existing pods, and the last thousand deleted pods
		t.Errorf("%v", got)
	}
}
