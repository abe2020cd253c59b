// Package untrusted limits the texts and timestamps of API objects. A user who can create an object chooses most of its
// texts. The API server accepts every text that does not make the object too large. The package does no I/O and reads
// no clock. Sources use this package to limit all data that they keep from API objects.
package untrusted
