package timeline

import (
	"math"
	"slices"
	"strings"
	"time"
)

// Packed holds a timeline in a fifth of the memory that a Timeline needs. The agent keeps the timeline of each pod
// until the pod is deleted, but reads most timelines only when a client requests them.
type Packed struct{ text string }

// Pack packs a timeline, but not its field Termination. All times must be in UTC.
func Pack(t Timeline) Packed {
	p := packer{known: map[string]int{}}
	p.timeline(&t)
	return Packed{string(p.text)}
}

// Timeline returns the packed timeline. The field Termination is nil. The zero Packed contains the zero Timeline.
func (p Packed) Timeline() (t Timeline) {
	if p.text != "" {
		(&packer{reads: true, rest: p.text, read: make([]string, 0, 32)}).timeline(&t)
	}
	return t
}

// packer writes or reads a packed timeline. Each method handles one type, and the same method writes and reads. So
// writing and reading always use the same order of fields. While a packer writes, it does not change the timeline,
// because other goroutines can read the timeline at the same time.
type packer struct {
	reads bool
	text  []byte         // what the packer has written
	known map[string]int // the number of each text that the packer has written; the first number is 1
	rest  string         // what the packer has not read yet
	read  []string       // texts that the packer has read
	last  time.Time      // the previous time
}

// uvarint packs a number. Each byte holds 7 bits of the number, and the lowest bits come first. So small numbers need
// few bytes. The highest bit of a byte is 1 if another byte follows.
func (p *packer) uvarint(n uint64) uint64 {
	if !p.reads {
		for rest := n; ; rest >>= 7 {
			if rest < 0x80 {
				p.text = append(p.text, byte(rest))
				return n
			}
			p.text = append(p.text, byte(rest)|0x80)
		}
	}
	n = 0
	for shift := 0; ; shift += 7 {
		next := p.rest[0]
		p.rest = p.rest[1:]
		n |= uint64(next&0x7f) << shift
		if next < 0x80 {
			return n
		}
	}
}

// packNumber packs a positive or negative number. Numbers near zero need few bytes (zigzag encoding).
func packNumber[N ~int | ~int64 | ~uint8](p *packer, n *N) {
	signed := int64(*n)
	zigzag := p.uvarint(uint64(signed)<<1 ^ uint64(signed>>63))
	if p.reads {
		*n = N(int64(zigzag>>1) ^ -int64(zigzag&1))
	}
}

func (p *packer) flag(b *bool) {
	n := uint8(0)
	if *b {
		n = 1
	}
	packNumber(p, &n)
	if p.reads {
		*b = n == 1
	}
}

func (p *packer) share(f *float64) {
	if bits := p.uvarint(math.Float64bits(*f)); p.reads {
		*f = math.Float64frombits(bits)
	}
}

// packText packs the first occurrence of a text as 0, followed by the text's length and the text. If the same text
// occurs again, packText packs only the text's number. The packer copies the texts that it reads. Without the copy,
// each text would be a substring that keeps the whole packed timeline in memory.
func packText[S ~string](p *packer, s *S) {
	number := p.uvarint(uint64(p.known[string(*s)]))
	if number > 0 {
		if p.reads {
			*s = S(p.read[number-1])
		}
		return
	}
	size := p.uvarint(uint64(len(*s)))
	if p.reads {
		*s, p.rest = S(strings.Clone(p.rest[:size])), p.rest[size:]
		p.read = append(p.read, string(*s))
		return
	}
	p.text = append(p.text, *s...)
	p.known[string(*s)] = len(p.known) + 1
}

// time packs the zero time as 0, and a time that is equal to the previous time as 1. For any other time, the method
// "time" packs the number 2, the difference from the previous time in whole seconds, and the nanoseconds.
func (p *packer) time(t *time.Time) {
	const zero, repeated, other = 0, 1, 2
	kind, seconds, nanoseconds := uint8(other), t.Unix()-p.last.Unix(), int64(t.Nanosecond())
	switch {
	case t.IsZero():
		kind = zero
	case t.Equal(p.last):
		kind = repeated
	}
	packNumber(p, &kind)
	switch kind {
	case zero:
		return
	case other:
		packNumber(p, &seconds)
		packNumber(p, &nanoseconds)
		if p.reads {
			p.last = time.Unix(p.last.Unix()+seconds, nanoseconds).UTC()
		} else {
			p.last = *t
		}
	}
	if p.reads {
		*t = p.last
	}
}

func (p *packer) times(all ...*time.Time) {
	for _, t := range all {
		p.time(t)
	}
}

func (p *packer) lengths(all ...*time.Duration) {
	for _, d := range all {
		packNumber(p, d)
	}
}

func (p *packer) flags(all ...*bool) {
	for _, b := range all {
		p.flag(b)
	}
}

func (p *packer) texts(all ...*string) {
	for _, s := range all {
		packText(p, s)
	}
}

// packSlice distinguishes nil from an empty slice, because the JSON of records also distinguishes them.
func packSlice[E any](p *packer, s *[]E, each func(*E)) {
	size := uint64(0)
	if *s != nil {
		size = uint64(len(*s)) + 1
	}
	if size = p.uvarint(size); size == 0 {
		return
	}
	if p.reads {
		*s = make([]E, size-1)
	}
	for i := range *s {
		each(&(*s)[i])
	}
}

func packPointer[E any](p *packer, e **E, each func(*E)) {
	set := *e != nil
	if p.flag(&set); !set {
		return
	}
	if p.reads {
		*e = new(E)
	}
	each(*e)
}

// sources packs a list of sources. If sourceLists contains the list, sources packs only the index. All timelines share
// the lists in sourceLists.
func (p *packer) sources(s *[]Source) {
	list := slices.IndexFunc(sourceLists[:], func(shared []Source) bool {
		return slices.Equal(shared, *s) && (shared == nil) == (*s == nil)
	})
	if packNumber(p, &list); list < 0 {
		packSlice(p, s, func(s *Source) { packText(p, s) })
	} else if p.reads {
		*s = sourceLists[list]
	}
}
