package podwatch

import (
	"bytes"
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/podlapse/podlapse/internal/kubeclient"
)

// NewClient creates a client for core/v1. The client's watches omit parts of pods that the agent does not read, such as
// commands, environment variables and the sources of volumes. client-go copies each event three times before it decodes
// the event. Without pruning, one pod of 1.5 MB, which is etcd's limit, would need 6 MB of memory.
func NewClient(config *rest.Config) (rest.Interface, error) {
	return kubeclient.NewWithFrames(config, func(info runtime.SerializerInfo) (kubeclient.Frames, error) {
		if info.MediaType != runtime.ContentTypeProtobuf {
			return kubeclient.Frames{}, nil
		}
		return kubeclient.Frames{Max: maxObject, Edit: prunePod}, nil
	})
}

// prunePod returns a watch event with only the pod fields that the agent reads. prunePod works in place. If an event
// contains no pod, prunePod returns the event unchanged. The field numbers come from the files generated.proto of
// core/v1, and of meta/v1 and runtime in apimachinery.
func prunePod(event []byte) []byte {
	if _, err := pruneEvent(event, false); err != nil { // an event that cannot be parsed must stay unchanged
		return event
	}
	pruned, err := pruneEvent(event, true)
	if err != nil {
		return event
	}
	return pruned
}

func pruneEvent(event []byte, write bool) ([]byte, error) {
	return rewrite(event, write, func(field protowire.Number, object []byte) ([]byte, error) {
		if field != 2 { // WatchEvent.object
			return object, nil
		}
		return rewrite(object, write, func(field protowire.Number, raw []byte) ([]byte, error) {
			if field != 1 { // RawExtension.raw
				return raw, nil
			}
			return pruneEncoded(raw, write)
		})
	})
}

var errNoPod = errors.New("the object is not a pod in protobuf format")

// pruneEncoded prunes a pod in the API server's protobuf encoding. The encoded message is a runtime.Unknown, and its
// field "raw" contains the pod.
func pruneEncoded(encoded []byte, write bool) ([]byte, error) {
	unknown, found := bytes.CutPrefix(encoded, []byte(protobufMagic))
	if !found {
		return nil, errNoPod
	}
	isPod := false
	pruned, err := rewrite(unknown, write, func(field protowire.Number, value []byte) ([]byte, error) {
		switch field {
		case 1: // typeMeta
			var meta runtime.TypeMeta
			if err := meta.Unmarshal(value); err != nil {
				return nil, err
			}
			isPod = meta.Kind == "Pod"
		case 2: // raw
			if !isPod {
				return nil, errNoPod
			}
			return podFields.prune(value, write)
		}
		return value, nil
	})
	if err != nil {
		return nil, err
	}
	return encoded[:len(protobufMagic)+len(pruned)], nil
}

// readFields lists the fields of a message that the agent reads. If a field contains another message, the map's value
// lists the fields that the agent reads in that message. If the map's value is nil, prune keeps the whole field. If the
// map's value is noFields, prune keeps only the numbers and booleans in the field. prune always keeps fields that are
// numbers or booleans.
type readFields map[protowire.Number]readFields

// maxElements is the maximum number of elements that prune keeps of each list in a pod's metadata and spec. This limit
// is necessary because a small element needs much more memory after decoding. For example, 90,000 volumes with 14 bytes
// each need 23 MB after decoding. The agent never reads more than maxElements elements of a list, because its other
// limits, such as maxContainers, are smaller.
const maxElements = 512

var (
	noFields = readFields{}

	podFields = readFields{1: objectMetaFields, 2: podSpecFields, 3: nil} // metadata, spec, status

	objectMetaFields = readFields{
		1:  nil, // name
		3:  nil, // namespace
		5:  nil, // uid
		6:  nil, // resourceVersion
		8:  nil, // creationTimestamp
		9:  nil, // deletionTimestamp
		11: nil, // labels
		12: nil, // annotations
		13: nil, // ownerReferences
		14: nil, // finalizers
		17: nil, // managedFields
	}

	podSpecFields = readFields{
		1:  {2: volumeSourceFields}, // volumes
		2:  containerFields,         // containers
		3:  nil,                     // restartPolicy
		10: nil,                     // nodeName
		15: noFields,                // imagePullSecrets
		20: containerFields,         // initContainers
		24: nil,                     // priorityClassName
		28: noFields,                // readinessGates
		29: nil,                     // runtimeClassName
		34: {1: containerFields},    // ephemeralContainers
		39: noFields,                // resourceClaims
		40: {1: {1: nil}},           // resources: only the names of the limits
	}

	containerFields = readFields{
		1:  nil,                        // name
		2:  nil,                        // image
		8:  {1: {1: nil}},              // resources: only the names of the limits
		10: noFields,                   // livenessProbe
		11: noFields,                   // readinessProbe
		12: {1: noFields, 2: noFields}, // lifecycle: postStart, preStop
		14: nil,                        // imagePullPolicy
		22: noFields,                   // startupProbe
		24: nil,                        // restartPolicy
		25: noFields,                   // restartPolicyRules
	}

	volumeSourceFields = newVolumeSourceFields()
)

// newVolumeSourceFields returns the fields that prune keeps of a volume's source. prune keeps the whole source of an
// image volume. For all other volumes, prune keeps only the kind.
func newVolumeSourceFields() readFields {
	kinds := readFields{}
	for kind := protowire.Number(1); kind <= 64; kind++ { // the field numbers of all volume kinds are below 64
		kinds[kind] = noFields
	}
	kinds[30] = nil // image
	return kinds
}

// prune returns a message with only the listed fields, and with the first maxElements elements of each list.
func (f readFields) prune(message []byte, write bool) ([]byte, error) {
	counts := map[protowire.Number]int{}
	return rewrite(message, write, func(field protowire.Number, value []byte) ([]byte, error) {
		inner, read := f[field]
		if counts[field]++; !read || counts[field] > maxElements {
			return nil, nil
		}
		if inner == nil {
			return value, nil
		}
		return inner.prune(value, write)
	})
}

// rewrite replaces each length-delimited field of a message with the result of the function "edit". If "edit" returns
// nil, rewrite omits the field. rewrite works in place, so the result of "edit" must not be longer than the field. If
// the argument "write" is false, rewrite only checks the message and returns the message unchanged.
func rewrite(
	message []byte, write bool, edit func(field protowire.Number, value []byte) ([]byte, error),
) ([]byte, error) {
	whole, copied := message, message[:0:len(message)]
	for len(message) > 0 {
		field, wire, n := protowire.ConsumeTag(message)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		size := protowire.ConsumeFieldValue(field, wire, message[n:])
		if size < 0 {
			return nil, protowire.ParseError(size)
		}
		part := message[:n+size]
		message = message[n+size:]
		if wire != protowire.BytesType {
			if write {
				copied = append(copied, part...)
			}
			continue
		}
		value, _ := protowire.ConsumeBytes(part[n:])
		value, err := edit(field, value)
		if err != nil {
			return nil, err
		}
		if write && value != nil {
			copied = protowire.AppendBytes(protowire.AppendTag(copied, field, wire), value)
		}
	}
	if !write {
		return whole, nil
	}
	return copied, nil
}
