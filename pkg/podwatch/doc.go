// Package podwatch observes the API server. It watches the pods of one node with one informer, and
// the kubelet's Events about single pods for as long as they are wanted, with one
// watch per pod or one that many pods share.
//
// cmd/agent runs Pods and Events, each on a goroutine of its own. Both pass observations to a
// function, which leads to package reconcile, from that goroutine or, for Events, from one per open
// watch. That function may block. Meanwhile, what the API server sends waits in the connection, so
// memory does not grow.
//
// An unreachable API server is never an error: all retry with back-off until their context ends,
// and report what is wrong.
package podwatch
