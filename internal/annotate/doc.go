// Package annotate writes onto pods that ask for it by an annotation: where their start-up went,
// and when the agent came to write it, as pod-time-controller did.
//
// What a pod asks for and has is read off each state of its object that the pod watch brings, so
// that nothing has to be remembered over a restart: what is there is not written again. Every write
// names the version of the object that it rests on; the API server refuses one that rests on an old
// version.
//
// Seen, Gone and Changed are called by others' goroutines and never block; the goroutine in Run asks the API server.
package annotate
