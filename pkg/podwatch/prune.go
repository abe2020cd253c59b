package podwatch

import (
	"bytes"
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apimachinery/pkg/runtime"
)

// newPrunedPods is a serializer whose watches omit the parts of pods that the agent does not read: command, arguments and
// environment of their containers. client-go copies each event three times before it decodes it, so that one pod of 1.5 MB,
// the most that etcd takes, costs 6 MB of memory.
func newPrunedPods(inner runtime.NegotiatedSerializer) (adaptedStreams, error) {
	return adaptStreams(inner, func(info runtime.SerializerInfo) (runtime.Framer, error) {
		framer := info.StreamSerializer.Framer
		if info.MediaType != runtime.ContentTypeProtobuf {
			return framer, nil
		}
		return wholeFrames{Framer: framer, most: maxObject, prune: prunePod}, nil
	})
}

// prunePod is an event of a watch without what the agent does not read of a pod. It works in place, and returns anything else unchanged. The
// numbers of the fields are those of generated.proto in apimachinery's meta/v1 and runtime, and in core/v1.
func prunePod(event []byte) []byte {
	if _, err := pruneEvent(event, false); err != nil { // nothing is written to what cannot be read to its end
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

var errNoPod = errors.New("not a pod in protobuf")

// pruneEncoded prunes a pod in the API server's protobuf: runtime.Unknown with the pod in its field raw.
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
			return rewrite(value, write, func(field protowire.Number, spec []byte) ([]byte, error) {
				if field != 2 { // Pod.spec
					return spec, nil
				}
				return rewrite(spec, write, func(field protowire.Number, value []byte) ([]byte, error) {
					return pruneSpecField(field, value, write)
				})
			})
		}
		return value, nil
	})
	if err != nil {
		return nil, err
	}
	return encoded[:len(protobufMagic)+len(pruned)], nil
}

func pruneSpecField(field protowire.Number, value []byte, write bool) ([]byte, error) {
	if field != 2 && field != 20 { // containers, initContainers; ephemeral ones come later and are few
		return value, nil
	}
	return rewrite(value, write, func(field protowire.Number, value []byte) ([]byte, error) {
		switch field {
		case 3, 4, 7: // command, args, env
			return nil, nil
		}
		return value, nil
	})
}

// rewrite is a message with what edit makes of each field that holds bytes; nil omits the field. It writes in place, or not at all,
// and then returns the message as it is. Nothing may become longer.
func rewrite(message []byte, write bool, edit func(field protowire.Number, value []byte) ([]byte, error)) ([]byte, error) {
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
