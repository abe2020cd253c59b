package kubeclient

import (
	"context"
	"errors"
	"io"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/podlapse/podlapse/internal/backoff"
)

// responseTimeout limits the time until a list is complete. For a watch, responseTimeout limits the time until the
// response header arrives. The API server sends this header before the first event.
const responseTimeout = 30 * time.Second

const (
	// ProvenAfter is how long a watch must stay open to prove that the API server works. A newly opened watch proves
	// nothing. If the connection breaks before the response, client-go returns a closed watch and no error.
	ProvenAfter = time.Second
	// CatchUp is how long a new watch can still deliver old events. The API server sends all missed events in one
	// burst. The API server does not mark the last missed event.
	CatchUp = time.Second
)

var errNoResponse = errors.New("no response from the API server")

// Retries returns the policy for the waits between attempts. The waits are long enough to reduce the load on a failing
// API server. The waits are at most 15 s, so that the agent soon detects that the API server works again.
func Retries() backoff.Policy {
	return backoff.Policy{First: 500 * time.Millisecond, Max: 15 * time.Second}
}

// Resource is a kind of object in the API server. An empty Namespace means all namespaces.
type Resource struct {
	Client    rest.Interface
	Namespace string
	Name      string // plural, for example pods
}

func (r Resource) request(options metav1.ListOptions) *rest.Request {
	return r.Client.Get().Namespace(r.Namespace).Resource(r.Name).VersionedParams(&options, metav1.ParameterCodec)
}

// List requests a list. List fails if the response is not complete within 30 s.
func (r Resource) List(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, responseTimeout, errNoResponse)
	defer cancel()
	return r.request(options).Do(ctx).Get()
}

// OpenList returns the encoded response to a list request. The caller decodes the response while reading it. A read
// fails if the response is not complete within 30 s. The caller must call Close.
func (r Resource) OpenList(ctx context.Context, options metav1.ListOptions) (io.ReadCloser, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, responseTimeout, errNoResponse)
	body, err := r.request(options).Stream(ctx)
	if err != nil {
		err = timedOut(ctx, err)
		cancel()
		return nil, err
	}
	return timedBody{body, ctx, cancel}, nil
}

// timedBody is the body of a response. If the request exceeds its timeout, Read returns errNoResponse.
type timedBody struct {
	io.ReadCloser
	ctx    context.Context // context of the request
	cancel context.CancelFunc
}

// Read implements io.Reader.
func (b timedBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	if err != nil {
		err = timedOut(b.ctx, err)
	}
	return n, err
}

// Close implements io.Closer.
func (b timedBody) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}

// timedOut replaces an error with errNoResponse if the timeout of the request caused the error.
func timedOut(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errNoResponse) {
		return errNoResponse
	}
	return err
}

// Watch opens a watch on the objects that the options select. Watch fails if the response does not start within 30 s.
// The watch ends when the caller calls Stop, when ctx is done, or when the API server ends the watch. The caller must
// call Stop.
func (r Resource) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(responseTimeout, func() { cancel(errNoResponse) })
	options.Watch = true
	w, err := r.request(options).Watch(ctx)
	if !timer.Stop() && err == nil {
		w.Stop()
		err = errNoResponse
	}
	if err != nil {
		err = timedOut(ctx, err)
		cancel(nil)
		return nil, err
	}
	return OnStop(w, func() { cancel(nil) }), nil
}

// OnStop returns a watch whose method Stop also calls the given function.
func OnStop(w watch.Interface, stopped func()) watch.Interface { return stoppable{w, stopped} }

type stoppable struct {
	watch.Interface
	stopped func()
}

// Stop implements watch.Interface.
func (s stoppable) Stop() {
	s.Interface.Stop()
	s.stopped()
}
