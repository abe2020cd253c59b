package probe

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
)

// Node holds the values of the variables $(NODE_NAME) and $(NODE_ADDRESS). The fields "target" and "server" can contain
// these variables, so many nodes can use the same file. The syntax of the variables is the same as in the arguments of
// a container.
type Node struct {
	Name    string
	Address netip.Addr // address of the node; the zero address if unknown
}

var variable = regexp.MustCompile(`\$\([^()]*\)`)

// resolve replaces the variables in the fields "target" and "server".
func (p *Probe) resolve(node Node) (problems []error) {
	for _, field := range []struct {
		name string
		text *string
	}{{"target", &p.Target}, {"server", &p.Server}} {
		var err error
		*field.text = variable.ReplaceAllStringFunc(*field.text, func(name string) string {
			switch {
			case name == "$(NODE_NAME)":
				return node.Name
			case name != "$(NODE_ADDRESS)":
				err = fmt.Errorf("unknown variable %.40q: must be $(NODE_NAME) or $(NODE_ADDRESS)", name)
			case !node.Address.IsValid():
				err = errors.New("the probes file uses $(NODE_ADDRESS), but the node's address is unknown: set " +
					"--node-address, or set the environment variable NODE_ADDRESS from the pod field status.hostIP")
			case node.Address.Is6():
				return "[" + node.Address.String() + "]" // an IPv6 address needs brackets in URLs and before a port
			default:
				return node.Address.String()
			}
			return "0.0.0.0" // a valid address, so that the caller can validate the remaining text
		})
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", field.name, err))
		}
	}
	return problems
}
