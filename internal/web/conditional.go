package web

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
)

// packedSuffix tells the ETag of a compressed answer from that of the same one as it is.
const packedSuffix = "-gzip"

// answerJSON answers with a whole text and its ETag, or that the client has it already. Unlike
// other answers it may be kept, to be asked about.
func answerJSON(w http.ResponseWriter, r *http.Request, text []byte) {
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

// hasTag finds the tag, of the text as it is or compressed, among those of If-None-Match.
func hasTag(values []string, tag string) (string, bool) {
	for _, value := range values {
		for had := range strings.SplitSeq(value, ",") {
			had = strings.TrimSpace(had)
			switch strings.TrimPrefix(had, "W/") { // a weak comparison is meant (RFC 9110, 13.1.2)
			case "*":
				return `"` + tag + `"`, true
			case `"` + tag + `"`, `"` + tag + packedSuffix + `"`:
				return had, true
			}
		}
	}
	return "", false
}
