package cni

import (
	"slices"
	"time"
)

// command is one call that the runtime makes to the plugin.
type command struct {
	getenv        func(string) string
	configuration Configuration
}

// run executes the command and returns the value to print. If the command prints nothing, the value is nil.
func (c command) run() (any, *failure) {
	name := c.getenv("CNI_COMMAND")
	if name == "VERSION" {
		return struct {
			CNIVersion string   `json:"cniVersion"`
			Supported  []string `json:"supportedVersions"`
		}{c.configuration.CNIVersion, supported()}, nil
	}
	if !slices.Contains(supported(), c.configuration.CNIVersion) {
		return nil, fail(codeIncompatible, "invalid cniVersion %q: must be one of %v", c.configuration.CNIVersion,
			supported())
	}
	leases := addressFiles{dir: c.configuration.LeaseDir}
	switch name {
	case "ADD":
		return c.add(leases)
	case "DEL":
		id := c.getenv("CNI_CONTAINERID")
		if id == "" {
			return nil, fail(codeEnvironment, "CNI_CONTAINERID is not set")
		}
		// The CNI specification requires that DEL succeeds, even if the plugin cannot release all resources.
		leases.release(id)
		return nil, nil
	case "CHECK":
		id := c.getenv("CNI_CONTAINERID")
		if leases.find(id) == "" {
			return nil, fail(codeAddress, "container %q has no address", id)
		}
		return nil, nil
	case "STATUS":
		return nil, nil
	case "GC":
		valid := make(map[string]bool)
		for _, a := range c.configuration.Valid {
			valid[a.ContainerID] = true
		}
		leases.retain(valid)
		return nil, nil
	default:
		return nil, fail(codeEnvironment, "invalid CNI_COMMAND %q: must be ADD, DEL, CHECK, STATUS, GC or VERSION",
			name)
	}
}

func (c command) add(leases addressFiles) (any, *failure) {
	id, sandbox, device := c.getenv("CNI_CONTAINERID"), c.getenv("CNI_NETNS"), c.getenv("CNI_IFNAME")
	for name, value := range map[string]string{"CNI_CONTAINERID": id, "CNI_NETNS": sandbox, "CNI_IFNAME": device} {
		if value == "" {
			return nil, fail(codeEnvironment, "%s is not set", name)
		}
	}
	pairs := parseArguments(c.getenv("CNI_ARGS"))
	entry := Entry{Command: "ADD", ContainerID: id, StartAt: time.Now(),
		Namespace: pairs["K8S_POD_NAMESPACE"], Pod: pairs["K8S_POD_NAME"]}
	response, failed := c.attach(leases, id, sandbox, device, entry)
	entry.EndAt = time.Now()
	if failed != nil {
		entry.Error = failed.Message
	}
	if err := appendEntry(c.configuration.LogFile, entry); err != nil && failed == nil {
		leases.release(id)
		return nil, fail(codeInput, "%v", err)
	}
	if failed != nil {
		return nil, failed
	}
	return response, nil
}

func (c command) attach(leases addressFiles, id, sandbox, device string, entry Entry) (any, *failure) {
	faults, err := ReadFaults(c.configuration.FaultsFile)
	if err != nil {
		return nil, fail(codeInput, "%v", err)
	}
	fault := faults.faultOf(entry.Namespace, entry.Pod)
	time.Sleep(fault.Delay.Duration)
	if fault.Fail != "" {
		return nil, fail(codeInjected, "%s", fault.Fail)
	}
	ip, err := leases.reserve(id)
	if err != nil {
		return nil, fail(codeAddress, "%v", err)
	}
	given := address{Address: ip + "/16"}
	if c.configuration.CNIVersion == "0.4.0" {
		given.Version = "4"
	}
	return result{CNIVersion: c.configuration.CNIVersion,
		Interfaces: []networkInterface{{Name: device, Sandbox: sandbox}}, IPs: []address{given}}, nil
}
