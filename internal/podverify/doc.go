// Package podverify compares the watched pods with lists from the API server, and repairs differences. The package is
// off unless a flag enables it.
//
// Package podwatch runs the Verifier on a separate goroutine. The Verifier lists pods without a lock, and locks the
// pods of the watch for each comparison.
package podverify
