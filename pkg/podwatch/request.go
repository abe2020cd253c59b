package podwatch

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
)

const (
	// answerTimeout is how long the API server may take to respond to a list, or to begin the
	// response to a watch: it flushes the header of a watch before the first event.
	answerTimeout = 30 * time.Second
	// provenAfter is how long a watch must last to prove that the API server is well. client-go
	// returns a watch that is already closed if the connection broke before the response.
	provenAfter = time.Second
)

var errNoAnswer = errors.New("no response from the API server")

// resource is a kind of object in the API server, in one namespace or, if empty, in all.
type resource struct {
	client    rest.Interface
	namespace string
	name      string // plural, e.g. pods
	whole     bool   // lists of pods keep what the agent does not read
}

func (r resource) request(options metav1.ListOptions) *rest.Request {
	return r.client.Get().Namespace(r.namespace).Resource(r.name).VersionedParams(&options, metav1.ParameterCodec)
}

// list fails if the response is not complete within answerTimeout.
func (r resource) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, answerTimeout, errNoAnswer)
	defer cancel()
	return r.request(options).Do(ctx).Get()
}

// watch fails if the response has not begun within answerTimeout. Then it lasts until Stop, the end
// of ctx, or until the server ends it. The caller must call Stop.
func (r resource) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(answerTimeout, func() { cancel(errNoAnswer) })
	options.Watch = true
	w, err := r.request(options).Watch(ctx)
	if !timer.Stop() && err == nil {
		w.Stop()
		err = errNoAnswer
	}
	if err != nil {
		if cause := context.Cause(ctx); errors.Is(cause, errNoAnswer) {
			err = cause
		}
		cancel(nil)
		return nil, err
	}
	return stoppable{w, func() { cancel(nil) }}, nil
}

// stoppable is a watch with something to clean up when it is stopped.
type stoppable struct {
	watch.Interface
	stop func()
}

// Stop implements watch.Interface.
func (s stoppable) Stop() {
	s.Interface.Stop()
	s.stop()
}
