// Package podwatch observes the API server: the pods of one node, with one informer, and kubelet's
// Events about single pods for as long as they are wanted, with a watch for each pod or one that many share.
//
// Pods and Events are each run by the caller on a goroutine of its own and hand their observations
// to a function, from that goroutine or, for Events, from one per open watch. The function may block;
// what the API server sends meanwhile waits in the connection, so nothing here grows without bound.
//
// An absent API server is never an error: both retry with back-off until their context ends and
// report what is wrong.
package podwatch
