package export

import "strings"

// How long, in bytes, the names of objects and of their kinds can be; owners in a pod's metadata
// are not checked for it. (k8s.io/apimachinery/pkg/util/validation: DNS1123SubdomainMaxLength,
// DNS1035LabelMaxLength)
const (
	maxName = 253
	maxKind = 63
)

// labelValue is the text as a label may have it: valid UTF-8 of no more than limit bytes. With a
// value that is not valid, all series of its metric are lost.
func labelValue(text string, limit int) string {
	return strings.ToValidUTF8(text[:min(len(text), limit)], "")
}
