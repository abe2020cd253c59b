package cri

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// maxEntries limits the number of layers in a manifest, and the number of manifests in an index. Linux cannot mount an
// image with so many layers.
const maxEntries = 1024

// limitedArray is an array of at most maxEntries elements. The limit protects the memory of the agent, because an
// element of two bytes in JSON can take a hundred bytes in memory.
type limitedArray[T any] []T

// UnmarshalJSON implements json.Unmarshaler.
func (e *limitedArray[T]) UnmarshalJSON(data []byte) error {
	*e = nil
	if bytes.Equal(data, []byte("null")) {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	if start, err := decoder.Token(); err != nil || start != json.Delim('[') {
		return errors.New("the JSON value must be an array")
	}
	for decoder.More() {
		if len(*e) == maxEntries {
			return fmt.Errorf("the JSON array must have at most %d entries", maxEntries)
		}
		var entry T
		if err := decoder.Decode(&entry); err != nil {
			return err
		}
		*e = append(*e, entry)
	}
	return nil
}
