// Package eventwatch observes the kubelet's Events about single pods for as long as they are
// requested, with one watch per pod or one that many pods share.
//
// cmd/agent runs Source on a goroutine of its own. It passes observations to a function, which leads
// to package reconcile, from one goroutine per open watch. That function may block. Meanwhile, data from the API server
// waits in the connection, so memory does not grow.
//
// An unreachable API server is never an error: Source retries with back-off until its context ends,
// and reports what is wrong.
package eventwatch
