package podwatch

import "strconv"

// burst tells the Events with which a watch begins from those that come later. There is no mark between
// them; but the first come in the order of names, from one state of etcd, and the others in the order of
// versions, each newer than all before. So one that is older than another before it is of the first ones.
type burst struct{ newest uint64 }

// holds says that the Event is certainly one of the first, so that more of them may come.
func (b *burst) holds(version string) bool {
	v, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return false
	}
	if v < b.newest {
		return true
	}
	b.newest = v
	return false
}
