package cri

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

func TestDownloadsAreSharedForASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := newSharedDownloads(2*time.Second, time.Now)
		queries := 0
		query := func(context.Context) ([]imagepull.Download, error) {
			queries++
			time.Sleep(100 * time.Millisecond)
			return []imagepull.Download{{Blobs: queries}}, nil
		}
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				got, err := shared.latestOrQuery(t.Context(), query)
				if err != nil || !reflect.DeepEqual(got, []imagepull.Download{{Blobs: 1}}) {
					t.Errorf("got %+v, %v", got, err)
				}
				got[0].Blobs = 99 // each caller has its own copy
			})
		}
		all.Wait()
		time.Sleep(downloadsAge - time.Nanosecond)
		if got, _ := shared.latestOrQuery(t.Context(), query); got[0].Blobs != 1 || queries != 1 {
			t.Errorf("sent %d queries within a second, got %+v", queries, got)
		}
		time.Sleep(time.Nanosecond)
		if got, _ := shared.latestOrQuery(t.Context(), query); got[0].Blobs != 2 {
			t.Errorf("got %+v after a second", got)
		}
	})
}

// TestDownloadsReturnWhenRuntimeHangs queries a hanging runtime concurrently and repeatedly.
func TestDownloadsReturnWhenRuntimeHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const timeout = 2 * time.Second
		shared := newSharedDownloads(timeout, time.Now)
		hang := func(ctx context.Context) ([]imagepull.Download, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				time.Sleep(time.Duration(i) * 300 * time.Millisecond)
				begun := time.Now()
				_, err := shared.latestOrQuery(t.Context(), hang)
				if took := time.Since(begun); took > timeout || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("caller %d: %v after %v", i, err, took)
				}
			})
		}
		all.Wait()
	})
}

// TestDownloadsAfterCallerCancels checks that, after a caller cancels, the next caller queries again
// immediately.
func TestDownloadsAfterCallerCancels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := newSharedDownloads(2*time.Second, time.Now)
		slow := func(ctx context.Context) ([]imagepull.Download, error) {
			select {
			case <-time.After(time.Second):
				return []imagepull.Download{{Blobs: 1}}, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := shared.latestOrQuery(short, slow); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the caller with a deadline got %v", err)
			}
		})
		synctest.Wait()
		all.Go(func() {
			if got, err := shared.latestOrQuery(t.Context(), slow); err != nil || len(got) != 1 {
				t.Errorf("the caller without a deadline got %+v, %v", got, err)
			}
		})
		synctest.Wait()
		gone, leave := context.WithCancel(t.Context())
		leave()
		if _, err := shared.latestOrQuery(gone, slow); !errors.Is(err, context.Canceled) {
			t.Errorf("the canceled caller got %v", err)
		}
		all.Wait()
	})
}
