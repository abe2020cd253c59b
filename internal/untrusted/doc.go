// Package untrusted limits the texts and timestamps of API objects. A user who can create an object chooses most of its
// texts, and the API server accepts every text that fits into the object. The package is pure. Sources use this package
// to limit all data that they keep from API objects.
package untrusted
