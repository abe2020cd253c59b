package web

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
)

// packedSuffix is the end of a compressed response's ETag. The ETag of the uncompressed response does not end in
// packedSuffix.
const packedSuffix = "-gzip"

// responseJSON writes a response with an ETag, or status 304 if the client already has this response. Clients can store
// a response with an ETag, but must revalidate the response before each use. Clients must not store a response without
// an ETag, unless the response is a file of the page.
func responseJSON(w http.ResponseWriter, r *http.Request, text []byte) {
	sum := sha256.Sum256(text)
	tag := hex.EncodeToString(sum[:12])
	header := w.Header()
	header.Set("Cache-Control", "private, no-cache")
	header.Set("Content-Type", "application/json")
	if had, ok := hasTag(r.Header.Values("If-None-Match"), tag); ok {
		header.Set("ETag", had)
		w.WriteHeader(http.StatusNotModified)
		return
	}
	header.Set("ETag", `"`+tag+`"`)
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(text)
}

// hasTag looks for the tag in the values of If-None-Match, and returns the value that it finds. A value with
// packedSuffix after the tag also matches. If the value is *, hasTag returns the tag.
func hasTag(values []string, tag string) (string, bool) {
	for _, value := range values {
		for had := range strings.SplitSeq(value, ",") {
			had = strings.TrimSpace(had)
			switch strings.TrimPrefix(had, "W/") { // If-None-Match uses the weak comparison (RFC 9110, 13.1.2)
			case "*":
				return `"` + tag + `"`, true
			case `"` + tag + `"`, `"` + tag + packedSuffix + `"`:
				return had, true
			}
		}
	}
	return "", false
}
