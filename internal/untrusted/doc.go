// Package untrusted limits the texts and timestamps of API objects. A user who can create an object chooses most of
// its texts, and the API server accepts every text that fits into the object. The package is pure. Sources call the
// package for all data that they keep of an object.
package untrusted
