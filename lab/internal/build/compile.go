package build

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// compilerFlags makes the compiler omit debugging information, because the linker would remove it anyway. The flag
// reduces the work of the build by a fifth.
const compilerFlags = "-gcflags=all=-dwarf=false"

// niceness gives a build a low CPU priority. A build takes minutes and must not slow down other work on the machine.
const niceness = "10"

// compile runs the command `go build` for one group of programs and reports the progress.
func (b Builder) compile(ctx context.Context, dir string, g group) error {
	flags, err := g.linkerFlags(b.Source)
	if err != nil {
		return err
	}
	arguments := []string{"build", "-v", "-trimpath", "-buildvcs=false", compilerFlags, "-tags", g.tags,
		"-ldflags", flags, "-o", dir + "/"}
	for _, p := range g.programs {
		arguments = append(arguments, p.pkg)
	}
	cmd := exec.CommandContext(ctx, "nice", append([]string{"-n", niceness, "go"}, arguments...)...)
	cmd.Dir = filepath.Join(b.Source, g.module)
	// A Go workspace or the user's GOFLAGS would change the programs. The cache key does not contain these settings, so
	// compile turns them off.
	cmd.Env = append(os.Environ(), "CGO_ENABLED="+g.cgo, "GOWORK=off", "GOFLAGS=")
	// The kernel kills the process of `go build` when the thread that started the process ends. LockOSThread keeps this
	// thread alive during the build. If the lab's process ends for any reason, the build ends too.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	output, err := cmd.StderrPipe()
	if err != nil {
		return fmt.Errorf("start go build: %w", err)
	}
	watch := watcher{builder: b, group: g, dir: dir, startedAt: time.Now()}
	b.Report.Say("building %s", strings.Join(names(g.programs), ", "))
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start go build: %w", err)
	}
	stop := b.Report.Beat(20*time.Second, watch.describe)
	watch.readOutput(output)
	err = cmd.Wait()
	stop()
	if err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("build %s: %w", g.module, ctx.Err())
		}
		return fmt.Errorf("build %s: %w:\n%s", g.module, err, strings.Join(watch.tail, "\n"))
	}
	for _, p := range g.programs {
		if p.output() != p.name {
			if err := os.Rename(filepath.Join(dir, p.output()), filepath.Join(dir, p.name)); err != nil {
				return fmt.Errorf("find the built program: %w", err)
			}
		}
	}
	b.Report.Say("built %s in %s", strings.Join(names(g.programs), ", "),
		time.Since(watch.startedAt).Round(100*time.Millisecond))
	return nil
}

// watcher reads the output of go build. watcher counts the downloaded modules and the compiled packages. Of all other
// lines, watcher keeps only the last few.
type watcher struct {
	builder   Builder
	group     group
	dir       string
	startedAt time.Time

	mu         sync.Mutex
	downloaded int
	compiled   int
	tail       []string
}

// readOutput reads the output of `go build` until the command closes its output. With the flag -v, go build prints one
// line for each compiled package.
func (w *watcher) readOutput(output io.Reader) {
	lines := bufio.NewScanner(output)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		w.mu.Lock()
		line := lines.Text()
		switch {
		case strings.HasPrefix(line, "go: downloading "):
			w.downloaded++
		case !strings.ContainsAny(line, " :#"):
			w.compiled++
		default:
			const most = 40
			w.tail = append(w.tail, line)
			w.tail = w.tail[max(0, len(w.tail)-most):]
		}
		w.mu.Unlock()
	}
	// The scanner stops at a line that is too long. Without this copy, the command would block at its next output.
	_, _ = io.Copy(io.Discard, output)
}

func (w *watcher) describe() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var pending []string
	for _, p := range w.group.programs {
		if info, err := os.Stat(filepath.Join(w.dir, p.output())); err != nil || info.Size() == 0 {
			pending = append(pending, p.name)
		}
	}
	return fmt.Sprintf("building for %s: %d modules downloaded, %d packages compiled, still to build: %s",
		time.Since(w.startedAt).Round(time.Second), w.downloaded, w.compiled, strings.Join(pending, ", "))
}

func names(programs []program) []string {
	var all []string
	for _, p := range programs {
		all = append(all, p.name)
	}
	return all
}
