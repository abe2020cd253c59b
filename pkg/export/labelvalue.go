package export

import "strings"

// Length limits of the names of objects and of their kinds, in bytes. The API server does not
// enforce them for owners in a pod's metadata. (k8s.io/apimachinery/pkg/util/validation:
// DNS1123SubdomainMaxLength, DNS1035LabelMaxLength)
const (
	maxName = 253
	maxKind = 63
)

// labelValue returns the text as a label value: valid UTF-8 of at most limit bytes. With an invalid
// value, all series of the metric would be lost.
func labelValue(text string, limit int) string {
	return strings.ToValidUTF8(text[:min(len(text), limit)], "")
}
