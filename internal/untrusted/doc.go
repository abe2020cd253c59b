// Package untrusted limits the texts and timestamps of API objects. Anyone who may create an object
// chooses most of them, and the API server accepts any that fits into the object. The package is pure.
// Sources call it on everything that they keep of an object.
package untrusted
