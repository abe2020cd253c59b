package export

import "strings"

// maxName is the maximum length of an object's name in bytes, and maxKind is the maximum length of a kind. The API
// server does not enforce these limits in a pod's owner references. (k8s.io/apimachinery/pkg/util/validation:
// DNS1123SubdomainMaxLength, DNS1035LabelMaxLength)
const (
	maxName = 253
	maxKind = 63
)

// labelValue returns the text as a label value: valid UTF-8 of at most the given number of bytes. One invalid value
// would remove all series of the metric from the scrape.
func labelValue(text string, limit int) string {
	return strings.ToValidUTF8(text[:min(len(text), limit)], "")
}
