package podwatch

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/podlapse/podlapse/internal/kubeclient"
)

// maxObject is the maximum size of an object in a list, in bytes. client-go has the same limit for watches. By default,
// etcd accepts objects of up to 1.5 MiB.
const maxObject = 16 << 20

// protobufMagic is the beginning of the API server's protobuf encoding (apimachinery:
// pkg/runtime/serializer/protobuf).
const protobufMagic = "k8s\x00"

// podResource lists and watches pods through the API server.
type podResource struct {
	kubeclient.Resource
	whole bool // list responses keep all fields, including fields that the agent does not read
}

func newPodResource(client rest.Interface, whole bool) podResource {
	return podResource{kubeclient.Resource{Client: client, Name: "pods"}, whole}
}

// readList requests a list of pods. readList decodes one pod at a time and passes the pod to the function "visit", so
// readList needs memory only for the largest pod. client-go would hold three copies of the whole response in memory.
// If the API server responds from its watch cache, the API server ignores the requested page size and sends all pods of
// the node at once. readList returns an error if the response is not complete in time.
func (r podResource) readList(
	ctx context.Context, options metav1.ListOptions, visit func(*corev1.Pod),
) (metav1.ListMeta, error) {
	body, err := r.OpenList(ctx, options)
	if err != nil {
		return metav1.ListMeta{}, err
	}
	defer body.Close()
	reader := bufio.NewReader(body)
	decode := decodePodsJSON
	if magic, err := reader.Peek(len(protobufMagic)); err == nil && string(magic) == protobufMagic {
		decode = func(reader *bufio.Reader, visit func(*corev1.Pod)) (metav1.ListMeta, error) {
			return decodePodsProtobuf(reader, visit, r.whole)
		}
	}
	list, err := decode(reader, visit)
	if err != nil {
		return metav1.ListMeta{}, fmt.Errorf("read pod list: %w", err)
	}
	return list, nil
}

// decodePodsJSON reads a PodList in JSON.
func decodePodsJSON(reader *bufio.Reader, visit func(*corev1.Pod)) (list metav1.ListMeta, err error) {
	defer func() { err = asUnexpectedEnd(err) }()
	decoder := json.NewDecoder(reader)
	if err := expect(decoder, json.Delim('{')); err != nil {
		return list, err
	}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return list, err
		}
		switch key {
		case "kind":
			err = expect(decoder, "PodList")
		case "metadata":
			err = decoder.Decode(&list)
		case "items":
			err = decodeItems(decoder, visit)
		default:
			err = decoder.Decode(&json.RawMessage{})
		}
		if err != nil {
			return list, err
		}
	}
	return list, expect(decoder, json.Delim('}'))
}

func decodeItems(decoder *json.Decoder, visit func(*corev1.Pod)) error {
	begin, err := decoder.Token()
	if err != nil || begin == nil { // null
		return err
	}
	if begin != json.Delim('[') {
		return fmt.Errorf("unexpected token %v, want the array of items", begin)
	}
	for decoder.More() {
		var pod corev1.Pod
		if err := decoder.Decode(&pod); err != nil {
			return err
		}
		visit(&pod)
	}
	return expect(decoder, json.Delim(']'))
}

func expect(decoder *json.Decoder, want json.Token) error {
	token, err := decoder.Token()
	if err != nil {
		return err
	}
	if token != want {
		return fmt.Errorf("unexpected token %v, want %v", token, want)
	}
	return nil
}

func asUnexpectedEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// decodePodsProtobuf reads a PodList in the API server's protobuf encoding. The encoded message is a runtime.Unknown,
// and its field "raw" contains the list. If the argument "whole" is false, decodePodsProtobuf keeps only the fields
// that the agent reads.
func decodePodsProtobuf(
	reader *bufio.Reader, visit func(*corev1.Pod), whole bool,
) (list metav1.ListMeta, err error) {
	if _, err := reader.Discard(len(protobufMagic)); err != nil {
		return list, asUnexpectedEnd(err)
	}
	complete := false
	err = eachField(reader, func(field uint64, size int64, value *bufio.Reader) error {
		switch field {
		case 1: // typeMeta
			var meta runtime.TypeMeta
			if err := unmarshal(value, size, &meta); err != nil {
				return err
			}
			if meta.Kind != "PodList" {
				return fmt.Errorf("unexpected kind %q, want \"PodList\"", meta.Kind)
			}
		case 2: // raw
			complete = true
			return eachField(value, func(field uint64, size int64, value *bufio.Reader) error {
				switch field {
				case 1: // metadata
					return unmarshal(value, size, &list)
				case 2: // items
					var pod corev1.Pod
					text, err := readMessage(value, size)
					if err == nil && !whole {
						text, err = podFields.prune(text, true)
					}
					if err == nil {
						err = pod.Unmarshal(text)
					}
					if err != nil {
						return err
					}
					visit(&pod)
				}
				return nil
			})
		}
		return nil
	})
	if err == nil && !complete {
		err = io.ErrUnexpectedEOF
	}
	return list, err
}

// eachField reads all fields of a protobuf message. eachField passes each length-delimited field to the function "read"
// and then skips the bytes that the function did not read. eachField does not pass numeric fields to "read", because
// the messages Unknown and PodList have no numeric fields.
func eachField(message *bufio.Reader, read func(field uint64, size int64, value *bufio.Reader) error) error {
	for {
		tag, err := binary.ReadUvarint(message)
		if err != nil {
			if err == io.EOF { // the message is complete, because io.EOF means that no byte was left
				return nil
			}
			return err
		}
		size, err := binary.ReadUvarint(message)
		if err != nil {
			return asUnexpectedEnd(err)
		}
		switch tag & 7 {
		case 0:
			continue
		case 2:
		default:
			return fmt.Errorf("unexpected wire type %d", tag&7)
		}
		value := &io.LimitedReader{R: message, N: int64(size)}
		if err := read(tag>>3, int64(size), bufio.NewReader(value)); err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, value); err != nil {
			return err
		}
		if value.N > 0 {
			return io.ErrUnexpectedEOF
		}
	}
}

func unmarshal(value io.Reader, size int64, into interface{ Unmarshal([]byte) error }) error {
	text, err := readMessage(value, size)
	if err != nil {
		return err
	}
	return into.Unmarshal(text)
}

func readMessage(value io.Reader, size int64) ([]byte, error) {
	if size < 0 || size > maxObject {
		return nil, fmt.Errorf("an object of %d bytes exceeds the limit of %d bytes", uint64(size), maxObject)
	}
	text := make([]byte, size)
	if _, err := io.ReadFull(value, text); err != nil {
		return nil, asUnexpectedEnd(err)
	}
	return text, nil
}
