package podwatch

import (
	"bytes"
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apimachinery/pkg/runtime"
)

// newPrunedPods returns a serializer whose watches omit the parts of pods that the agent does not
// read: command, arguments and environment of their containers. client-go copies each event three
// times before it decodes it, so one pod of 1.5 MB, etcd's limit, takes 6 MB of memory.
func newPrunedPods(inner runtime.NegotiatedSerializer) (adaptedStreams, error) {
	return adaptStreams(inner, func(info runtime.SerializerInfo) (runtime.Framer, error) {
		framer := info.StreamSerializer.Framer
		if info.MediaType != runtime.ContentTypeProtobuf {
			return framer, nil
		}
		return wholeFrames{Framer: framer, most: maxObject, prune: prunePod}, nil
	})
}

// prunePod returns a watch event without what the agent does not read of a pod. It returns anything
// else unchanged. The field numbers are those of generated.proto in apimachinery's meta/v1 and
// runtime, and in core/v1.
func prunePod(event []byte) []byte {
	pruned, err := rewrite(event, func(field protowire.Number, object []byte) ([]byte, error) {
		if field != 2 { // WatchEvent.object
			return object, nil
		}
		return rewrite(object, func(field protowire.Number, raw []byte) ([]byte, error) {
			if field != 1 { // RawExtension.raw
				return raw, nil
			}
			return pruneEncoded(raw)
		})
	})
	if err != nil {
		return event
	}
	return pruned
}

var errNoPod = errors.New("not a pod in protobuf")

// pruneEncoded prunes a pod in the API server's protobuf: a runtime.Unknown with the pod in its
// field raw.
func pruneEncoded(encoded []byte) ([]byte, error) {
	unknown, found := bytes.CutPrefix(encoded, []byte(protobufMagic))
	if !found {
		return nil, errNoPod
	}
	isPod := false
	pruned, err := rewrite(unknown, func(field protowire.Number, value []byte) ([]byte, error) {
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
			return rewrite(value, func(field protowire.Number, spec []byte) ([]byte, error) {
				if field != 2 { // Pod.spec
					return spec, nil
				}
				return rewrite(spec, pruneSpecField)
			})
		}
		return value, nil
	})
	if err != nil {
		return nil, err
	}
	return append([]byte(protobufMagic), pruned...), nil
}

func pruneSpecField(field protowire.Number, value []byte) ([]byte, error) {
	if field != 2 && field != 20 { // containers, initContainers; ephemeral ones come later and are few
		return value, nil
	}
	return rewrite(value, func(field protowire.Number, value []byte) ([]byte, error) {
		switch field {
		case 3, 4, 7: // command, args, env
			return nil, nil
		}
		return value, nil
	})
}

// rewrite copies a message, with each field of bytes replaced by the result of edit; nil omits the
// field.
func rewrite(message []byte, edit func(field protowire.Number, value []byte) ([]byte, error)) ([]byte, error) {
	copied := []byte{}
	for len(message) > 0 {
		field, wire, n := protowire.ConsumeTag(message)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		size := protowire.ConsumeFieldValue(field, wire, message[n:])
		if size < 0 {
			return nil, protowire.ParseError(size)
		}
		whole := message[:n+size]
		message = message[n+size:]
		if wire != protowire.BytesType {
			copied = append(copied, whole...)
			continue
		}
		value, _ := protowire.ConsumeBytes(whole[n:])
		value, err := edit(field, value)
		if err != nil {
			return nil, err
		}
		if value != nil {
			copied = protowire.AppendBytes(protowire.AppendTag(copied, field, wire), value)
		}
	}
	return copied, nil
}
