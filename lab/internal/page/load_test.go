package page

import (
	"bufio"
	"context"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/podlapse/podlapse/lab/internal/process"
)

// TestLoad measures the page and the stand-in with 500 pods, 20 changes per second, and six clients. The clients are
// the page, four clients that read the stream, and one client that does not read.
func TestLoad(t *testing.T) {
	const during = 4 * time.Second
	s := standIn(t, "--pods=500", "--changes=20")
	ctx, cancel := context.WithCancel(t.Context())
	var viewers sync.WaitGroup
	defer viewers.Wait()
	defer cancel()
	for range 4 {
		viewers.Go(func() { read(ctx, t, s.address) })
	}
	openWithoutReading(t, s.address)
	tab := openTab(t, wide)
	must(t, tab.Go("http://"+s.address+"/"))
	must(t, tab.Await("all pods", `document.querySelector('.chip b').textContent === '500'`, soon))
	must(t, tab.Await("changes", Live+` && document.querySelector('.row.state-starting')`, soon))
	time.Sleep(3 * time.Second) // after three seconds, the page has finished its work after loading

	busy, cost := math.Inf(1), math.Inf(1)
	for range 3 { // repeat, because other load on the machine can only increase the numbers
		before := usage(t, s.process)
		share, err := tab.Busy(during)
		must(t, err)
		busy, cost = min(busy, share), min(cost, float64(usage(t, s.process)-before)/float64(during))
	}
	t.Logf("the page's main thread was busy for %.1f %%, and the stand-in used %.1f %% of a core for six viewers",
		100*busy, 100*cost)
	if busy <= 0 || busy > 0.10 {
		t.Errorf("the page's main thread was busy for %.1f %%", 100*busy)
	}
	if cost > 0.02 {
		t.Errorf("the stand-in used %.1f %% of a core", 100*cost)
	}
	if shown := eval[int](t, tab, `document.querySelectorAll('.rows > *').length`); shown < 10 || shown > 80 {
		t.Errorf("the page contains %d of 500 rows", shown)
	}
	took := eval[[]string](t, tab,
		`[...document.querySelectorAll('.row.state-starting .took')].map((node) => node.textContent)`)
	time.Sleep(3 * time.Second)
	if later := eval[[]string](t, tab,
		`[...document.querySelectorAll('.row.state-starting .took')].map((node) => node.textContent)`); strings.Join(
		later, "") == strings.Join(took, "") {
		t.Error("the durations of starting pods must change")
	}
	must(t,
		tab.Await("the last row",
			`(window.scrollTo(0, document.body.scrollHeight),
				[...document.querySelectorAll('.row:not([hidden])')].length > 5 &&
				[...document.querySelectorAll('.row:not([hidden])')].some((row) =>
					Math.abs(row.getBoundingClientRect().bottom -
						document.querySelector('.rows').getBoundingClientRect().bottom) < 2))`, soon))
	requireNoComplaints(t, tab)
}

// TestBusy checks the measurement of Busy with a page whose main thread is busy for 30 % of the time.
func TestBusy(t *testing.T) {
	s := standIn(t, "--pods=1")
	tab := openTab(t, wide)
	must(t, tab.Go("http://"+s.address+"/"))
	eval[int](t, tab, `setInterval(() => { const began = performance.now();
		while (performance.now() - began < 30); }, 100)`)
	busy, err := tab.Busy(2 * time.Second)
	must(t, err)
	if busy < 0.1 || busy > 0.5 { // on a machine with few CPUs, the measured value is lower
		t.Errorf("the main thread was busy for 30 %% of the time, but the measurement is %.1f %%", 100*busy)
	}
}

func usage(t *testing.T, p *os.Process) time.Duration {
	t.Helper()
	id, err := process.Identify(p.Pid)
	must(t, err)
	used, err := id.Usage()
	must(t, err)
	return used.CPU
}

func read(ctx context.Context, t *testing.T, address string) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/api/v1/stream", nil)
	if err != nil {
		t.Error(err)
		return
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Error(err)
		return
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body) // the copy ends when ctx ends
}

// openWithoutReading requests the stream and reads only the first bytes of the response.
func openWithoutReading(t *testing.T, address string) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	must(t, err)
	t.Cleanup(func() { conn.Close() })
	_, err = io.WriteString(conn, "GET /api/v1/stream HTTP/1.1\r\nHost: "+address+"\r\n\r\n")
	must(t, err)
	line, err := bufio.NewReaderSize(conn, 64).ReadString('\n')
	must(t, err)
	if status, _ := strconv.Atoi(strings.Fields(line)[1]); status != http.StatusOK {
		t.Fatalf("the first line of the stream is %s", line)
	}
}
