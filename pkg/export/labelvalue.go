package export

import "strings"

// maxName is the maximum length of an object's name in bytes, and maxKind is the maximum length of a kind. The API
// server does not enforce these limits in a pod's owner references. (k8s.io/apimachinery/pkg/util/validation:
// DNS1123SubdomainMaxLength, DNS1035LabelMaxLength)
const (
	maxName = 253
	maxKind = 63
)

// labelValue converts a text to a label value. The result is valid UTF-8 and has at most "limit" bytes. client_golang
// panics if a label value is not valid UTF-8.
func labelValue(text string, limit int) string {
	return strings.ToValidUTF8(text[:min(len(text), limit)], "")
}
