// Package podverify compares the watched pods with lists from the API server and repairs differences. The package is
// off unless a flag enables it.
//
// Package podwatch runs the Verifier on a separate goroutine. The Verifier holds no lock while it requests lists of
// pods. The Verifier locks the watched pods only while it compares them with a list or repairs them.
package podverify
