package scenario

import (
	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
)

// showsDownload reports whether the download of an attempt is visible in the runtime's stores. There are two cases in
// which the download is not visible. In the first case, containerd discards the layers. In the second case, a lazy
// snapshotter is in use and containerd downloaded at least two layers. While containerd unpacks these layers, the
// snapshotter asks the registry about the next layer, so the end of the download is unknown.
func (j *pullJudge) showsDownload(a bench.Attempt) bool {
	const oneLayer = 2 // number of blobs: the configuration and the layer
	return j.stack.Containerd.KeepsLayers() && !(j.stack.Containerd.Stargz && a.Blobs > oneLayer)
}

// judgeBytes checks the bytes that the agent reports for a successful download. The agent must not count more bytes
// than the registry sent. An agent with all sources must count all layers, except in two cases. In these cases, an
// agent is allowed to omit the bytes, but must not report only some of them. In the first case, the runtime's stores do
// not show the download. In the second case, the runtime already stored the image's name before the pull, and the agent
// must assume that a credential plugin ran during the pull. Another pod might have pulled the layers during the
// plugin's run. judgeBytes skips interrupted downloads and shared downloads.
func (j *pullJudge) judgeBytes(what string, c pullCase, truth bench.Attempt, pull agent.Pull) {
	const besides = 16 << 10 // maximum size of the image's configuration, which the agent need not count
	kept := j.showsDownload(truth) && !(c.storedBefore && j.stack.Kubernetes.PullsMayHidePlugins())
	switch {
	case c.cutOff || c.mayShare || truth.Failed() || pull.Outcome != agent.Downloaded:
	case pull.Download == nil && j.sources.isFull() && kept:
		j.verdict.Problem("%s: the agent does not report the download of the pull", what)
	case pull.Download == nil:
	case pull.Download.Bytes > truth.Bytes,
		(j.sources.isFull() || !kept) && pull.Download.Bytes < truth.BlobBytes-besides:
		j.verdict.Problem(
			"%s: the registry sent %d bytes, including %d for layers and configuration; the agent reports %d", what,
			truth.Bytes, truth.BlobBytes, pull.Download.Bytes)
	}
}
